#!/usr/bin/env bash
# Makes target/survive: the libraries that the adapters need, pinned in requirements.txt and package.json; Symfony and
# Laravel are those of tests/frameworks/php. What is there is not fetched again.
set -euo pipefail
cd "$(dirname "$0")/../.."
needs=bench/survive/requirements.txt
folder=target/survive/python
if [[ ! -f $folder/.stamp || $(cat "$folder/.stamp") != "$(sha256sum "$needs")" ]]; then
  echo "survive: Python packages into $folder"
  python3 -m venv "$folder"
  site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  shared=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  printf 'import site; site.addsitedir("%s")\n' "$shared" >"$site/of_venv.pth"
  "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$needs"
  sha256sum "$needs" >"$folder/.stamp"
fi
needs=bench/survive/package.json
folder=target/survive/node
if [[ ! -f $folder/.stamp || $(cat "$folder/.stamp") != "$(sha256sum "$needs")" ]]; then
  echo "survive: npm packages into $folder"
  mkdir -p "$folder"
  cp "$needs" "$folder"
  npm install --silent --no-audit --no-fund --no-package-lock --legacy-peer-deps --prefix "$folder"
  sha256sum "$needs" >"$folder/.stamp"
fi
tests/frameworks/php/fetch.sh
