"""Says what to install when a package that a module is for is missing, or too old."""

from __future__ import annotations

import re
from importlib import metadata


def require(package: str, least: str, extra: str) -> None:
    """Raises `ImportError` unless `package` is installed, in version `least` or a later one."""
    try:
        found = metadata.version(package)
    except metadata.PackageNotFoundError:
        found = None
    if found is None or _numbers(found) < _numbers(least):
        there = f"version {found} is installed" if found else "it is not installed"
        raise ImportError(
            f"quotalock.{extra} needs {package} {least} or later, and {there}: pip install '{package}>={least}'",
            name=package,
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The release as numbers, without what a pre-release adds."""
    release = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in release[0].split(".")) if release else ()
