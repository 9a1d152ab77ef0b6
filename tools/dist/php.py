"""The PHP extension: the archive that PIE downloads, and a Debian package for Debian's PHP."""

from __future__ import annotations

import json
from pathlib import Path

import versions
from dist import toolchain
from dist.archives import Entry, write_deb, write_zip
from dist.licences import notices
from dist.targets import (
    DEBIAN_REVISION,
    EXTENSION,
    ROOT,
    VERSION,
    DistError,
    Php,
    Target,
    deb_name,
    pie_name,
)
from fetch import VersionError, output

SOURCE = ROOT / "bindings-php"
CONTROL = """Package: php{php}-ratelimit
Version: {version}
Architecture: {cpu}
Maintainer: Quotalock developers <quotalock@invalid>
Depends: libc6 (>= 2.28), phpapi-{api}
Section: php
Priority: optional
Description: rate limits and distributed locks on Redis for PHP {php}
 The extension ratelimit limits rates, takes distributed locks, sells stocks and
 fills caches once, on Redis or in the memory of the process.
"""
POSTINST = """#!/bin/sh
set -e
[ "$1" != configure ] || phpenmod -v {php} ratelimit
"""
PRERM = """#!/bin/sh
set -e
[ "$1" != remove ] || phpdismod -v {php} ratelimit
"""


def publish(php: Php, target: Target, folder: Path) -> None:
    """Writes the archive for PIE and, for Debian's C library, the Debian package."""
    try:
        program, config = versions.php(php.row)
    except VersionError as error:
        raise DistError(str(error)) from error
    environment = {"PHP": str(program), "PHP_CONFIG": str(config)}
    built = toolchain.cargo(target, ["build", "-p", "quotalock-php"], environment=environment)
    library = built / f"lib{EXTENSION}.so"
    documents = [
        Entry("ratelimit.stub.php", SOURCE / "ratelimit.stub.php"),
        Entry("README.md", SOURCE / "README.md"),
        Entry("LICENSE", ROOT / "LICENSE"),
        Entry("THIRD-PARTY.txt", notices(target, "quotalock-php")),
    ]
    # PIE wants the library at the top.
    write_zip(folder / pie_name(php, target), [Entry(f"{EXTENSION}.so", library), *documents])
    if target.libc != "glibc" or not php.is_debian:
        return
    (api,) = output([str(config), "--phpapi"])
    priority = json.loads((ROOT / "composer.json").read_text())["php-ext"]["priority"]
    settings = f"etc/php/{php.version}/mods-available/ratelimit.ini"
    installed = [
        Entry(f"usr/lib/php/{api}/{EXTENSION}.so", library),
        Entry(settings, f"; priority={priority}\nextension=ratelimit.so\n"),
        *(Entry(f"usr/share/doc/php{php.version}-ratelimit/{each.name}", each.content) for each in documents[:2]),
        Entry(f"usr/share/doc/php{php.version}-ratelimit/copyright", documents[2].content),
        Entry(f"usr/share/doc/php{php.version}-ratelimit/THIRD-PARTY.txt", documents[3].content),
    ]
    version = f"{VERSION}-{DEBIAN_REVISION}"
    control = {
        "control": CONTROL.format(php=php.version, version=version, cpu=target.debian, api=api),
        "conffiles": f"/{settings}\n",
        "postinst": POSTINST.format(php=php.version),
        "prerm": PRERM.format(php=php.version),
    }
    write_deb(folder / deb_name(f"php{php.version}-ratelimit", target), control, installed)
