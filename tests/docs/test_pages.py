"""The pages of the site, without building it; Sphinx checks the rest."""

import importlib.util
import re
from importlib import import_module
from pathlib import Path

import pytest

import pairmend

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def load(path):
    """Import a module of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GROUPS = load(DOCS / "api_groups.py").GROUPS


@pytest.mark.parametrize("module", ["pairmend", *pairmend._SUBMODULES])
def test_the_api_reference_has_every_public_name_once(module):
    public = import_module(f"pairmend.{module}".replace("pairmend.pairmend", "pairmend")).__all__
    listed = [name for names in GROUPS[module].values() for name in names]
    assert sorted(listed) == sorted(public)
    assert set(GROUPS) == {"pairmend", *pairmend._SUBMODULES}


def test_the_ranks_of_the_readme_are_those_of_the_results():
    text = (ROOT / "README.md").read_text("utf-8").partition("## Results")[2]
    ranks = re.findall(r"^\|.*\d\.\d.*$", text, re.MULTILINE)
    assert len(ranks) >= 5
    assert set(ranks) <= set((DOCS / "results.md").read_text("utf-8").splitlines())


def links(path):
    """Return the files that a page links to, and the anchors in them."""
    found = re.findall(r"(?<=\]\()(?![a-z]+:)([^)#\s]*)#?([^)\s]*)(?=\))", path.read_text("utf-8"))
    return [(path.parent / name if name else path, anchor) for name, anchor in found]


def anchors(path):
    """Return the anchors of the headings of a page, as code hosts make them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("path", [*ROOT.glob("*.md"), *DOCS.glob("*.md")], ids=lambda p: p.name)
def test_links_of_a_page_lead_somewhere(path):
    for target, anchor in links(path):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target}#{anchor}"
