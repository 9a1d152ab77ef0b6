"""What SECURITY.md says about rights."""

from __future__ import annotations

from servers import ROOT


def rights(about: str) -> list[str]:
    """The words after the user's name in the line of SECURITY.md below this comment."""
    block = (ROOT / "SECURITY.md").read_text().split("```text\n")[1].split("```")[0]
    lines = dict(part.strip().removeprefix("# ").split("\n", 1) for part in block.split("\n\n"))
    return lines[about].removeprefix("ACL SETUSER quotalock ").split()
