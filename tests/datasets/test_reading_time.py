"""Every reader takes time in proportion to its input, whatever the input is.

Each input is one that made a pattern or a loop take quadratic time, or could. The sizes are such
that quadratic time takes minutes, so the bound on the seconds does not depend on the machine.
"""

import time

import pytest

from pairmend.datasets import load_file

N = 400_000
"""Characters. Quadratic time was 65 s at 40,000, so it would be more than an hour."""
BOUND = 20
HEAD = "@relation r\n@attribute a numeric\n@attribute b {x,y}\n@data\n"
MANY_VALUES = "@attribute a {" + ",".join(map(str, range(N // 6))) + "}\n"

ARFF = {
    "digits of an index": HEAD + "{" + "9" * N + " 1}\n",
    "a long number": HEAD + "9" * N + ",x\n",
    "decimals": HEAD + "." + "9" * N + "x,x\n",
    "spaces in a cell": HEAD + "1" + " " * N + "x,x\n",
    "spaces before a weight": HEAD + "{0 1}," + " " * N + "{" + " " * N + "2}" + " " * N + "x\n",
    "type and spaces": f"@relation r\n@attribute a numeric{' ' * N}x\n@data\n1\n",
    "type and pairs of braces": f"@relation r\n@attribute a numeric {'{}' * N}x\n@data\n1\n",
    "type and spaces in braces": f"@relation r\n@attribute a numeric {'{ ' * N}}}x\n@data\n1\n",
    "attribute and spaces": f"@relation r\n@attribute{' ' * N}{{\n@data\n1\n",
    "an open quote in the header": f"@relation r\n@attribute 'a{'b' * N} numeric\n@data\n1\n",
    "quotes in the header": "@relation r\n@attribute a {" + "'" * (2 * N + 1) + "}\n@data\n1\n",
    "escapes in the header": "@relation r\n@attribute '" + "\\" * (2 * N + 1) + "\n@data\n1\n",
    "percent signs in quotes": "@relation '" + "%" * N + "\n@attribute a numeric\n@data\n1\n",
    "an open quote in a row": HEAD + "1,'" + "x" * N + "\n",
    "open quotes in rows": HEAD + "1,'x\n" * (N // 5),
    "escapes in a row": HEAD + "1,'" + "\\" * (2 * N + 1) + "\n",
    "quoted cells": HEAD + "'x'," * (N // 4) + "\n",
    "commas": HEAD + "," * N + "\n",
    "commas in a sparse row": HEAD + "{" + "0 1," * (N // 4) + "}\n",
    "values in the header": "@relation r\n" + MANY_VALUES + "@data\n1\n",
    "columns with the same values": "@relation r\n"
    + "".join(f"@attribute a{i} {{0,9999}}\n" for i in range(N // 26))
    + "@data\n{}\n",
    "columns with large values": "@relation r\n"
    + "".join(f"@attribute a{i} {{{i % 5000},9999}}\n" for i in range(N // 26))
    + "@data\n{}\n",
    "options of Meka": f"@relation '{'-C ' * N}'\n@attribute a numeric\n@data\n1\n",
    "digits of an option of Meka": f"@relation '-C {'9' * N}'\n@attribute a numeric\n@data\n1\n",
}  # fmt: skip


def check(path, *arguments):
    """Read a file, or raise a short error that names it, in bounded time."""
    started = time.process_time()
    try:
        load_file(path, *arguments)
    except ValueError as error:
        assert str(path.parent) in str(error)  # noqa: PT017
        assert len(str(error)) < 2000  # noqa: PT017
    assert time.process_time() - started < BOUND


@pytest.mark.parametrize("name", ARFF)
def test_arff(tmp_path, name):
    path = tmp_path / "file.arff"
    path.write_text(ARFF[name])
    check(path, *([] if "Meka" in name else [()]))


@pytest.mark.parametrize(
    "text",
    [
        "a,y\n" + "9" * 100_000 + "x,1\n",
        "a,y\n" + '"' * N + "\n",
        "a,y\n" + '"x\n' * (N // 3),
        "a,y\n" + ("1" * 1000 + ",1\n") * (N // 1000) + "x,0\n",
        "".join(f"a{i}," for i in range(4000)) + "y\n"  # each row finds another column of texts
        + "".join("0," * i + "x," + "0," * (3999 - i) + "1\n" for i in range(0, 4000, 40)),
        "a;y\n" + "1,0;1\n" * (N // 6) + "x;1\n",
    ],
)  # fmt: skip
def test_csv(tmp_path, text):
    path = tmp_path / "file.csv"
    path.write_text(text)
    check(path, ["y"])


def test_xml(tmp_path):
    arff, path = tmp_path / "file.arff", tmp_path / "labels.xml"
    arff.write_text(HEAD + "1,x\n")
    for text in (
        "<labels>" + "".join(f'<label name="a{i}"/>' for i in range(N // 20)) + "</labels>",
        "<" * N,
        "<labels>" + "&" * N,
        "<labels>" + "<!--" * N,
        "<labels " + "a" * N,
        "<labels " + "".join(f"a{i}='' " for i in range(N // 10)) + "/>",
    ):
        path.write_text(text)
        check(arff, path)
