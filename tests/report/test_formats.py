"""Tables as LaTeX, CSV and Markdown."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from latex_pages import overfull
from pairmend.report.contents import tables_of
from pairmend.report.formats import to_csv, to_markdown
from pairmend.report.latex import latex, to_latex
from pairmend.report.table import Cell, Column, Table, cell_text, extra_text, text_of
from pairmend.report.tables import results_table, spread_tables


@pytest.fixture(scope="session")
def tables(sections):
    return tables_of(sections)


def latex_tokens(text):
    """Split LaTeX into commands, escaped letters and single letters, without comments."""
    text = re.sub(r"(?m)(?<!\\)%.*$", "", text)
    return re.findall(r"\\[A-Za-z]+|\\.|[^\\]", text, flags=re.S)


def check_latex(text):
    """Check that groups are balanced and special characters escaped."""
    depth, mathematics, environments = 0, False, []
    tokens = latex_tokens(text)
    for place, token in enumerate(tokens):
        assert token not in ("#", "~"), f"bare {token}"
        if token == "$":
            mathematics = not mathematics
        elif token in ("_", "^"):
            assert mathematics, f"{token} outside mathematics"
        elif token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif token in ("\\begin", "\\end"):
            name = re.match(r"\{(\w+)\}", "".join(tokens[place + 1 : place + 40]))[1]
            if token == "\\begin":
                environments.append(name)
            else:
                assert environments.pop() == name
        assert depth >= 0
    assert depth == 0
    assert not mathematics
    assert not environments


def latex_rows(text):
    """Yield the cells of each line of a table."""
    for line in text.splitlines():
        if line.endswith(r" \\") and not line.startswith(r"\label"):
            yield re.split(r"(?<!\\)&", line.removesuffix(r" \\"))


def width(cells):
    spans = [re.search(r"\\multicolumn\{(\d+)\}", cell) for cell in cells]
    return sum(int(span[1]) if span else 1 for span in spans)


def test_latex_is_valid(tables):
    for table in tables:
        text = to_latex(table)
        check_latex(text)
        parts = [list(latex_rows(part)) for part in text.split(r"\caption")[1:]]
        for lines in parts:
            assert len(lines) >= len(table.rows) + len(table.foot) + 1
            assert len({width(cells) for cells in lines}) == 1
        # All parts have the columns before the first group.
        n_columns = sum(width(lines[0]) for lines in parts)
        assert n_columns >= len(table.columns)
        assert (n_columns == len(table.columns)) == (len(parts) == 1)


@given(st.text(max_size=40))
def test_any_name_is_valid_in_latex(name):
    table = Table("t", name, "", (Column(name, "text", group=name),), ((Cell(name),),))
    text = to_latex(table)
    check_latex(text)
    assert all(width(cells) == 1 for cells in latex_rows(text))


def test_latex_letters():
    assert latex("a_b & 5% #1 {x} ^ ~ \\ $") == (
        r"a\_b \& 5\% \#1 \{x\} \textasciicircum{} \textasciitilde{} \textbackslash{} \$"
    )


def test_long_tables_break_over_pages():
    rows = tuple((Cell(float(n)),) for n in range(46))
    text = to_latex(Table("t", "Long.", "", (Column("x"),), rows))
    assert r"\begin{longtable}" in text
    check_latex(text)


def wide_table(n_rows):
    columns = (
        Column("set", "text"),
        *(Column(f"method {n}", group=f"metric {m}") for m in range(3) for n in range(7)),
        Column("class", "code"),
    )
    path = Cell("package_of_mine.subpackage.a_module.ClassifierWithAVeryLongName")
    row = (Cell("a set"), *(Cell(0.5, mark="best") for _ in range(21)), path)
    foot = (tuple(Cell("mean") for _ in columns),)
    return Table("wide", "Wide.", "A caption.", columns, (row,) * n_rows, foot)


@pytest.mark.parametrize("n_rows", [1, 46])
def test_columns_that_do_not_fit_are_in_several_tables(n_rows):
    text = to_latex(wide_table(n_rows))
    check_latex(text)
    parts = text.split(r"\caption")[1:]
    assert len(parts) > 1
    assert "Part 1 of" in parts[0]
    assert r"\label{tab:wide-2}" in parts[1]
    for part in parts:
        lines = list(latex_rows(part))
        assert len({width(cells) for cells in lines}) == 1
        assert lines[-2][0].strip() == "a set"
        # Groups are not cut while they fit.
        for group in re.findall(r"\\multicolumn\{(\d+)\}\{c\}\{metric", part):
            assert group == "7"


def test_long_texts_are_wrapped_and_long_words_can_be_broken():
    text = to_latex(wide_table(1))
    assert r"package\_\allowbreak{}of\_\allowbreak{}mine.\allowbreak{}subpackage." in text
    assert re.search(r">\{\\raggedright\\arraybackslash\}p\{0\.\d+\\linewidth\}", text)
    assert latex("a" * 30, breakable=True).count(r"\allowbreak{}") == 2
    assert latex("two short words", breakable=True) == "two short words"


@pytest.mark.parametrize("name", ["paper", "twelve algorithms"])
def test_tables_are_not_wider_than_the_text(sections_of, name, tmp_path):
    """Before they were wrapped and scaled, the widest was 290 or 2,500 points too wide."""
    made = {table.id: to_latex(table) for table in tables_of(sections_of(name))}
    made |= {f"wide {n}": to_latex(wide_table(n)) for n in (1, 46)}
    assert overfull(made, tmp_path) == {}


def test_differences_have_a_minus_sign_in_latex():
    assert latex("1 - macro F1") == "1 $-$ macro F1"
    assert latex("LPW - FCM-O") == "LPW - FCM-O"  # names are not changed


def test_tables_of_tests_have_the_name_of_the_metric(sections_of):
    ids = [table.id for table in tables_of(sections_of("paper"))]
    for criterion in ("hamming", "macro-f1", "micro-f1", "zero-one"):
        assert f"wilcoxon-{criterion}" in ids
        assert f"spearman-{criterion}" in ids


def test_csv_has_all_digits(tables):
    for table in tables:
        head, *lines = csv.reader(io.StringIO(to_csv(table)))
        assert len(lines) == len(table.rows) + len(table.foot)
        for row, line in zip((*table.rows, *table.foot), lines, strict=True):
            assert len(line) == len(head)
            expected = []
            for column, cell in zip(table.columns, row, strict=True):
                expected.append(cell.value)
                if column.extra:
                    expected.append(cell.extra)
            for value, written in zip(expected, line, strict=True):
                if value is None:
                    assert written == ""
                elif isinstance(value, str):
                    # Formulas of spreadsheets begin with an apostrophe.
                    assert written.removeprefix("'") == " ".join(value.split()).removeprefix("'")
                else:
                    assert float(written) == value


def markdown_cells(line):
    return re.split(r"(?<!\\)\|", line.strip("\n"))[1:-1]


def test_markdown_rows_have_all_columns(tables):
    for table in tables:
        lines = [line for line in to_markdown(table).splitlines() if line.startswith("|")]
        assert len(lines) == len(table.rows) + len(table.foot) + 2
        # a backslash before a bar may be escaped, so escaped ones are removed first
        cells = [markdown_cells(line.replace(r"\\", "")) for line in lines]
        assert all(len(each) == len(table.columns) for each in cells)


def test_markdown_has_no_markup_of_names(sections_of):
    for table in tables_of(sections_of("hostile names")):
        text = re.sub(r"\\.", "", to_markdown(table))
        assert "<" not in text
        assert "[" not in text


def test_results_match_the_summary(summary):
    table = results_table(summary)
    if not summary["measured"]:
        assert table.rows == ()
        return
    compared = summary["comparison"].values()
    ranked = any(found["ranks"] and len(found["sets"]) > 1 for found in compared)
    few = ranked and any(found["few_sets"] for found in compared)
    assert [row[0].value for row in table.foot] == ["mean"] * few + ["average rank"] * ranked
    start = len(table.columns) - len(summary["criteria"]) * len(summary["algorithms"])
    places = [(c, a) for c in summary["criteria"] for a in summary["algorithms"]]
    for at, (criterion, algorithm) in enumerate(places, start=start):
        assert table.columns[at].title == algorithm
        assert table.columns[at].group == criterion["title"]
        found = summary["comparison"][criterion["criterion"]]
        if ranked:
            rank = table.foot[-1][at]
            assert rank.value == found["ranks"].get(algorithm)
            assert (rank.mark == "best") == (algorithm in found["best"] and not few)
        if few:
            assert table.foot[0][at].value == found["means"][algorithm]
            assert (table.foot[0][at].mark == "best") == (algorithm in found["best_mean"])
        for one, row in zip(summary["sets"], table.rows, strict=True):
            assert row[0].value == one["set"]
            entries = summary["measured"].get(criterion["criterion"], {}).get(one["set"], {})
            best = summary["best"][criterion["criterion"]].get(one["set"], [])
            assert row[at].value == entries.get(algorithm, {}).get("mean")
            assert (row[at].mark == "best") == (algorithm in best)


def test_the_best_is_bold_in_every_format(summary_of):
    table = next(spread_tables(summary_of("paper")))
    yeast = next(row for row in table.rows if row[0].value == "yeast")
    (best,) = [n for n, cell in enumerate(yeast) if cell.mark == "best"]
    mean = f"{yeast[best].value:.3f}"
    sd = f"{yeast[best].extra:.3f}"
    assert rf"\textbf{{{mean}}} {{\scriptsize $\pm$ {sd}}}" in to_latex(table)
    assert f"**{mean}** ± {sd}" in to_markdown(table)


@pytest.mark.parametrize(
    ("value", "style", "expected"),
    [
        (None, "number", "–"),
        (float("nan"), "p", "–"),
        (float("inf"), "number", "∞"),
        (-0.0001, "signed", "0.000"),
        (0.02, "signed", "+0.020"),
        (-1.5, "number", "−1.500"),
        (0.00099, "p", "<0.001"),
        (0.001, "p", "0.001"),
        (1234567, "count", "1,234,567"),
        ("LPW", "number", "LPW"),
    ],
)
def test_texts(value, style, expected):
    assert text_of(value, style) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, "0.00"), (12.345, "12.35"), (0.0123, "0.01"), (0.00999, "0.0100"), (0.00042, "0.00042"),
     (0.0000123, "0.000012")],
)  # fmt: skip
def test_short_times_have_more_digits(value, expected):
    assert text_of(value, "seconds", digits=2) == expected


def test_a_cell_can_have_another_style_than_its_column():
    column = Column("FCM", "signed", extra="p")
    assert cell_text(column, Cell(2.5, style="number")) == "2.500"
    assert extra_text(column, Cell(2.5, 0.0001)) == "p <0.001"
    assert extra_text(column, Cell(2.5, 0.25)) == "p = 0.250"


def test_no_cell_of_a_csv_table_is_a_formula():
    names = ["=1+1", "+A1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", "\r=1", "＝1", "--1"]
    numbers = ["-0.25", "+3", "-1e-9", "-inf"]
    plain = ["a=b", "A-B", "-", "", "A"]
    texts = [*names, *numbers, *plain]
    columns = (Column("=HYPERLINK(1)", "text"), Column("x", extra="-x y"), Column("=y"))
    rows = tuple((Cell(text), Cell(-0.5, -0.125), Cell(-1e-9)) for text in texts)
    head, *lines = csv.reader(io.StringIO(to_csv(Table("t", "", "", columns, rows))))
    assert head == ["'=HYPERLINK(1)", "x", "x -x y", "'=y"]
    assert [line[1:] for line in lines] == [["-0.5", "-0.125", "-1e-09"]] * len(texts)
    written = [line[0] for line in lines]
    assert all(text.startswith("'") for text in written[: len(names)])
    assert written[len(names) :] == [*numbers, *plain]
