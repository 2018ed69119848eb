"""The page and the files beside it."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from pairmend.report import write_record, write_report
from pairmend.report.figures import Styles

VOID = {"meta", "input", "br", "link", "img"}


class Page(HTMLParser):
    """Elements and texts of a page; closes what was opened, or fails."""

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

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def said(path):
    """Read the words of a page, without the marks that keep names on one line."""
    text = "".join(Page(path.read_text(encoding="utf-8")).texts)
    return text.replace("\u2060", "").replace("\u00a0", " ")


@pytest.fixture(scope="session")
def written(record, summary, sections, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:  # both were worked out already
        patch.setattr("pairmend.report.writing.summarise", lambda _: summary)
        patch.setattr("pairmend.report.writing.contents", lambda _: sections)
        return write_record(record, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="session")
def text(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page(text):
    return Page(text)


def test_page_is_whole(page):
    for tag in ("main", "nav", "header", "footer", "h1", "title"):
        assert len(page.all(tag)) == 1


def test_ids_are_unique_and_links_lead_somewhere(page, written):
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in page.all("a"):
        if attrs["href"].startswith("#"):
            assert attrs["href"][1:] in ids
        else:
            assert (written.parent / attrs["href"]).is_file()
    for _, attrs in page.elements:
        for key in ("aria-labelledby", "aria-controls"):
            assert attrs.get(key, ids[0]) in ids


def test_page_loads_nothing(page, text):
    loading = {"link", "img", "iframe", "object", "embed", "audio", "video", "base", "image"}
    assert not [tag for tag, _ in page.elements if tag in loading]
    for tag, attrs in page.elements:
        for key, value in attrs.items():
            if key in ("src", "srcset", "action", "data", "poster", "background"):
                pytest.fail(f"{tag} loads {value}")
            if key.endswith("href") and tag != "a":
                assert value.startswith("#")
            assert not key.startswith("on")
            assert key != "style"
    assert not re.findall(r"(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text)
    assert "@import" not in text
    assert not [found for found in re.findall(r"url\(([^)]*)\)", text) if found[0] != "#"]


def test_policy_allows_this_style_and_script_only(page, text):
    (policy,) = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, flags=re.S)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"


def test_every_table_is_named_and_every_figure_told(page):
    for attrs in page.all("table"):
        assert attrs["aria-labelledby"]
    for attrs in page.all("svg"):
        assert attrs["role"] == "img"
        assert len(attrs["aria-label"]) > 10


def test_names_are_text(make, tmp_path):
    text = write_record(make("hostile names"), tmp_path).read_text(encoding="utf-8")
    assert "<script>alert" not in text
    page = Page(text)
    assert len(page.all("script")) == 1
    words = "".join(page.texts)
    assert '<script>alert("x")</script> & 50%_off #1 $x$ {a} ^~\\ |b|' in words
    assert "ValueError: y has <3> classes & no rows" in words


def test_what_a_reader_finds_first(make, tmp_path):
    path = write_record(make("paper"), tmp_path)
    words = said(path)
    assert "FCM ranks best on Hamming loss" in words
    told = "4 algorithms on 12 sets, by 4 criteria, in 4-fold cross-validation, repeated 2 times."
    assert told in words
    assert "cannot come from the method as it is described" in words
    page = Page(path.read_text(encoding="utf-8"))
    sections = [attrs["id"] for attrs in page.all("section")]
    assert sections == [
        "ranks", "tests", "results", "published", "sets", "costs", "failures", "run",
    ]  # fmt: skip


def test_too_few_sets_are_told_in_place_of_tests(make, tmp_path):
    path = write_record(make("four sets"), tmp_path)
    told = "Tests need at least 5 sets with all results, and there are 4."
    for what in ("critical-difference diagrams", "tests", "correlations"):
        assert f"There are no {what}. {told}" in said(path)
    page = Page(path.read_text(encoding="utf-8"))
    ids = [attrs["id"] for attrs in page.all("table")]
    assert "rows-friedman" not in ids
    assert "rows-results" in ids


def test_all_tables_lie_beside_the_page(written, page):
    shown = {attrs["id"].removeprefix("rows-") for attrs in page.all("table")}
    files = {path.name for path in (written.parent / "tables").iterdir()}
    assert files == {f"{name}.{suffix}" for name in shown for suffix in ("tex", "csv", "md")}


def test_tables_of_an_earlier_report_go(make, tmp_path):
    write_record(make("hostile names"), tmp_path)
    tables = tmp_path / "tables"
    (tables / "notes.md").write_text("mine")
    assert (tables / "failures.csv").is_file()
    write_record(make("four sets"), tmp_path)
    assert not (tables / "failures.csv").exists()
    assert not (tables / "friedman.tex").exists()
    assert (tables / "notes.md").read_text() == "mine"


def test_an_error_leaves_the_earlier_report(make, tmp_path, monkeypatch):
    path = write_record(make("one set"), tmp_path)
    before = path.read_text(encoding="utf-8")
    monkeypatch.setattr("pairmend.report.writing.render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_record(make("four sets"), tmp_path)
    assert path.read_text(encoding="utf-8") == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_same_study_gives_the_same_page(make, tmp_path):
    first = write_record(make("four sets"), tmp_path)
    again = write_record(make("four sets"), tmp_path / "again.html")
    assert again == tmp_path / "again.html"
    assert again.read_text(encoding="utf-8") == first.read_text(encoding="utf-8")


def test_reports_go_where_there_is_a_folder(make, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        write_record(make("one set"), tmp_path / "nowhere")


def test_report_of_a_folder(make, tmp_path, monkeypatch):
    folder, out = tmp_path / "study", tmp_path / "elsewhere"
    folder.mkdir()
    out.mkdir()
    asked = []
    monkeypatch.setattr("pairmend.study.read_study", lambda f: asked.append(f) or make("one set"))
    assert write_report(folder) == folder / "report.html"
    assert write_report(folder, out) == out / "report.html"
    assert write_report(folder, out / "mine.html") == out / "mine.html"
    assert asked == [folder] * 3


def test_styles_of_drawings_become_rules():
    styles = Styles()
    drawing = '<svg style="fill: red"><g style="fill: red">a &lt; style="b"</g></svg>'
    assert styles.taken_from(drawing) == (
        '<svg class="f0"><g class="f0">a &lt; style="b"</g></svg>'
    )
    assert styles.rules == ".f0{fill: red}"
