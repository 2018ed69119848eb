"""The description of a set as data, text and HTML."""

import dataclasses
import html
import os
import re
import stat
import sys
import unicodedata
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pairmend.datasets import MultiLabelData
from pairmend.datasets.characteristics import (
    characteristics,
    label_concurrence,
    label_imbalance,
)
from pairmend.datasets.description import MEANINGS, describe


def made_set(n_labels=4, *, name="photos", label_names=None, seed=0, n_rows=60):
    rng = np.random.RandomState(seed)
    Y = (rng.uniform(size=(n_rows, n_labels)) < np.linspace(0.6, 0.02, n_labels)).astype(np.int64)
    X = rng.normal(size=(n_rows, 3))
    X[:, 1] = rng.randint(0, 2, n_rows)
    X[:4, 1] = X[0, 2] = np.nan
    return MultiLabelData(
        X=X,
        Y=Y,
        feature_names=("size", "hue", "depth"),
        label_names=tuple(label_names or (f"label {number}" for number in range(n_labels))),
        categories={1: ("red", "blue")},
        name=name,
        source=(),
    )


def columns_of(line):
    """Columns on a terminal: marks stand on the letter before, wide letters take two."""
    letters = [c for c in line if not unicodedata.combining(c)]
    return len(letters) + sum(unicodedata.east_asian_width(c) in "WF" for c in letters)


def test_counts_equal_those_of_the_set():
    data = made_set()
    page = describe(data)
    assert page.name == "photos"
    assert page.characteristics == characteristics(data)
    assert [label.name for label in page.labels] == list(data.label_names)
    rows = [set(np.flatnonzero(row)) for row in data.Y]
    for number, label in enumerate(page.labels):
        assert label.count == sum(number in row for row in rows)
        assert label.share == label.count / 60
        assert label.imbalance == label_imbalance(data.Y)[number]
        assert label.concurrence == label_concurrence(data.Y)[number]
        for other in range(4):
            both = sum({number, other} <= row for row in rows)
            assert page.co_occurrence[number, other] == both
    assert page.labels_per_row.tolist() == [
        sum(len(row) == k for row in rows) for k in range(max(map(len, rows)) + 1)
    ]
    assert dataclasses.asdict(page.features) == {
        "numeric": 2,
        "categorical": 1,
        "with_missing": 2,
        "missing": 5,
        "missing_share": 5 / 180,
        "sparse": False,
        "density": 1.0,
    }
    with pytest.raises(dataclasses.FrozenInstanceError):
        page.name = "other"


def test_counts_do_not_overflow_small_integers():
    data = made_set(n_rows=1000)
    small = dataclasses.replace(data, Y=data.Y.astype(np.int8))
    np.testing.assert_array_equal(describe(small).co_occurrence, describe(data).co_occurrence)


def test_every_characteristic_has_a_meaning():
    assert set(MEANINGS) == set(describe(made_set()).characteristics)


def test_sparse_features_are_described():
    data = made_set()
    page = describe(dataclasses.replace(data, X=sparse.csr_array(np.eye(60, 3)), categories={}))
    assert page.features.sparse
    assert page.features.density == 3 / 180
    assert "sparse, 1.67% of the cells not zero; no missing cells" in page.to_text()
    assert "share of cells not zero" in page.to_text()
    assert "share of cells not zero" not in describe(data).to_text()


def test_text_has_all_parts():
    data = made_set()
    page = describe(data)
    text = page.to_text()
    lines = text.splitlines()
    assert lines[:2] == ["photos", "======"]
    assert lines[2] == "60 rows, 3 features, 4 labels"
    assert lines[3] == (
        "Features: 2 numeric, 1 categorical; dense; 5 missing cells (2.78%) in 2 features"
    )
    for meaning in set(MEANINGS.values()) - {MEANINGS["X_density"]}:
        assert meaning in text
    for key in ("LC", "avIR", "AVsc", "TCS"):
        assert f"{page.characteristics[key]:.3f}  {key} (" in text
    assert text == text.rstrip() + "\n"
    assert all(line == line.rstrip() for line in lines)
    table = [line.split() for line in lines if line.startswith("label ")][1:]
    counts = [int(cells[2]) for cells in table]
    assert counts == sorted((label.count for label in page.labels), reverse=True)
    best = page.labels[0]
    assert table[0][:6] == [
        "label", "0", f"{best.count}", f"{best.share:.2%}", "1.000", f"{best.concurrence:.3f}",
    ]  # fmt: skip
    together = page.co_occurrence[np.triu_indices(4, 1)]
    assert f"{together.max():>9} rows  label 0 + label 1" in lines
    assert sum(len(re.findall(" rows?  +label ", line)) for line in lines) == min(
        5, np.count_nonzero(together)
    )


def test_long_lists_of_labels_are_cut_in_the_middle():
    page = describe(made_set(400))
    text = page.to_text()
    assert "… 376 labels between these are left out" in text
    assert len(text.splitlines()) < 90
    ordered = sorted(page.labels, key=lambda label: -label.count)
    for label in ordered[:12] + ordered[-12:]:
        assert f"\n{label.name} " in text
    assert f"\n{ordered[12].name} " not in text
    whole = page.to_html()
    assert all(f"<td>{label.name}</td>" in whole for label in page.labels)
    assert "left out" not in describe(made_set(30)).to_text()


def test_many_labels_per_row_are_counted_in_ranges():
    data = made_set(100)
    Y = np.zeros((60, 100), dtype=np.int64)
    Y[:59] = np.arange(100) < np.arange(59)[:, None]
    page = describe(dataclasses.replace(data, Y=Y))
    ranges = page.to_text().split("Labels per row\n")[1].splitlines()[1:]
    assert len(ranges) <= 16
    assert [line.split()[0] for line in ranges][:2] == ["0-3", "4-7"]
    assert sum(int(line.split()[1]) for line in ranges) == 60
    assert ranges[0].split()[:3] == ["0-3", "5", "8.33%"]


def test_rows_with_one_label_at_most():
    data = dataclasses.replace(made_set(), Y=np.eye(60, 4, dtype=np.int64))
    assert "No row has two labels." in describe(data).to_text()


def test_html_of_rows_with_one_label_at_most():
    pytest.importorskip("matplotlib")
    data = dataclasses.replace(made_set(), Y=np.eye(60, 4, dtype=np.int64))
    assert "No row has two labels." in describe(data).to_html()


@given(
    st.text(max_size=150),
    st.lists(st.text(max_size=150), min_size=1, max_size=5),
    st.integers(0, 9),
)
def test_text_has_at_most_100_columns(name, label_names, seed):
    data = made_set(len(label_names), name=name, label_names=label_names, seed=seed)
    text = describe(data).to_text()
    assert max(map(columns_of, text.split("\n"))) <= 100
    assert all(c == "\n" or unicodedata.category(c) != "Cc" for c in text)
    assert text.split("\n")[1] == "=" * max(1, min(100, columns_of(text.split("\n")[0])))


def test_largest_numbers_fit_on_the_page():
    page = describe(made_set())
    numbers = {
        key: 1_000_000_000 if isinstance(value, int) else 123_456.789
        for key, value in page.characteristics.items()
    }
    wide = dataclasses.replace(page, characteristics=numbers)
    assert max(map(len, wide.to_text().splitlines())) <= 100


class Tags(HTMLParser):
    """Collects tags, attributes and text, and checks that what opens is closed."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert not tags.open
    return tags


def test_html_is_one_whole_page():
    pytest.importorskip("matplotlib")
    page = describe(made_set()).to_html()
    tags = read(page)
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<title>photos</title>") == 1
    assert tags.tags.count("svg") == tags.tags.count("figure") == 3
    ids = [value for key, value in tags.attributes if key == "id"]
    assert len(ids) == len(set(ids))
    assert {"script", "link", "iframe", "object", "img"}.isdisjoint(tags.tags)
    assert "://" not in page
    assert "@import" not in page
    for key, value in tags.attributes:
        assert not key.startswith("on")
        if key in ("href", "src"):
            assert value.startswith(("#", "data:image/png;base64,"))
    for text in ("Label frequencies", "Labels per row", "60 rows, 3 features, 4 labels"):
        assert text in page


def test_html_is_the_same_each_time():
    pytest.importorskip("matplotlib")
    assert describe(made_set()).to_html() == describe(made_set()).to_html()


def test_html_escapes_names():
    pytest.importorskip("matplotlib")
    nasty = ["<script>alert(1)</script>", "a & b", '"><img src=x onerror=y>', "</svg></table>"]
    page = describe(made_set(name="<b>set</b>", label_names=nasty)).to_html()
    tags = read(page)
    assert {"script", "img", "b"}.isdisjoint(tags.tags)
    assert not any(key.startswith("on") for key, _ in tags.attributes)
    for name in nasty:
        assert name in tags.text  # as the text of a cell, letter by letter
        assert f"<td>{html.escape(name)}</td>" in page
    assert "<title>&lt;b&gt;set&lt;/b&gt;</title>" in page


@pytest.mark.parametrize("suffix", [".txt", ".TXT", ".html"])
def test_save(tmp_path, suffix):
    if suffix == ".html":
        pytest.importorskip("matplotlib")
    page = describe(made_set(label_names=["é", "日本", "c", "d\ud800"]))
    path = tmp_path / f"page{suffix}"
    path.write_text("before")
    page.save(str(path))
    expected = page.to_html() if suffix == ".html" else page.to_text()
    assert path.read_bytes() == expected.encode()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    if os.name == "posix":
        (tmp_path / "plain").touch()
        modes = {stat.S_IMODE(entry.stat().st_mode) for entry in tmp_path.iterdir()}
        assert len(modes) == 1  # others may read it as they may read any new file


def test_save_with_another_suffix_is_an_error(tmp_path):
    for name in ("page.pdf", "page"):
        with pytest.raises(ValueError, match=rf"{name}.*\.txt or \.html, not as"):
            describe(made_set()).save(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        describe(made_set()).save(tmp_path / "nowhere" / "page.txt")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "page.txt"
    path.write_text("before")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        describe(made_set()).save(path)
    assert path.read_text() == "before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.txt"]


def test_without_matplotlib_the_text_still_works(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = describe(made_set())
    page.save(tmp_path / "page.txt")
    with pytest.raises(ImportError, match=r"pip install 'pairmend\[plots\]'"):
        page.save(tmp_path / "page.html")
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.txt"]
