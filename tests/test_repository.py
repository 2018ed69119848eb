"""Files that must agree with each other: versions, pins, workflows, extras."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# A source distribution has no hidden files.
pytestmark = pytest.mark.skipif(not WORKFLOWS, reason="needs a checkout")


def test_files_named_in_the_contributing_page_exist():
    package = ROOT / "src" / "pairmend"
    named = set(re.findall(r"`([\w./]+\.(?:py|md|txt|toml))`", read("CONTRIBUTING.md")))
    assert [name for name in named if not any((p / name).exists() for p in (ROOT, package))] == []


def test_no_ignored_file_is_tracked():
    """A checkout would replace the ignored file of that name, such as an environment."""
    listed = ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    ran = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stdout.split() == []


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_a_release_needs_its_version_and_a_dated_changelog(tmp_path):
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "check_release.py")
    release = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(release)
    package = tmp_path / "src" / "pairmend"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0.2.0"\n', encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("## 0.2.0 (2027-01-31)\n", encoding="utf-8")
    assert release.problems("v0.2.0", tmp_path) == []
    assert release.problems("0.2.0", tmp_path) == ["the tag must be v0.2.0, got 0.2.0"]
    assert release.problems("v0.3.0", tmp_path) == [
        "pairmend has the version 0.2.0, expected 0.3.0",
        "CHANGELOG.md has no heading '## 0.3.0 (YEAR-MONTH-DAY)'",
    ]


def test_workflows_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", read("Makefile"), re.MULTILINE))
    targets = {name for names in targets for name in names.split()}
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        called = re.findall(r"run: make ([a-z -]+)", text) + re.findall(r"target: (\S+)", text)
        assert called or "make" not in text
        assert {name for names in called for name in names.split()} <= targets, path.name


def test_every_extra_has_a_smoke_test_and_those_for_one_machine_are_in_all():
    extras = PROJECT["project"]["optional-dependencies"]
    tested = set(re.findall(r"^def (\w+)\(\):", read("tests/smoke/parts.py"), re.MULTILINE))
    assert set(extras) | {"core"} <= tested
    assert set(re.findall(r"\w+", extras["all"][0])) == set(extras) - {"all", "dask"} | {"pairmend"}
