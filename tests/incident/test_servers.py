"""What docs/servers.md says of servers that are not tested here, as far as the text of the scripts shows it."""

from __future__ import annotations

import re

import pytest
from needs import ROOT
from servers import BINARIES

DOCUMENT = (ROOT / "docs" / "servers.md").read_text()
SCRIPTS = {path.stem: path.read_text() for path in sorted((ROOT / "tests" / "spec" / "scripts").glob("*.lua"))}
# Commands without a key.
KEYLESS = {"TIME", "PUBLISH", "SPUBLISH", "INFO"}
# The verbs of a limiter on one key without a request id.
OF_ONE_KEY = re.compile(r"(?:block|consume|refund|reserve|reset|settle|up-to)-(?!all|once|many)")


def listed(what: str) -> set[str]:
    """The commands in the line of the document that begins with these words."""
    found = re.search(rf"^\* {what}:(.*?)\.$", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert found is not None
    return set(re.findall(r"`([A-Z]+)`", found[1]))


def test_scripts_call_the_commands_that_are_listed() -> None:
    called = {name for text in SCRIPTS.values() for name in re.findall(r"\b\w+\('([A-Z]{3,})'", text)}
    assert called == listed("Scripts call")
    assert "CONFIG" not in called


def test_clients_send_the_commands_that_are_listed() -> None:
    sources = [path for crate in ("wire", "core") for path in (ROOT / crate / "src").rglob("*.rs")]
    code = "".join(path.read_text() for path in sources if "tests" not in path.stem)
    # A name in capitals, as bytes, is a command; behind another, a part of that one.
    sent = re.findall(r"(?<!\", )\bb\"([A-Z]{4,})\"", code)
    assert set(sent) == listed("Clients send")


@pytest.mark.parametrize("name", SCRIPTS)
def test_dragonfly_answers_whole_numbers(name: str) -> None:
    assert SCRIPTS[name].startswith("--!df flags=legacy-float\n")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_proxy_that_reads_scripts_takes_the_verbs_of_one_key(name: str) -> None:
    code = re.sub(r"--.*", "", SCRIPTS[name])
    calls = re.findall(r"redis\.p?call\('([A-Z]+)'(?:, ([^,)]*\]|[^,)]*))?", code)
    passes = all(command in KEYLESS or re.fullmatch(r"KEYS\[\d+\]", key) for command, key in calls)
    # Besides, `KEYS` stands nowhere.
    left = re.sub(r"redis\.p?call\('[A-Z]+', KEYS\[\d+\]", "", code)
    passes = passes and "KEYS" not in left and code.count("redis.call") + code.count("redis.pcall") == len(calls)
    assert passes == (bool(OF_ONE_KEY.match(name)) or name in ("stock-ledger", "lock-age", "reports-append")), name


def test_every_server_that_is_tested_has_its_row() -> None:
    rows = [line for line in DOCUMENT.splitlines() if "| tested: " in line]
    for name in BINARIES:
        product, version = name.capitalize().split("-")
        assert any(re.search(rf"\b{product} {re.escape(version)}\b", row) for row in rows), name
