"""The examples that the README quotes, run as they are but for a longer timeout."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from guides import patient_example
from needs import EXTENSION, ROOT

PHP = ["php", "-d", f"extension={EXTENSION}"]
EXAMPLES = {
    "php/limit.php": PHP,
    "python/limit.py": [sys.executable],
    "python/limit_aio.py": [sys.executable],
    "node/limit.mjs": ["node"],
}
# What else there is, with what it prints where nothing was charged yet.
MORE = {
    "php/more.php": """\
go ahead, 9 and 95 left
go ahead, 9 and 95 left
310 tokens in place of 800
sending 100 of 250 mails
would pass
would be denied
""",
    "php/lock.php": """\
sold, with a token
January
February
the nightly report holds it
importing
importing
two are importing already
2 accounts
""",
    "php/stock.php": """\
held, 1 left
sold
buyer_limit
sold_out
1 available, 0 held, 2 sold
1. opened 3: 3 available
2. held 2: 1 available
3. confirmed 2: 1 available
4. held 1: 0 available
5. cancelled 1: 1 available
seat A1 and a drink
sold_out at the drinks
""",
    "php/cache.php": """\
loading
<h1>Home</h1>
<h1>Home</h1>
forgotten
asking for sku:1, sku:2, sku:3
{"sku:1":"9.90","sku:2":null,"sku:3":"4.50"}
Ada
no database
load_failed
paying
receipt 17
receipt 17
user:1 has it
user:1 was first
""",
    "python/more.py": """\
go ahead, [9, 95] left
go ahead, [9, 95] left
310 tokens in place of 800
sending 100 of 250 mails
[False, True]
""",
    "python/lock.py": """\
alone, with a token: True
another: False ['checkout']
not_acquired
both
places: [True, True, False] [True, True, False]
readers: [True, True] writer: False
gone: [True, True] writer: True True
""",
    "python/stock.py": """\
held True (b'AAA',)
buyer_limit buyer_limit
sold: True
left: 2 ['opened', 'held', 'confirmed']
basket: held True
another: sold_out 3
""",
    "python/cache.py": """\
rendering
b'<h1>home</h1>'
{'ada': b'Ada', 'bob': b'Bob'}
{'dark': True}
True None
[b'receipt 7', b'receipt 7']
True False
""",
    "node/more.mjs": """\
go ahead, [ 9, 95 ] left
go ahead, [ 9, 95 ] left
310 tokens in place of 800
sending 100 of 250 mails
[ false, true ]
""",
    "node/lock.mjs": """\
alone, with a token: true lost: false
another: false checkout
true not_acquired
TimeoutError
both
places: [ true, true ] not_acquired
nobody else reads or writes
""",
    "node/stock.mjs": """\
held, 1 left
sold
buyer_limit
sold_out
1 available, 0 held, 2 sold
1. opened 3: 3 available
2. held 2: 1 available
3. confirmed 2: 1 available
4. held 1: 0 available
5. cancelled 1: 1 available
seat A1 and a drink
sold_out at the drinks
""",
    "node/cache.mjs": """\
loading
50 times <h1>Home</h1>
forgotten
asking for sku:1, sku:2, sku:3
sku:1 9.90, sku:2 null, sku:3 4.50
Ada
no database
true load_failed
paying
receipt 17
receipt 17
user:1 has it
user:1 was first
""",
}
# With a database beside Redis: test_fencing.py and test_ledger.py run them.
WITH_DATABASE = {"php/fencing.php", "python/fencing.py", "python/ledger.py"}


def test_there_is_no_other_example() -> None:
    languages = ("php", "python", "node")
    found = {
        str(path.relative_to(ROOT / "examples")) for name in languages for path in (ROOT / "examples" / name).iterdir()
    }
    assert {path for path in found if "__pycache__" not in path} == EXAMPLES.keys() | MORE.keys() | WITH_DATABASE


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_runs_without_a_server(example: str) -> None:
    assert run(example, "memory://") == "go ahead, 9 left\nand again\n"


@pytest.mark.parametrize("example", MORE)
def test_what_else_there_is_runs_without_a_server(example: str) -> None:
    assert run(example, "memory://") == MORE[example]


@pytest.mark.parametrize("example", MORE)
def test_what_else_there_is_runs_on_a_server(example: str, server_url: str) -> None:
    # They would share their limits: each has a database of its own.
    assert run(example, f"{server_url}/{1 + list(MORE).index(example)}") == MORE[example]


def test_they_share_one_limit(server_url: str) -> None:
    # Each takes two of ten: what one language takes is missing for the next.
    for left, example in zip((9, 7, 5, 3), EXAMPLES, strict=True):
        assert run(example, server_url) == f"go ahead, {left} left\nand again\n"
    assert run("php/limit.php", server_url) == "go ahead, 1 left\nand again\n"
    for example in EXAMPLES:
        assert run(example, server_url).startswith("retry in ")


def run(example: str, url: str) -> str:
    # Each language runs all of its examples in the same way.
    program = next(EXAMPLES[name] for name in EXAMPLES if name.split("/")[0] == example.split("/")[0])
    done = subprocess.run(
        [*program, str(patient_example(example))],
        env=os.environ | {"QUOTALOCK_URL": url},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
