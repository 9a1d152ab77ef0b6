#!/usr/bin/env bash
# Runs the tests of the Python packages for frameworks, and next to them those of the frameworks, with the servers that
# with_servers.py started: `run.sh [NAME]`, only our tests of that name. They wait most of the time.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python=target/frameworks/python/bin/python
ours=("$python" -m pytest -q -c tests/frameworks/python/pytest.ini tests/frameworks/python)
[[ -z ${1:-} ]] || exec "${ours[@]}" -k "$1"

upstream=$(mktemp)
trap 'rm "$upstream"' EXIT
"$python" tests/frameworks/python/upstream/run.py >"$upstream" 2>&1 &
failed=0
"${ours[@]}" || failed=1
wait $! || failed=1
cat "$upstream"
exit "$failed"
