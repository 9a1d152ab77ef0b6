"""`make compare`: Quotalock beside other libraries.

The answers go to target/compare: page.md, benchmarks.json, all rounds of each question as JSON, and the charts
(target/compare-quick with --quick, whose figures are worth nothing: it shows that everything runs). A run of all
questions writes docs/benchmarks.md, docs/data/benchmarks.json and docs/images/compare-*.svg, if the machine was quiet
enough or --docs insists; `make figures` then renews the pages that quote it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import benchmark_charts
import machine
from measurements import ROOT
from rounds import NOISY
from servers import Server

from compare import record, report, web
from compare.measure import Plan, check, measure, weigh
from compare.peers import NODE, PHP, PYTHON, RUST_BUILD, Peer
from compare.questions import QUESTIONS, Group, Question, everybody
from compare.report import Answer

SERVER = "redis-7.0"
QUICK = Plan(rounds=1, most_rounds=1, seconds=0.05, warm_up=0.03, weighed=500, few=True)
# Whose keys are weighed; those that run the same script need no second scale.
WEIGHED = (("Node", (NODE[0], NODE[1], *NODE[5:])), ("Python", PYTHON[3:]), ("PHP", PHP[3:]))
OTHERS = {
    "memory": (
        "Memory of a key on the server",
        "The growth of Redis's `used_memory` after one call for each key. It includes the names of the keys.",
    ),
    "requests": (
        "Whole requests",
        "wrk keeps 8 requests in flight. The application limits each request by the key in its query, and does nothing "
        "else. With 10,000 keys all requests are allowed, with one key all are denied. CPU and memory are those of "
        "all processes of the application: php-fpm and nginx, uvicorn, or Node.",
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make compare", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each round for an instant, to see that everything runs")
    parser.add_argument("--only", default="", help="questions, or words in the names of groups: locks,asyncio")
    parser.add_argument("--rounds", type=int, default=Plan.rounds)
    parser.add_argument("--seconds", type=float, default=Plan.seconds, help="how long a round is")
    parser.add_argument("--docs", action="store_true", help="write the page of docs whatever else the machine did")
    options = parser.parse_args()
    words = [word.strip().lower() for word in options.only.split(",") if word.strip()]
    plan = QUICK if options.quick else Plan(options.rounds, options.rounds + 1, options.seconds)
    folder = ROOT / "target" / ("compare-quick" if options.quick else "compare")
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cargo", "build", *RUST_BUILD], cwd=ROOT, check=True)
    begun, load, answers = time.monotonic(), machine.load(), []
    with Server(SERVER) as server, tempfile.TemporaryDirectory(prefix="quotalock-") as home:
        _say("every library allows the limit and denies the rest")
        versions = check(server, Path(home))
        for question in QUESTIONS:
            groups = _chosen(question, words, plan)
            if groups:
                answers.append(_asked(question, groups, server, plan, Path(home)))
        for name, ask in {"memory": _weighed, "requests": _requested}.items():
            if not words or name in words:
                answers.append(ask(server, plan, Path(home)))
        version = next(line for line in server.command("INFO").splitlines() if line.startswith("redis_version"))
    minutes = (time.monotonic() - begun) / 60
    heading = [
        f"{machine.description()}; {time.strftime('%Y-%m-%d %H:%M')}; load {load:.2f} before",
        f"Redis {version.partition(':')[2]} over loopback; "
        f"each figure is the median of {plan.rounds} rounds of {plan.seconds} s; {minutes:.0f} minutes in all",
        "; ".join(sorted(set(versions.values()))),
    ]
    if _noise(answers) > NOISY:
        heading.append(f"NOT a quiet machine: others used {_noise(answers):.0%} of the cores. Trust no figure below")
    text = _write(answers, heading, folder, "images" if (whole := not words and not options.quick) else ".")
    print(text)
    print(f"In {folder.relative_to(ROOT)}: page.md, benchmarks.json, the rounds of each question, and charts")
    if whole and (options.docs or _noise(answers) <= NOISY):
        (ROOT / "docs/benchmarks.md").write_text(text)
        shutil.copy(folder / "benchmarks.json", ROOT / "docs/data")
        for image in folder.glob("compare-*.svg"):
            shutil.copy(image, ROOT / "docs/images")
        print("In docs: benchmarks.md, data/benchmarks.json and images/compare-*.svg")
    return 0


def _chosen(question: Question, words: Sequence[str], plan: Plan) -> Sequence[Group]:
    """The groups of a question with one of the words in their names or its; in a quick run one of each language."""
    groups = [
        group
        for group in question.groups
        if not words or any(word == question.name or word in group.name.lower() for word in words)
    ]
    return list({group.language: group for group in reversed(groups)}.values()) if plan.few else groups


def _asked(question: Question, groups: Sequence[Group], server: Server, plan: Plan, home: Path) -> Answer:
    turns = []
    for group in groups:
        _say(f"{question.title}: {group.name}")
        turns.append(measure(group, server, plan, home))
    return Answer(question.name, question.title, question.words, turns)


def _weighed(server: Server, plan: Plan, home: Path) -> Answer:
    _say(OTHERS["memory"][0])
    weights = {
        (language, peer.name): weigh(peer, language, server, plan, home)
        for language, peers in WEIGHED
        for peer in (peers[:1] if plan.few else peers)
    }
    return Answer("memory", *OTHERS["memory"], weights=weights)


def _requested(server: Server, plan: Plan, home: Path) -> Answer:
    _say(OTHERS["requests"][0])
    return Answer("requests", *OTHERS["requests"], web.requests(server, plan, home))


def _noise(answers: Sequence[Answer]) -> float:
    """The share of the cores that others used, on the average of all rounds."""
    others = [share for answer in answers for turns in answer.turns for share in turns.others]
    return sum(others) / max(1, len(others))


def _write(answers: Sequence[Answer], heading: Sequence[str], folder: Path, pictures: str) -> str:
    settings: list[tuple[str, Peer]] = [(language, peer) for (language, _, _), peer in everybody().items()]
    settings += [(stack, peer) for stack, peers in web.STACKS.items() for peer in peers]
    text = report.page(answers, heading, settings, pictures)
    (folder / "page.md").write_text(text)
    for answer in answers:
        rounds = {"question": answer.title, "groups": [each.record() for each in answer.turns]}
        (folder / f"{answer.name}.json").write_text(json.dumps(rounds | {"heading": list(heading)}, indent=1))
    data = record.record(answers, heading)
    (folder / "benchmarks.json").write_text(record.text(data))
    for name, chart in benchmark_charts.charts(data):
        (folder / name).write_text(chart)
    return text


def _say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} compare: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
