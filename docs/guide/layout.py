"""How what is measured is set in a guide: a table, between marks that name it."""

from __future__ import annotations

from collections.abc import Sequence


def put(text: str, name: str, block: str) -> str:
    """Puts a block between its marks in the guide."""
    begin, end = f"<!-- {name}: make figures -->\n", f"<!-- /{name} -->"
    before, rest = text.split(begin)
    return f"{before}{begin}{block}{end}{rest.split(end)[1]}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Sets a Markdown table with figures to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    rule = ["-" * widths[0], *(f"{'-' * (width - 1)}:" for width in widths[1:])]
    lines = []
    for row in (head, rule, *rows):
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)
