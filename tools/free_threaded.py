"""Python without a GIL, which Debian does not package: built from its source into target/matrix/python-3.13t-base.

It is 3.13 because the mirror has no source of a later version. PyO3 supports free-threaded Python from 3.14 on, and
builds for 3.13 when it is told to. The wheel that users get is for 3.14: the same code for another version.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fetch import HOME, build_source, is_current, say, stamp

SERIES = "3.13"
# As a row of the matrix calls it.
VERSION = f"{SERIES}t"
# The release whose Python this is.
SUITE = "trixie"
FOLDER = HOME / f"python-{VERSION}-base"
CONFIGURE = (
    f"--prefix={FOLDER}",
    "--disable-gil",
    "--disable-test-modules",
    "--with-ensurepip=no",
    "--without-static-libpython",
)
# For a build of the package.
ENVIRONMENT = {"UNSAFE_PYO3_SKIP_VERSION_CHECK": "1"}


def program() -> Path:
    """The program, built before if it is not there."""
    recipe = (str(FOLDER), SUITE, *CONFIGURE)
    if not is_current(FOLDER, *recipe):
        say(f"Python {VERSION}, built from Debian's source")
        shutil.rmtree(FOLDER, ignore_errors=True)
        build_source(f"python{SERIES}", SUITE, HOME / f"python-{VERSION}-build", CONFIGURE)
        stamp(FOLDER, *recipe)
    return FOLDER / f"bin/python{VERSION}"
