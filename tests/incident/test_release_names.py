"""The files of a release have the names for which pip, npm, PIE, `cargo binstall` and apt look, and one version."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from dist import names, npm
from dist.archives import Entry, write_tgz, write_zip
from dist.targets import (
    BY_NAME,
    PHP_BUILDS,
    TARGETS,
    VERSION,
    Target,
    deb_name,
    npm_name,
    pie_name,
    program_folder,
    program_name,
    static_target,
    wheel_name,
)
from needs import ROOT
from packaging.tags import cpython_tags, platform_tags
from packaging.utils import parse_wheel_filename


def test_all_packages_have_one_version() -> None:
    assert set(names.versions().values()) == {VERSION}


def test_pip_takes_the_wheel_of_this_platform_and_no_other() -> None:
    # A Python later than 3.10 takes wheels with its stable ABI.
    here = set(cpython_tags((3, 13), platforms=platform_tags()))
    taken = [target.node for target in TARGETS if here & parse_wheel_filename(wheel_name(target))[3]]
    assert taken == ["linux-x64-gnu"]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.node)
def test_the_loader_of_node_asks_for_the_package_that_is_published(target: Target) -> None:
    script = f"console.log(require('./bindings-node/lib/platform.js').nativePackage('{target.node}'))"
    asked = subprocess.run(["node", "-e", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert asked == npm.native_package(target, "x.node")["name"]
    assert npm.root_package()["optionalDependencies"][asked] == VERSION


def test_npm_runs_no_script_of_ours_and_publishes_no_native_file_of_a_checkout() -> None:
    root = npm.root_package()
    assert "scripts" not in root
    assert not any(".node" in name for name in root["files"])


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.node)
def test_cargo_binstall_finds_the_program_in_the_archive(target: Target) -> None:
    static = static_target(target)
    assert names.binstall_place(static.triple) == (program_name(static), f"{program_folder(static)}/quotalock")


def test_pie_looks_for_the_archives_of_the_extension() -> None:
    assert pie_name(*PHP_BUILDS[0]) == f"php_ratelimit-{VERSION}_php8.2-x86_64-linux-glibc-nts.zip"
    for php, target in PHP_BUILDS:
        assert names.pie_name_is_right(pie_name(php, target))


@pytest.mark.parametrize(
    "wrong",
    [
        f"php_ratelimit-{VERSION}_php8.2-x86_64-linux-nts.zip",
        f"php_ratelimit-{VERSION}_php8.2-aarch64-linux-glibc-nts.zip",
        f"php_quotalock-{VERSION}_php8.2-x86_64-linux-glibc-nts.zip",
        f"php_ratelimit-v{VERSION}_php8.2-x86_64-linux-glibc-nts.zip",
        f"php_ratelimit-{VERSION}_php8.2-x86_64-linux-glibc-nts.tgz",
    ],
)
def test_pie_would_not_find_an_archive_of_another_name(wrong: str) -> None:
    assert not names.pie_name_is_right(wrong)


def test_a_file_that_no_tool_would_find_is_named_with_the_reason(tmp_path: Path) -> None:
    target = BY_NAME["linux-x64-musl"]
    folder = program_folder(target)
    write_tgz(tmp_path / program_name(target), [Entry(f"{folder}/bin/quotalock", "")])
    write_zip(tmp_path / pie_name(*PHP_BUILDS[0]), [Entry("modules/ratelimit.so", "")])
    (tmp_path / "quotalock.exe").write_text("")
    package = npm.native_package(target, "quotalock.node") | {"libc": ["glib"]}
    contents = [Entry("package/package.json", json.dumps(package)), Entry("package/quotalock.node", "")]
    write_tgz(tmp_path / npm_name(target.npm_package), contents)
    assert list(names.problems(tmp_path)) == [
        f"{pie_name(*PHP_BUILDS[0])}: ratelimit.so is not at its top, where PIE looks",
        f"{program_name(target)}: cargo binstall looks in it for {folder}/quotalock",
        f"{npm_name(target.npm_package)}: it lacks quotalock.node or the program",
        f"{npm_name(target.npm_package)}: its libc is ['glib']",
        "quotalock.exe: no rule knows this name: add one to tools/dist/names.py, or remove the file",
    ]


def test_a_wheel_whose_tags_differ_from_its_name_is_found(tmp_path: Path) -> None:
    wheel = tmp_path / wheel_name(BY_NAME["linux-x64-gnu"])
    with zipfile.ZipFile(wheel, "w") as made:
        made.writestr(f"quotalock-{VERSION}.dist-info/WHEEL", "Tag: cp310-abi3-linux_x86_64\n")
    (problem,) = names.problems(tmp_path)
    assert "its file WHEEL has the tags ['cp310-abi3-linux_x86_64']" in problem


def test_archives_of_the_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    entries = [Entry("quotalock", "#!/bin/sh\n", 0o755), Entry("LICENSE", "free\n")]
    for number in (1, 2):
        write_tgz(tmp_path / f"{number}.tgz", entries)
        write_zip(tmp_path / f"{number}.zip", entries)
    for kind in ("tgz", "zip"):
        assert (tmp_path / f"1.{kind}").read_bytes() == (tmp_path / f"2.{kind}").read_bytes()
    with tarfile.open(fileobj=io.BytesIO((tmp_path / "1.tgz").read_bytes())) as archive:
        assert archive.getmember("quotalock").mode == 0o755


def test_a_debian_package_has_the_name_that_dpkg_gives_it() -> None:
    assert deb_name("php8.2-ratelimit", BY_NAME["linux-arm64-gnu"]) == f"php8.2-ratelimit_{VERSION}-1_arm64.deb"
