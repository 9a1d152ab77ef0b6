"""PHP with threads (ZTS), which Debian does not package: built from Debian's source into target/matrix/php-8.2-zts.

It has the program, php-fpm and `libphp.so`, with what PHPUnit and our tests ask of PHP.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from fetch import HOME, build_source, is_current, say, stamp

SERIES = "8.2"
# As a row of the matrix calls it.
VERSION = f"{SERIES}-zts"
# The release whose PHP this is. Its updates have no sources on every mirror, the release itself has.
SUITE = "bookworm"
FOLDER = HOME / f"php-{VERSION}"
BUILD = HOME / f"php-{VERSION}-build"
CONFIGURE = (
    f"--prefix={FOLDER}",
    f"--program-suffix={SERIES}",
    "--enable-zts",
    "--enable-embed=shared",
    "--enable-fpm",
    "--disable-all",
    "--disable-cgi",
    "--disable-phpdbg",
    "--with-libxml",
    "--enable-ctype",
    "--enable-dom",
    "--enable-filter",
    "--enable-mbstring",
    "--disable-mbregex",
    "--enable-opcache",
    "--enable-pcntl",
    "--enable-posix",
    "--enable-tokenizer",
    "--enable-xml",
    "--enable-xmlwriter",
)
# As Debian has them: where PHPUnit is, and traces without arguments.
SETTINGS = "include_path=.:/usr/share/php\nzend_extension=opcache\nzend.exception_ignore_args=On\n"


def program(name: str) -> Path:
    """A program of it, such as `php` or `php-config`, built before if it is not there."""
    _build()
    return FOLDER / "bin" / f"{name}{SERIES}"


def environment() -> dict[str, str]:
    """The environment in which it reads its own php.ini, and in which tests find its folder."""
    return {"PHPRC": str(FOLDER), "PHP_INI_SCAN_DIR": str(FOLDER / "none"), "QUOTALOCK_ZTS": str(FOLDER)}


def _build() -> None:
    recipe = (str(FOLDER), SUITE, SETTINGS, *CONFIGURE)
    if is_current(FOLDER, *recipe):
        return
    say(f"PHP {SERIES} with threads, built from Debian's source")
    shutil.rmtree(FOLDER, ignore_errors=True)
    build_source(f"php{SERIES}", SUITE, BUILD, CONFIGURE)
    (FOLDER / "none").mkdir()
    (FOLDER / "php.ini").write_text(SETTINGS)
    stamp(FOLDER, *recipe)
