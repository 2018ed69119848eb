"""Files as people have them: each is read as meant, or refused with a message that names a cure."""

import gzip
import io
import json
import re
import warnings
import zipfile
from datetime import date, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from pairmend.cli import main
from pairmend.datasets import ReadLimitError, ReadLimits, ReadWarning, load_file

SEA, SUN = [1, 0, 1, 0], [0, 1, 1, 0]
SIZE = [0.5, 1.25, 2.0, 3.5]
PLAIN = "size,sea,sun\n0.5,1,0\n1.25,0,1\n2.0,1,1\n3.5,0,0\n"


def raw(name, content, **expected):
    """Return a file, how it is read, and what is expected of it."""
    defaults = {"labels": 2, "options": {}, "X": SIZE, "features": ("size",), "categories": {},
                "label_names": ("sea", "sun"), "note": None, "error": None}  # fmt: skip
    return SimpleNamespace(name=name, content=content, **{**defaults, **expected})


def text(name, content, encoding="utf-8", **expected):
    return raw(name, content.encode(encoding), **expected)


def sizes(name, *cells, delimiter=",", options=None, **expected):
    """Return a file with other sizes."""
    rows = zip(cells, SEA, SUN, strict=True)
    lines = ["size,sea,sun".replace(",", delimiter), *(delimiter.join(map(str, r)) for r in rows)]
    return text(name, "\n".join([*lines, ""]), options=options or {}, **expected)


def labels(name, present, absent, **expected):
    """Return a file with texts for labels that are present and absent."""
    both = ([present if each else absent for each in column] for column in (SEA, SUN))
    rows = zip(SIZE, *both, strict=True)
    return text(name, "size,sea,sun\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows), **expected)


def tags(name, cells, separator=None, **expected):
    rows = "".join(f'{size},"{cell}"\n' for size, cell in zip(SIZE, cells, strict=True))
    options = {"tags": "genres", "separator": separator}
    return text(name, "size,genres\n" + rows, labels=(), options=options, **expected)


def workbook(rows, **sheets):
    openpyxl = pytest.importorskip("openpyxl", reason="writes workbooks")
    book = openpyxl.Workbook()
    for name, cells in {"photos": rows, **sheets}.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    del book["Sheet"]
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


EMPTY_CELLS = "empty cells of the label 'sea' are read as 0"
UNCUT = ["sea", "sun", "sea;sun", ""]
LARGE = PLAIN.replace("size", "größe")
CZECH = PLAIN.replace("size", "ťava")
BODY = PLAIN.split("\n", 1)[1]
NAN = np.nan
HUE = {"features": ("size", "hue"), "X": [[0.5, 1], [1.25, 0], [2, 1], [3.5, 0]]}

CASES = [
    # delimiters
    text("commas.csv", PLAIN),
    text("semicolons.csv", PLAIN.replace(",", ";")),
    text("tabs.tsv", PLAIN.replace(",", "\t")),
    text("pipes.csv", PLAIN.replace(",", "|")),
    text("stated.csv", "sep=;\n" + PLAIN.replace(",", ";"), error=r"last 2 of 2 .*--header-row"),
    text("two_delimiters.csv", "size;hue,sea\n0.5;a,1\n", error="several .*: --delimiter"),
    text("spaces.txt", PLAIN.replace(",", " "), error="last 2 of 1 column .*--delimiter"),
    text("spaces_given.txt", PLAIN.replace(",", " "), options={"delimiter": " "}),
    text(
        "commas_in_tabs.tsv",
        "size\thue\tsea\tsun\n0.5\tred, dark\t1\t0\n1.25\tblue\t0\t1\n2\tred, dark\t1\t1\n"
        "3.5\tblue\t0\t0\n",
        categories={1: ("blue", "red, dark")},
        **HUE,
    ),
    # line ends, empty lines, compression
    text("windows_lines.csv", PLAIN.replace("\n", "\r\n")),
    text("empty_lines.csv", "\n\n" + PLAIN.replace("\n", "\n\n") + ",,\n", note="left out 1 row"),
    text("spaces_around.csv", PLAIN.replace(",", " , ")),
    raw("packed.csv.gz", gzip.compress(PLAIN.encode())),
    raw("packed.csv", gzip.compress(PLAIN.encode()), error="does its suffix fit its content"),
    raw("damaged.csv.gz", gzip.compress(PLAIN.encode())[:20], error="compressed file is broken"),
    text("spaces_before_quotes.csv", PLAIN.replace("0.5,1", '0.5, "1"')),
    text(
        "lines_in_cells.csv",
        'size,hue,sea,sun\n0.5,c,1,0\n1.25,"a\nb",0,1\n2,c,1,1\n3.5,"a\nb",0,0\n',
        categories={1: ("a\nb", "c")},
        **HUE,
    ),
    text("empty_column.csv", re.sub(r"[0-3]\.[0-9]+", "", PLAIN), X=[NAN] * 4),
    # encodings
    text("mark.csv", LARGE, "utf-8-sig", features=("größe",)),
    text("latin.csv", LARGE, "latin-1", features=("größe",), note="not in UTF-8, read as cp1252"),
    text("utf_16.csv", LARGE, "utf-16", features=("größe",)),
    text("utf_16_le.csv", PLAIN, "utf-16-le", error="--encoding NAME, .* such as utf_16_le"),
    text("czech.csv", CZECH, "cp1250", error="not a text in utf-8.*give its encoding: --encoding"),
    text("czech_given.csv", CZECH, "cp1250", options={"encoding": "cp1250"}, features=("ťava",)),
    raw("zeros.csv", b"a,b\n1,\0\0\0\n", error="not a text in utf-8"),
    # header
    text("no_header.csv", BODY, error=r"first line \(0.5, 1, 0\) may hold .*: --header-row"),
    text(
        "no_header_given.csv",
        BODY,
        options={"header_row": 0},
        features=("column_1",),
        label_names=("column_2", "column_3"),
    ),
    text("title.csv", "Photos of 2024\n\n" + PLAIN, error=r"last 2 of 1 column .*--header-row"),
    text("title_given.csv", "Photos of 2024\n\n" + PLAIN, options={"header_row": 3}),
    text("same_names.csv", PLAIN.replace("sea", "sun", 1), error="named 'sun'.*--header-row"),
    text(
        "index.csv",
        ",size,sea,sun\n7,0.5,1,0\n8,1.25,0,1\n9,2.0,1,1\n10,3.5,0,0\n",
        features=("column_1", "size"),
        X=np.column_stack([[7, 8, 9, 10], SIZE]).tolist(),
    ),
    text("trailing_commas.csv", PLAIN.replace("\n", ",\n"), labels=["sea", "sun"]),
    text("row_names.csv", "size,sea\n1,0.5,1\n", labels=1, error="3 cells where the header has 2"),
    text("first_row_of_texts.csv", "red,1\nblue,0\nred,1\nblue,1\n", error="may hold names"),
    # label spellings
    labels("true_false.csv", "True", "False"),
    labels("signs.csv", "+", "-"),
    labels("check_marks.csv", "✓", "✗"),
    labels("one_two.csv", "1", "2", error="is '2' in row 1. Write 0 and 1, yes and no"),
    labels("x_empty.csv", "x", "", note=EMPTY_CELLS),
    labels("unknown.csv", "1", "NA", error="is .NA. in row 1. Write 0 and 1"),
    text("some_missing.csv", PLAIN.replace("1.25,0", "1.25,"), error="'sea' .* missing in row 1"),
    text("no_values.csv", "size,sea,sun\n0.5,,0\n1.25,,1\n", error="'sea' .*missing in row 0"),
    text("unknown_label.csv", PLAIN, labels=["fog"], error="no columns named 'fog'; it has 'size'"),
    # tags
    tags("tags.csv", UNCUT),
    tags("tags_pipes.csv", [c.replace(";", "|") for c in UNCUT]),
    tags("tags_commas.csv", [c.replace(";", ", ") for c in UNCUT]),
    tags("tags_given.csv", [c.replace(";", " & ") for c in UNCUT], separator="&"),
    tags("tags_lists.csv", ["['sea']", "['sun']", "['sea', 'sun']", "[]"]),
    tags("tags_lines.csv", [c.replace(";", "\n") for c in UNCUT]),
    tags("tags_none.csv", ["", "", "", ""], separator=";", error="column 'genres' has no tags"),
    tags("tags_two_ways.csv", ["sea;sun", "sea,sun", "", ""], error="separated by .*--separator"),
    text("as_label.csv", "size,genres\n1,a;b\n2,b\n", labels=1, error="each row by --tags genres"),
    # numbers
    sizes("decimal_commas.csv", '"0,5"', '"1,25"', '"2"', '"3,5"'),
    sizes("decimal_semicolons.csv", "0,5", "1,25", "2,0", "3,5", delimiter=";"),
    sizes(
        "decimal_given.csv", "1,000", "2,500", "3,125", "4,000",
        delimiter=";", options={"decimal": ","}, X=[1, 2.5, 3.125, 4],
    ),
    sizes(
        "thousands.csv", '"1,000.5"', '"2,000"', '"3,000,000"', "1", X=[1000.5, 2000, 3000000, 1]
    ),
    sizes(
        "thousands_points.csv", "1.000,5", "2.000,0", "3.000.000", "1",
        delimiter=";", error="'size', such as '1.000,5', '2.000,0', are .*--decimal .*--thousands",
    ),
    sizes(
        "thousands_points_given.csv", "1.000,5", "2.000,0", "3.000.000", "1",
        delimiter=";", options={"decimal": ",", "thousands": "."}, X=[1000.5, 2000, 3000000, 1],
    ),
    sizes(
        "thousands_spaces_given.csv", "1 000.5", "2 000", "3\u00a0000", "1",
        options={"thousands": " "}, X=[1000.5, 2000, 3000, 1],
    ),
    sizes("ambiguous.csv", '"1,000"', '"2,500"', '"3,125"', '"4,000"', error="'2,500', are ambig"),
    sizes("points.csv", "2.581", "955", "1.000", "20", X=[2.581, 955, 1, 20]),
    sizes("other_given.csv", *SIZE, options={"decimal": ","}, error="'0.5', '2.0', .*their signs"),
    sizes("missing_values.csv", "0.5", "NA", "?", "", X=[0.5, NAN, NAN, NAN]),
    sizes("missing_texts.csv", "0.5", "-", "n/a", "12", X=[0.5, NAN, NAN, 12]),
    sizes("text.csv", 1, "4o", "3.50", "", categories={0: ("1", "3.50", "4o")}, X=[0, 2, 1, NAN]),
    sizes("dates.csv", "2024-05-17", "2024-05-18", "May", "2024-05-17",
          categories={0: ("2024-05-17", "2024-05-18", "May")}, X=[0, 1, 2, 0]),
    sizes("two_ways.csv", "1,5", "2.5", 3, 4, delimiter=";", error="'1,5', '3', are ambiguous or"),
    sizes("flags.csv", "True", "False", "", "True", categories={0: ("False", "True")},
          X=[1, 0, NAN, 1]),
    sizes("codes_late.csv", "501", "20099", "1.5", "00501",
          categories={0: ("00501", "1.5", "20099", "501")}, X=[3, 2, 1, 0]),
    # broken
    text("empty.csv", "", error="empty; expected a header"),
    text("header_only.csv", "size,sea,sun\n", error="no rows after the header; add rows"),
    text("short_row.csv", PLAIN + "1,0\n", error="line 6: 2 cells where the header has 3; fill"),
    text("long_row.csv", PLAIN + "1,0,1,1\n", error="line 6: 4 cells where the header has 3"),
    text("open_quote.csv", PLAIN + '"1,0,1\n2,0,1\n', error="line 7: .*close each quote"),
    text("quote_inside.csv", PLAIN + '"1" x,0,1\n', error="line 6: .*inside quoted cells twice"),
    raw("a_workbook.csv", b"PK\x03\x04rest", error="last 2 of 1 column"),
    raw("old.xls", b"\xd0\xcf\x11\xe0rest", error="cannot read .xls; expected .csv.*export"),
    raw("not_a_workbook.xlsx", PLAIN.encode(), error="cannot read the Excel workbook"),
    text("set.arff", "@relation a", options={"delimiter": ";"}, error="takes no delimiter; leave"),
]  # fmt: skip


def check(path, case):
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        if case.error is not None:
            with pytest.raises(ValueError, match=case.error) as caught:
                load_file(path, case.labels, **case.options)
            assert str(path) in str(caught.value)
            return
        data = load_file(path, case.labels, **case.options)
    assert data.feature_names == case.features
    assert data.label_names == case.label_names
    assert data.categories == case.categories
    np.testing.assert_array_equal(data.X, np.reshape(case.X, (4, -1)))
    np.testing.assert_array_equal(data.Y, np.column_stack([SEA, SUN]))
    notes = [str(each.message) for each in recorded]
    assert all(issubclass(each.category, ReadWarning) for each in recorded)
    if case.note is None:
        assert notes == []
    else:
        assert any(re.search(case.note, note) for note in notes)


def written(folder, case):
    path = folder / case.name
    path.write_bytes(case.content)
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_awkward_file(tmp_path, case):
    check(written(tmp_path, case), case)


WITH_OPTIONS = [case for case in CASES if case.options and case.error is None]


@pytest.mark.parametrize("case", WITH_OPTIONS, ids=lambda case: case.name)
def test_options_of_the_command_line(tmp_path, case, capsys):
    words = ["datasets", "describe", written(tmp_path, case), "--json", "-"]
    words += ["--labels", case.labels] if case.labels else []
    for option, value in case.options.items():
        words += [] if value is None else [f"--{option.replace('_', '-')}", *np.ravel(value)]
    assert main(list(map(str, words))) == 0
    found = json.loads(capsys.readouterr().out)["labels"]
    assert {each["label"] for each in found} == set(case.label_names)


@pytest.mark.parametrize("present", [True, "yes", 1])
def test_workbook(tmp_path, present):
    absent = {"yes": "no"}.get(present, type(present)(0))
    day, noon = date(2024, 5, 17), datetime(2024, 5, 18, 12)
    columns = {
        "number": [0.1, 2, None, 3], "gaps": [1, "n/a", "-", 2], "comma": ["1,5", "2,25", None, 3],
        "text": [1, "4o", 2, None], "code": ["00501", 7, "20099", 7],
        "flag": [True, False, None, True], "day": [day, noon, None, day],
        "sea": [present if each else absent for each in SEA],
        "sun": [present if each else absent for each in SUN],
    }  # fmt: skip
    rows = [list(columns), *zip(*columns.values(), strict=True), [None] * len(columns)]
    path = tmp_path / "photos.xlsx"
    path.write_bytes(workbook(rows))
    data = load_file(path, 2)
    assert data.feature_names == tuple(columns)[:-2]
    assert data.categories == {
        3: ("1", "2", "4o"), 4: ("00501", "20099", "7"), 5: ("False", "True"),
        6: ("2024-05-17", "2024-05-18 12:00:00"),
    }  # fmt: skip
    numbers = [[0.1, 1, 1.5], [2, NAN, 2.25], [NAN, NAN, NAN], [3, 2, 3]]
    np.testing.assert_array_equal(data.X[:, :3], numbers)
    np.testing.assert_array_equal(data.X[:, 6], [0, 1, NAN, 0])
    np.testing.assert_array_equal(data.Y, np.column_stack([SEA, SUN]))


def test_workbook_with_several_sheets_and_bad_rows(tmp_path):
    path = tmp_path / "photos.xlsx"
    path.write_bytes(workbook([["a", "b"], [1, 0]], other=[["c", "d"], [2, 1], [3, 0, 7]], none=[]))
    with pytest.raises(ValueError, match="one of its sheets, 'photos', 'other', 'none': --sheet"):
        load_file(path, 1)
    assert load_file(path, 1, sheet="photos").feature_names == ("a",)
    with pytest.raises(ValueError, match="one of its sheets, 'photos'"):
        load_file(path, 1, sheet="third")
    data = load_file(path, ["d"], sheet="other")
    np.testing.assert_array_equal(data.X, [[2, np.nan], [3, 7]])
    data = load_file(path, ["1"], sheet="other", header_row=2)
    assert data.feature_names == ("2", "column_3")
    path.write_bytes(workbook([]))
    with pytest.raises(ValueError, match="empty; expected a header"):
        load_file(path, ())


@pytest.mark.parametrize("place", ["XFD1048576", "A9999999", "a1", "A1B", "ZZZZ1"])
def test_a_cell_far_below_is_refused_before_its_table_is_allocated(tmp_path, place):
    """calamine allocates all cells up to the last one, and ends the process if it cannot."""
    path = tmp_path / "photos.xlsx"
    path.write_bytes(workbook([["a", "b"], [1, 0]]))
    far = tmp_path / "far.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(far, "w") as target:
        for member in source.namelist():
            content = source.read(member).replace(b'r="B2"', f"r = '{place}'".encode())
            target.writestr(member, content)
    with pytest.raises(ValueError, match="more than .* cells|has a cell at|rows after the header"):
        load_file(far, (), limits=ReadLimits(max_cells=2**20))


def test_workbooks_are_bounded(tmp_path):
    path = tmp_path / "photos.xlsx"
    path.write_bytes(workbook([["a", "b"], *([1, 0] for _ in range(300))]))
    with pytest.raises(ReadLimitError, match="more than 1000 bytes when unpacked"):
        load_file(path, (), limits=ReadLimits(max_bytes=1000))
    with pytest.raises(ReadLimitError, match="more than 300 cells"):
        load_file(path, (), limits=ReadLimits(max_cells=300))
    # Entities are not expanded.
    bomb = tmp_path / "bomb.xlsx"
    entity = '<!DOCTYPE a [<!ENTITY b "x"><!ENTITY c "&b;&b;&b;&b;">]>'
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(bomb, "w") as target:
        for member in source.namelist():
            content = source.read(member).decode()
            if member.startswith("xl/worksheets/sheet"):
                content = entity + content.replace("<v>1</v>", "<v>&c;</v>")
            target.writestr(member, content)
    try:
        assert "xxxx" not in str(load_file(bomb, ()).categories)
    except ValueError as error:
        assert "bomb.xlsx" in str(error)  # noqa: PT017
