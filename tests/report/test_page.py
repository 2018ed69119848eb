"""The page and its files of tables."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from pairmend import published
from pairmend.report import write_report
from pairmend.report.contents import figures_of
from pairmend.report.figures import Styles
from pairmend.report.render import view
from pairmend.report.table import Cell, Column, Table
from pairmend.report.writing import write_record, write_summary

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

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def words_of(path):
    """Return the text of a page, without the marks that keep names on one line."""
    text = "".join(Page(path.read_text(encoding="utf-8")).texts)
    return text.replace("\u2060", "").replace("\u00a0", " ")


@pytest.fixture(scope="session")
def written(study, page_of):
    return page_of(study)


@pytest.fixture(scope="session")
def text(written):
    return written.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def page(text):
    return Page(text)


def test_the_page_has_all_its_landmarks(page):
    for tag in ("main", "nav", "header", "footer", "h1", "title"):
        assert len(page.all(tag)) == 1


def test_ids_are_unique_and_links_are_valid(page, written):
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in page.all("a"):
        if attrs["href"].startswith("#"):
            assert attrs["href"][1:] in ids
        elif attrs["href"] != f"https://doi.org/{published.DOI}":
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
    links = re.findall(r"<(\w+)[^>]*?(?:src|href)\s*=\s*[\"']?(?:https?:)?//", text)
    assert set(links) <= {"a"}  # links are not loaded
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


def test_every_table_and_figure_has_a_label(page):
    for attrs in page.all("table"):
        assert attrs["aria-labelledby"]
    for attrs in page.all("svg"):
        assert attrs["role"] == "img"
        assert len(attrs["aria-label"]) > 10


def test_names_are_escaped(page_of):
    text = page_of("hostile names").read_text(encoding="utf-8")
    assert "<script>alert" not in text
    page = Page(text)
    assert len(page.all("script")) == 1
    words = "".join(page.texts)
    assert '<script>alert("x")</script> & 50%_off #1 $x$ {a} ^~\\ |b|' in words
    assert "ValueError: y has <3> classes & no rows" in words


def test_the_header_of_the_page(page_of):
    path = page_of("paper")
    words = words_of(path)
    assert "FCM ranks best on Hamming loss" in words
    extent = "4 algorithms on 12 sets, by 4 metrics, in 4-fold cross-validation, repeated 2 times."
    assert extent in words
    assert "are impossible for the method as described" in words
    page = Page(path.read_text(encoding="utf-8"))
    sections = [attrs["id"] for attrs in page.all("section")]
    assert sections == [
        "ranks", "tests", "probabilities", "results", "published", "sets", "costs", "failures",
        "run",
    ]  # fmt: skip


def test_there_are_no_tests_with_too_few_sets(page_of):
    path = page_of("four sets")
    assert words_of(path).count("tests need at least 5 sets with all results, found 4") == 1
    page = Page(path.read_text(encoding="utf-8"))
    assert "#tests" not in [attrs["href"] for attrs in page.all("a")]
    assert "tests" not in [attrs["id"] for attrs in page.all("section")]
    ids = [attrs["id"] for attrs in page.all("table")]
    assert "rows-friedman" not in ids
    assert not [name for name in ids if name.startswith("rows-wilcoxon")]
    assert "rows-results" in ids
    assert "figure-radar" in [attrs["id"] for attrs in page.all("figure") if "id" in attrs]
    assert "critical difference" not in words_of(path)  # also not in the radar
    assert "ranks best" not in words_of(path)


def test_few_sets_have_bayesian_tests(page_of):
    """Figures for each metric, over all sets and on single sets, explanations, and tables."""
    path = page_of("four sets")
    words, page = words_of(path), Page(path.read_text(encoding="utf-8"))
    drawn = [attrs["id"] for attrs in page.all("figure") if "id" in attrs]
    for slug in ("hamming", "macro-f1", "micro-f1", "zero-one"):
        assert f"figure-over-sets-{slug}" in drawn
        assert f"figure-on-sets-{slug}" in drawn
    assert "called the region of practical equivalence, or rope. 0.01 is the default" in words
    assert "valid on few sets, where Friedman's and Wilcoxon's tests are not" in words
    lines = {
        name: (path.parent / "tables" / f"bayesian-{name}.csv").read_text().splitlines()
        for name in ("sets", "folds")
    }
    assert len(lines["sets"]) == 1 + 4 * 6  # metrics, pairs
    assert len(lines["folds"]) == 1 + 4 * 6 * 4  # and sets


def test_a_single_set_has_no_test_over_sets(page_of):
    page = Page(page_of("one set").read_text(encoding="utf-8"))
    drawn = [attrs["id"] for attrs in page.all("figure") if "id" in attrs]
    assert "figure-on-sets-hamming" in drawn
    assert not [name for name in drawn if name.startswith("figure-over-sets")]
    assert "rows-bayesian-folds" in [attrs["id"] for attrs in page.all("table")]


def test_of_many_pairs_only_those_with_the_best_are_drawn(page_of, summary_of):
    text = page_of("twelve algorithms").read_text(encoding="utf-8")
    start = text.index('id="figure-over-sets-hamming"')
    drawing = text[start : text.index("</figure>", start)]
    (best, *others) = summary_of("twelve algorithms")["comparison"]["hamming"]["probabilities"][
        "ordered"
    ]
    assert drawing.count(f">{best}<") == 11
    assert all(drawing.count(f">{name}<") == 1 for name in others)
    assert "the tables show all pairs" in words_of(page_of("twelve algorithms"))
    assert "the tables show all pairs" not in words_of(page_of("four sets"))
    assert "the table all pairs" not in words_of(page_of("four sets"))


def test_long_tables_are_linked_and_not_shown(summary_of, tmp_path, monkeypatch, no_drawings):
    monkeypatch.setattr("pairmend.report.contents.MOST_ROWS", 90)
    path = write_summary(summary_of("four sets"), tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    ids = [attrs["id"] for attrs in page.all("table")]
    assert "rows-bayesian-folds" not in ids
    assert "rows-bayesian-sets" in ids
    assert "The table has 96 rows and is not shown here" in words_of(path)
    assert "tables/bayesian-folds.csv" in [attrs["href"] for attrs in page.all("a")]
    assert (tmp_path / "tables" / "bayesian-folds.csv").is_file()


def test_the_doi_is_a_link(page_of):
    text = page_of("paper").read_text(encoding="utf-8")
    doi = published.DOI
    assert f'<a href="https://doi.org/{doi}">{doi}</a>' in text
    assert "https://" not in page_of("own algorithms").read_text(encoding="utf-8")


def test_failures_are_grouped_and_the_list_is_in_a_fold(page_of):
    text = page_of("paper").read_text(encoding="utf-8")
    section = text[text.index('<section id="failures"') :]
    grouped, fold = section.index('id="rows-failures"'), section.index("Every failed task")
    assert grouped < fold < section.index('id="rows-failed-tasks"')


def test_one_algorithm_has_correlations(page_of):
    assert "There are no" not in words_of(page_of("one algorithm"))


def test_sets_without_results_are_listed_once(page_of):
    words = words_of(page_of("sets to come"))
    assert "4 algorithms on 2 sets" in words
    assert "Sets without any result: arts and birds." in words
    assert words.count("arts") == words.count("birds") == 1


def test_warnings_are_in_a_fold(page_of):
    text = page_of("paper").read_text(encoding="utf-8")
    fold = text[text.index("<summary>Warnings</summary>") :]
    fold = fold[: fold.index("</details>")]
    assert "ConvergenceWarning: lbfgs &lt;failed&gt; to converge Increase max_iter" in fold
    assert "Warnings" not in words_of(page_of("own algorithms"))


def test_all_tables_are_written_to_files(written, page):
    shown = {attrs["id"].removeprefix("rows-") for attrs in page.all("table")}
    files = {path.name for path in (written.parent / "tables").iterdir()}
    expected = {f"{name}.{suffix}" for name in shown for suffix in ("tex", "csv", "md")}
    assert files == {*expected, ".written"}


def test_all_figures_are_written_to_files(written, page, sections):
    shown = [attrs["id"] for attrs in page.all("figure") if attrs["id"].startswith("figure-")]
    names = {name.removeprefix("figure-") for name in shown}
    folder = written.parent / "figures"
    files = {path.name for path in folder.iterdir()}
    assert files == {".written", *(f"{n}.{s}" for n in names for s in ("svg", "pdf"))}
    assert names == {figure.id for figure in figures_of(sections)}
    for name in names:
        root = ElementTree.parse(folder / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF-")
    links = {attrs["href"] for attrs in page.all("a")}
    assert {f"figures/{name}.pdf" for name in names} <= links


@pytest.fixture
def drawn_before(monkeypatch, summary_of, sections_of, no_pdf):
    """Write reports with the numbers and drawings of a study that were made before, without PDF."""

    def use(name):
        monkeypatch.setattr("pairmend.report.writing.summarise", lambda _: summary_of(name))
        monkeypatch.setattr("pairmend.report.writing.contents", lambda _: sections_of(name))

    return use


def test_tables_of_an_earlier_report_are_removed_and_no_other_files(make, tmp_path, drawn_before):
    drawn_before("hostile names")
    write_record(make("hostile names"), tmp_path)
    tables = tmp_path / "tables"
    for name in ("notes.md", "results-mine.csv"):
        (tables / name).write_text("mine")
    (tmp_path / "kept.md").write_text("mine")
    with (tables / ".written").open("a") as file:
        file.write("../kept.md\ngone.md\n")
    assert (tables / "failures.csv").is_file()
    drawn_before("one set")
    write_record(make("one set"), tmp_path)
    assert not (tables / "failures.csv").exists()
    assert not (tables / "friedman.tex").exists()
    for path in (tables / "notes.md", tables / "results-mine.csv", tmp_path / "kept.md"):
        assert path.read_text() == "mine"


def test_an_error_keeps_the_earlier_report(make, tmp_path, monkeypatch, drawn_before):
    drawn_before("one set")
    path = write_record(make("one set"), tmp_path)
    before = path.read_text(encoding="utf-8")
    monkeypatch.setattr("pairmend.report.writing.render", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_record(make("one set"), tmp_path)
    assert path.read_text(encoding="utf-8") == before
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_the_same_study_gives_the_same_page(make, page_of, tmp_path, no_pdf):
    again = write_record(make("one set"), tmp_path / "again.html")
    assert again == tmp_path / "again.html"
    assert again.read_text(encoding="utf-8") == page_of("one set").read_text(encoding="utf-8")


def test_folders_are_created(make, tmp_path, drawn_before):
    drawn_before("one set")
    path = write_record(make("one set"), tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "report.html"
    assert (path.parent / "tables" / "results.csv").is_file()


def test_report_of_a_folder(make, tmp_path, monkeypatch, drawn_before):
    drawn_before("one set")
    folder, out = tmp_path / "study", tmp_path / "elsewhere"
    folders = []
    monkeypatch.setattr("pairmend.study.read_study", lambda f: folders.append(f) or make("one set"))
    assert write_report(folder) == folder / "report.html"
    assert write_report(folder, out) == out / "report.html"
    assert write_report(folder, out / "mine.html") == out / "mine.html"
    assert folders == [folder] * 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.5, 0.5), (float("inf"), "Infinity"), (-float("inf"), "-Infinity"), (float("nan"), None),
     (None, None), ("3", None)],
)  # fmt: skip
def test_numbers_are_written_as_javascript_reads_them(value, expected):
    ((cell,),) = view(Table("t", "", "", (Column("x"),), ((Cell(value),),)))["rows"]
    assert cell["value"] == expected


def test_styles_of_drawings_become_rules():
    styles = Styles()
    drawing = '<svg style="fill: red"><g style="fill: red">a &lt; style="b"</g></svg>'
    assert styles.extract(drawing) == ('<svg class="f0"><g class="f0">a &lt; style="b"</g></svg>')
    assert styles.rules == ".f0{fill: red}"
