#!/usr/bin/env bash
# Makes target/frameworks/node, where the frameworks are that the tests need: what package.json has, and what that needs in
# the versions of the lock.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=target/frameworks/node
needs=(tests/frameworks/node/package.json tests/frameworks/node/package-lock.json bindings-node/.npmrc)

[[ -f $folder/.stamp && $(cat "$folder/.stamp") == "$(sha256sum "${needs[@]}")" ]] && exit
echo "test-frameworks: npm packages into $folder"
mkdir -p "$folder"
cp "${needs[@]}" "$folder"
npm install --silent --no-audit --no-fund --no-save --legacy-peer-deps --prefix "$folder"
sha256sum "${needs[@]}" >"$folder/.stamp"
