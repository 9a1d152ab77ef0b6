"""The answers as data, for docs/data/benchmarks.json, of which the page, the charts and all quoted figures are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rounds import NOISY

from compare.measure import Row, Turns
from compare.report import FIGURES, Answer, number, ratios


def record(answers: Sequence[Answer], heading: Sequence[str]) -> dict[str, Any]:
    """The medians of all answers, as the page prints them, and the conditions of the run."""
    memory = [
        {"language": language, "library": library, "bytes": round(size)}
        for answer in answers
        for (language, library), size in answer.weights.items()
    ]
    questions = [
        {"name": answer.name, "title": answer.title, "groups": [_group(group) for group in answer.turns]}
        for answer in answers
        if answer.turns
    ]
    return {"command": "make compare", "conditions": list(heading), "questions": questions, "memory": memory}


def text(data: Mapping[str, Any]) -> str:
    """The file: a library's figures in a line."""
    lines = ["{", f' "command": {_line(data["command"])},', ' "conditions": [']
    lines += [",\n".join(f"  {_line(condition)}" for condition in data["conditions"]), " ],", ' "questions": [']
    lines += [",\n".join(_question(question) for question in data["questions"]), " ],", ' "memory": [']
    lines += [",\n".join(f"  {_line(row)}" for row in data["memory"]), " ]", "}"]
    return "\n".join(lines) + "\n"


def _group(group: Turns) -> dict[str, Any]:
    noise = max(group.others, default=0)
    told = {"noise": round(noise, 2)} if noise > NOISY else {}
    return {"name": group.name, **told, "rows": [_row(row, group.rows[0]) for row in group.rows]}


def _row(row: Row, ours: Row) -> dict[str, Any]:
    medians = {figure: row.median(figure) for figure in FIGURES}
    printed = {figure: _number(number(value, figure)) for figure, value in medians.items() if value is not None}
    flags = {"floor": True} if row.peer.floor else {"wrong": True} if row.wrong else {}
    pairs = zip(("speed", "cpu"), ratios(ours, row), strict=True) if row is not ours else ()
    return {"library": row.peer.name, **printed, **{name: float(ratio) for name, ratio in pairs if ratio}, **flags}


def _number(printed: str) -> float:
    value = float(printed.replace(",", ""))
    return value if "." in printed else int(value)


def _question(question: Mapping[str, Any]) -> str:
    groups = ",\n".join(_lines_of(group) for group in question["groups"])
    return f'  {{"name": {_line(question["name"])}, "title": {_line(question["title"])}, "groups": [\n{groups}\n  ]}}'


def _lines_of(group: Mapping[str, Any]) -> str:
    rows = ",\n".join(f"    {_line(row)}" for row in group["rows"])
    noise = f' "noise": {group["noise"]},' if "noise" in group else ""
    return f'   {{"name": {_line(group["name"])},{noise} "rows": [\n{rows}\n   ]}}'


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
