"""The page of a report, and its files of tables and figures."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pairmend.report import write_report
from pairmend.report.tables import Table, text_of

STUDIES = ["paper", "hostile names", "four sets", "nothing finished"]
VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """Elements and texts of a page; fails if a tag is not closed."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag, key=None):
        found = [attrs for name, attrs in self.elements if name == tag]
        return found if key is None else [attrs[key] for attrs in found if key in attrs]


@pytest.fixture(scope="module", params=STUDIES)
def written(request, page_of):
    return page_of(request.param)


@pytest.fixture(scope="module")
def page(written):
    return Page(written.read_text(encoding="utf-8"))


def test_ids_are_unique_and_links_are_valid(page, written):
    for tag in ("main", "nav", "header", "footer", "h1", "title"):
        assert len(page.all(tag)) == 1
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for link in page.all("a", "href"):
        is_valid = link[1:] in ids if link.startswith("#") else (written.parent / link).is_file()
        assert is_valid, link
    for _, attrs in page.elements:
        for key in ("aria-labelledby", "aria-controls"):
            assert attrs.get(key, ids[0]) in ids
    assert all(len(text) > 10 for text in page.all("img", "alt"))


def test_the_page_loads_nothing(page, written):
    for tag, attrs in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "audio", "video", "base")
        for key, value in attrs.items():
            if key == "src":
                assert value.startswith("data:image/svg+xml;base64,")
            assert key not in ("srcset", "action", "data", "poster", "background", "style")
            assert not key.startswith("on")
    text = written.read_text(encoding="utf-8")
    for image in page.all("img", "src"):
        svg = base64.b64decode(image.partition(",")[2]).decode()
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg)
        assert "<script" not in svg
    assert "://" not in re.sub(r'src="[^"]*"', "", text)
    (policy,) = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"


def test_all_tables_and_figures_are_files(page, written):
    tables = {name.removeprefix("rows-") for name in page.all("table", "id")}
    names = {f"{name}.{suffix}" for name in tables for suffix in ("tex", "csv", "md")}
    assert {path.name for path in (written.parent / "tables").iterdir()} >= names
    figures = [name for name in page.all("figure", "id") if name.startswith("figure-")]
    folder = written.parent / "figures"
    for name in (figure.removeprefix("figure-") for figure in figures):
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF-")
    assert len(list(folder.iterdir())) == 2 * len(figures)


def test_sections_and_tables_of_a_study_of_the_paper(page_of):
    page = Page(page_of("paper").read_text(encoding="utf-8"))
    paper = {"ranks", "wilcoxon", "results", "paper-tests", "published", "spearman"}
    assert {f"rows-{name}" for name in paper} < set(page.all("table", "id"))
    figures = [n.removeprefix("figure-") for n in page.all("figure", "id") if "figure" in n]
    slugs = ("hamming", "macro-f1", "micro-f1", "zero-one")
    kinds = ("ranks", "over-sets", "triangle", "on-sets", "folds")
    expected = {f"{kind}-{slug}" for kind in kinds for slug in slugs}
    assert set(figures) == {"radar", "published-and-measured", *expected}
    words = "".join(page.texts)
    assert words.count("0.1") > 5  # every judgement names its level
    assert "FCM-W on flags, repeat 1, fold 4" in words
    assert 'File "fit.py", line 3, in fit' in words


def test_csv_tables_have_all_digits(page_of, summary_of):
    folder, summary = page_of("paper").parent / "tables", summary_of("paper")
    pairs = pd.read_csv(folder / "pairs.csv", index_col=["metric", "first", "second"])
    pd.testing.assert_frame_equal(pairs, summary.pairs, check_dtype=False)
    results = pd.read_csv(folder / "results.csv", index_col="set")
    for (metric, name, algorithm), row in summary.means.iterrows():
        assert results.loc[name, f"{metric} {algorithm}"] == pytest.approx(row["mean"], rel=1e-15)
    # Few sets have Bayesian tests only.
    few = page_of("four sets")
    assert "tests" not in Page(few.read_text(encoding="utf-8")).all("section", "id")
    rows = pd.read_csv(few.parent / "tables" / "bayesian-folds.csv")
    assert len(rows) == 4 * 6 * 4  # metrics, pairs, sets


def test_names_are_escaped_in_every_format(page_of):
    path = page_of("hostile names")
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    page = Page(text)
    assert len(page.all("script")) == 1
    words = "".join(page.texts)
    assert '<script>alert("x")</script> & 50%_off #1 $x$ {a} ^~\\ |b|' in words
    assert "ValueError: y has <3> classes & no rows" in words
    for file in (path.parent / "tables").glob("*.md"):
        lines = file.read_text("utf-8").splitlines()
        plain = [re.sub(r"\\.", "", line) for line in lines]
        assert not any(letter in line for line in plain for letter in "<[")
        assert len({line.count("|") for line in plain if line.startswith("|")}) == 1
    csv = (path.parent / "tables" / "sources.csv").read_text("utf-8")
    assert "\n'=1+1," in csv
    assert "\n[x]," in csv


def test_latex_is_valid(written):
    for file in (written.parent / "tables").glob("*.tex"):
        check_latex(file.read_text("utf-8"))


def check_latex(text):
    """Check that groups are balanced and special characters escaped."""
    text = re.sub(r"(?m)(?<!\\)%.*$", "", text)
    depth, mathematics = 0, False
    for token in re.findall(r"\\[A-Za-z]+|\\.|[^\\]", text, flags=re.S):
        assert token not in ("#", "~"), f"bare {token}"
        mathematics ^= token == "$"
        assert mathematics or token not in ("_", "^")
        depth += (token == "{") - (token == "}")
        assert depth >= 0
    assert (depth, mathematics) == (0, False)


@given(st.text(max_size=40))
def test_any_name_is_valid_in_latex(name):
    table = Table("t", name, pd.DataFrame({(name, name or "x"): [name], ("b", "c"): [0.5]}))
    text = table.to_latex()
    check_latex(text)
    rows = text.partition(r"\endlastfoot")[2].splitlines()[1:-1]
    assert all(len(re.findall(r"(?<!\\)&", row)) == 1 for row in rows)


def test_marks_groups_and_formulas():
    columns = pd.MultiIndex.from_tuples([("", "set"), ("A", "p"), ("A", "adjusted p")])
    frame = pd.DataFrame([["=1+1", 0.0001, 0.02], ["b", None, 0.3]], columns=columns)
    marks = pd.DataFrame({("A", "p"): ["", "differs"]})
    table = Table("t", "Title.", frame, "Caption.", marks=marks, alpha=0.05)
    assert [[tuple(cell) for cell in row] for row in table.rows] == [
        [("=1+1", ""), ("<0.001", ""), ("0.020", "best")],
        [("b", ""), ("–", "differs"), ("0.300", "")],
    ]
    assert table.groups == [("", 1), ("A", 2)]
    assert table.to_csv() == "set,A p,A adjusted p\n'=1+1,0.0001,0.02\nb,,0.3\n"
    assert "| b | *–* | 0.300 |" in table.to_markdown()
    assert r"b & \textit{--} & 0.300 \\" in table.to_latex()
    assert r"\multicolumn{2}{c}{A}" in table.to_latex()
    assert r"\textbf{0.020}" in table.to_latex()


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (float("nan"), "p", "–"), (-0.0001, "signed", "0.000"), (0.02, "signed", "+0.020"),
        (-1.5, "number", "−1.500"), (0.00099, "p", "<0.001"), (1234567, "count", "1,234,567"),
        (12.345, "short", "12.35"), (0.00042, "short", "0.00042"), (0.0, "short", "0"),
    ],
)  # fmt: skip
def test_texts_of_values(value, kind, expected):
    assert text_of(value, kind) == expected


def test_the_same_study_gives_the_same_page_among_other_files(summary_of, tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "notes.md").write_text("mine")
    page = write_report(summary_of("paper"), tmp_path, only=["costs"])
    assert page == tmp_path / "report.html"
    assert {path.stem for path in (tmp_path / "tables").iterdir()} == {"notes", "verdicts", "costs"}
    again = write_report(summary_of("paper"), tmp_path / "new" / "mine.html", only=["costs"])
    assert again.name == "mine.html"
    assert again.read_bytes() == page.read_bytes()


def test_reports_of_folders_and_records(make, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no study"):
        write_report(tmp_path)
    with pytest.raises(ValueError, match="expected the folder to write to"):
        write_report(make("sets to come"))
    assert write_report(make("sets to come"), tmp_path, only=["run"]).is_file()
