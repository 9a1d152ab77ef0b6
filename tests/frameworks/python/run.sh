#!/usr/bin/env bash
# Runs the tests of the Python packages for frameworks, and beside them those of the frameworks, with the servers that
# with_servers.py started. They wait most of the time.
set -euo pipefail
cd "$(dirname "$0")/../../.."
python=target/frameworks/python/bin/python

upstream=$(mktemp)
trap 'rm "$upstream"' EXIT
"$python" tests/frameworks/python/upstream/run.py >"$upstream" 2>&1 &
failed=0
"$python" -m pytest -q -c tests/frameworks/python/pytest.ini tests/frameworks/python || failed=1
wait $! || failed=1
cat "$upstream"
exit "$failed"
