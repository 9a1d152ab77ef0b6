"""How what is measured is set in a guide: a table, between marks that name it."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def put(text: str, name: str, block: str) -> str:
    """Puts a block between its marks in the guide."""
    begin, end = f"<!-- {name}: make figures -->\n", f"<!-- /{name} -->"
    before, rest = text.split(begin)
    return f"{before}{begin}{block}{end}{rest.split(end)[1]}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """Sets a Markdown table with figures to the right, and the columns of words to the left."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    rule = ["-" * width if column in left else f"{'-' * (width - 1)}:" for column, width in enumerate(widths)]
    lines = []
    for row in (head, rule, *rows):
        sized = enumerate(zip(row, widths, strict=True))
        cells = [cell.ljust(width) if column in left else cell.rjust(width) for column, (cell, width) in sized]
        lines.append(f"| {' | '.join(cells)} |\n")
    return "".join(lines)
