"""`make compare`: Quotalock beside the libraries that people use today, by their own public APIs.

`peers.py` names them and says how each is set up, `questions.py` says what is asked of them, `measure.py` lets them
take turns, `web.py` asks for whole requests, and `report.py` and `record.py` write the answers, which
`docs/guide/benchmark_charts.py` draws. The workers, one for each language, are in `workers/`;
`bench/peers/setup.sh` installs the peers, those of `make survive` among them.

To add a peer:

1. Its exact version in `requirements.txt` or `package.json` of `bench/peers`; for PHP a line in its `setup.sh`.
2. An adapter of a few lines in `workers/*_peers.*` of its language: what makes a call for a key and tells whether it
   was admitted, by its documented API, in the fastest setting that a careful user would choose.
3. A `Peer` in `peers.py`, with the sentence about that setting, in the list of its language.

`make compare ONLY=nothing` then shows that it admits exactly the limit and denies the rest; every run begins with that.
"""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("bench", "bench/workers", "tests/harness", "tools", "examples/demo", "docs/guide")
sys.path[:0] = [str(_ROOT / folder) for folder in _FOLDERS]
