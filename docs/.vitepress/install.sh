#!/usr/bin/env bash
# Installs what builds the site into docs/node_modules, when docs/package-lock.json has changed since.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=node_modules/.stamp
current=$(sha256sum package.json package-lock.json | sha256sum)
[[ -f $stamp && $(cat "$stamp") == "$current" ]] && exit
printf 'docs: Node packages into docs/node_modules\n'
# Not `npm ci`, for the reason that tools/setup.sh gives.
npm install --no-save --loglevel=error </dev/null >/dev/null
printf '%s\n' "$current" >"$stamp"
