"""Explanations as pages and as outputs of notebooks: content, escaping, one file."""

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from pairmend import MendedClassifier
from pairmend.base_classifiers import ScaledLogisticRegression
from pairmend.explanation import Explanations

pytest.importorskip("jinja2")
HOSTILE = "</td><script>alert(1)</script>\"' onload=x {{ 7 * 7 }}"


@pytest.fixture(scope="module")
def explained():
    """Explanations of new rows and of training rows, with hostile names and values."""
    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.uniform(-1, 1, size=(90, 2)), columns=["width", HOSTILE])
    X["colour"] = np.where(X["width"] > 0, HOSTILE, "blue")
    X.index = [f"<b>{k}</b>" for k in range(len(X))]
    Y = pd.DataFrame({
        "sea": X["width"] ** 2 + X[HOSTILE] ** 2 < 0.5, HOSTILE: X["width"] > 0.2,
        "sun": X[HOSTILE] > 0,
    }).astype(int)  # fmt: skip
    clf = MendedClassifier(ScaledLogisticRegression(), random_state=0, decision="sets").fit(
        X[:70], Y[:70]
    )
    return clf.explain(X[65:85])


class Tags(HTMLParser):
    """The elements of a page, its texts, and the attributes of each element."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.attributes, self.inside = [], [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.texts.append(data)


@pytest.fixture(params=["page", "cell"])
def rendered(request, explained):
    return explained.to_html(title=HOSTILE) if request.param == "page" else explained._repr_html_()


def test_names_and_values_are_escaped_and_nothing_else_is_loaded(rendered):
    found = Tags(rendered)
    assert found.tags.count("script") == 1
    assert HOSTILE in found.texts  # a label, also not evaluated as a template
    assert any("<b>65</b>" in text for text in found.texts)
    for _, name, value in found.attributes:
        assert not name.startswith("on")
        assert name not in ("style", "src")
        assert name != "href" or value.startswith("#")
    assert "http" not in rendered.replace("http-equiv", "")


def test_a_page_shows_what_the_text_shows(explained):
    text = " ".join(" ".join(Tags(explained.to_html()).texts).split())
    for line in str(explained[7]).splitlines():
        for part in re.split(r"  +", line.strip().partition(": ")[2] or line.strip()):
            if not part.startswith("Row "):
                assert " ".join(part.split()) in text
    assert "Most likely label sets: " in text


def test_one_row_is_open_and_many_are_folded(explained):
    many, one = Tags(explained.to_html()), Tags(explained[0].to_html())
    opened = [sum(name == "open" for _, name, _ in each.attributes) for each in (many, one)]
    assert opened == [0, 1]
    assert many.tags.count("details") >= 20
    ids = [value for _, name, value in many.attributes if name == "id"]
    assert len(ids) == len(set(ids))


def test_labels_that_are_not_shown_are_counted():
    rng = np.random.RandomState(0)
    X, Y = rng.rand(80, 9), rng.randint(0, 2, size=(80, 40))
    clf = MendedClassifier(ScaledLogisticRegression(), random_state=0, scaling="range").fit(X, Y)
    text = " ".join(Tags(clf.explain(X[:1], labels=[3]).to_html()).texts)
    assert "39 of 40 labels are not listed." in text


def test_outputs_of_a_notebook_have_own_ids_and_scoped_rules(explained):
    second = explained[3]._repr_html_()
    shown = explained._repr_html_(), explained._repr_html_(), second, explained[3]._repr_html_()
    ids = [each for cell in shown for each in re.findall(r'id="([^"]+)"', cell)]
    assert len(ids) == len(set(ids)) == 2 * len(explained) + 2
    assert re.search(r"<style>\s*\.pairmend {", second)  # one rule around all others
    page = Explanations([explained[0], explained[1], explained[0]]).to_html()  # of several tables
    ids, links = (re.findall(rf'{name}="#?(row[^"]+)"', page) for name in ("id", "href"))
    assert ids == links == ["row-0", "row-1", "row-2"]


def test_without_jinja2_notebooks_show_text(explained, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert explained._repr_html_() is None
    assert explained[0]._repr_html_() is None
    with pytest.raises(ImportError, match=r"pip install jinja2"):
        explained.to_html()
