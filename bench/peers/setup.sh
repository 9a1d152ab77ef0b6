#!/usr/bin/env bash
# Installs the libraries that `make compare` and `make survive` have beside Quotalock into target/peers, by pip and npm, and
# for PHP from Debian's source packages; phpredis is Debian's. What is there is not fetched again.
set -euo pipefail
cd "$(dirname "$0")/../.."
readonly here=bench/peers home=target/peers

is_current() { [[ -f $1 && $(cat "$1") == "$(sha256sum "$2")" ]]; }

if ! is_current $home/python/.stamp $here/requirements.txt; then
  echo 'peers: Python packages'
  python3 -m venv $home/python
  site=$($home/python/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  shared=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # What .venv has is there too: Quotalock, redis-py, limits, FastAPI.
  printf 'import site; site.addsitedir("%s")\n' "$shared" >"$site/of_venv.pth"
  $home/python/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $here/requirements.txt
  sha256sum $here/requirements.txt >$home/python/.stamp
fi
if ! is_current $home/node/.stamp $here/package.json; then
  echo 'peers: Node packages'
  mkdir -p $home/node
  cp $here/package.json $home/node
  npm install --silent --no-audit --no-fund --no-package-lock --legacy-peer-deps --prefix $home/node
  sha256sum $here/package.json >$home/node/.stamp
fi
tests/frameworks/php/fetch.sh 'predis php-nrk-predis trixie'
