#!/usr/bin/env bash
# Makes target/frameworks/python, an environment for the tests of frameworks: what .venv has, and requirements.txt.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=target/frameworks/python
needs=tests/frameworks/python/requirements.txt

[[ -f $folder/.stamp && $(cat "$folder/.stamp") == "$(sha256sum "$needs")" ]] && exit
echo "test-frameworks: Python packages into $folder"
python3 -m venv "$folder"
site=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
shared=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# The folder, and what packages in it add to the path.
printf 'import site; site.addsitedir("%s")\n' "$shared" >"$site/of_venv.pth"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$needs"
sha256sum "$needs" >"$folder/.stamp"
