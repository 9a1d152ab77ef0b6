#!/usr/bin/env bash
# Makes target/frameworks/node, where the frameworks are that the tests need: what package.json has.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=target/frameworks/node
needs=tests/frameworks/node/package.json

[[ -f $folder/.stamp && $(cat "$folder/.stamp") == "$(sha256sum "$needs")" ]] && exit
echo "test-frameworks: npm packages into $folder"
mkdir -p "$folder"
cp "$needs" "$folder"
npm install --silent --no-audit --no-fund --no-package-lock --legacy-peer-deps --prefix "$folder"
sha256sum "$needs" >"$folder/.stamp"
