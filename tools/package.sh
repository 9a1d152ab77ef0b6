#!/usr/bin/env bash
# Puts what would be published into dist/, once the packages are built. The wheel and the npm package bring the program
# `quotalock` of this platform along.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --quiet -p quotalock-cli
mkdir -p dist
strip --strip-unneeded -o dist/quotalock target/release/quotalock

cargo package -p quotalock-wire -p quotalock --no-verify
cp target/package/quotalock-*.crate dist/

.venv/bin/maturin build --release --quiet -m bindings-python/Cargo.toml --out dist
.venv/bin/python tools/wheel_program.py dist/quotalock dist/quotalock-*.whl

beside=bindings-node/bin/quotalock-$(node -p "require('./bindings-node/lib/platform.js').platform()")
trap 'rm -f "$beside"' EXIT
cp dist/quotalock "$beside"
(cd bindings-node && npm pack --silent --pack-destination ../dist)
