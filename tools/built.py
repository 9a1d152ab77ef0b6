"""Versions that Debian does not package, built from its sources into target/matrix: PHP with threads (ZTS), and Python
without a GIL. The sources are those of a release of Debian: its updates have none on every mirror, the release has.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from fetch import HOME, build_source, is_current, say, stamp


@dataclass(frozen=True)
class Built:
    """Programs that are built from a source of Debian. They are found as those of an unpacked release are."""

    name: str
    package: str
    suite: str
    configure: tuple[str, ...]
    php_ini: str = ""

    @property
    def folder(self) -> Path:
        """Its root."""
        return HOME / self.name

    def program(self, path: str) -> Path:
        """Finds a program, such as `usr/bin/php8.2`, after building what is not there yet."""
        prefix = f"--prefix={self.folder / 'usr'}"
        recipe = (prefix, self.package, self.suite, self.php_ini, *self.configure)
        if not is_current(self.folder, *recipe):
            say(f"{self.name}: {self.package} of Debian's {self.suite}, built from source")
            shutil.rmtree(self.folder, ignore_errors=True)
            build_source(self.package, self.suite, HOME / f"{self.name}-build", [prefix, *self.configure])
            if self.php_ini:
                (self.php_settings() / "none").mkdir(parents=True)
                (self.php_settings() / "php.ini").write_text(self.php_ini)
            stamp(self.folder, *recipe)
        return self.folder / path

    def php_settings(self, _version: str = "") -> Path:
        """The folder with the php.ini."""
        return self.folder / "quotalock-php"


# The program, php-fpm and `libphp.so`, with what PHPUnit and our tests ask of PHP.
PHP_ZTS = Built(
    "php-8.2-zts",
    "php8.2",
    "bookworm",
    (
        "--program-suffix=8.2",
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
    ),
    # As Debian has them: where PHPUnit is, and traces without arguments.
    php_ini="include_path=.:/usr/share/php\nzend_extension=opcache\nzend.exception_ignore_args=On\n",
)
# 3.13, because the mirror has no source of a later version. PyO3 supports free-threaded Python from 3.14 on, and builds
# for 3.13 when it is told to. The wheel that users get is for 3.14: the same code for another version.
FREE_THREADED = Built(
    "python-3.13t-base",
    "python3.13",
    "trixie",
    ("--disable-gil", "--disable-test-modules", "--with-ensurepip=no", "--without-static-libpython"),
)
# For a build of the package for it.
FREE_THREADED_BUILD = {"UNSAFE_PYO3_SKIP_VERSION_CHECK": "1"}
