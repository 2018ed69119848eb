"""Files that must agree with each other: versions, pins, workflows, extras."""

import re
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


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_workflows_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+(?: [a-z-]+)*):", read("Makefile"), re.MULTILINE))
    targets = {name for names in targets for name in names.split()}
    for path in WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        called = re.findall(r"run: make ([a-z -]+)", text) + re.findall(r"target: (\S+)", text)
        assert called or "make" not in text
        assert {name for names in called for name in names.split()} <= targets, path.name


def test_the_extra_of_everything_has_all_others_but_dask():
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(re.findall(r"\w+", extras["all"][0])) == set(extras) - {"all", "dask"} | {"pairmend"}
