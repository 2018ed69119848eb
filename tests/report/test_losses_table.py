"""Results from elsewhere: layouts of tables, errors, and `pairmend compare`."""

import gzip
import io
import json
import re

import numpy as np
import pandas as pd
import pytest

from pairmend.cli import main
from pairmend.datasets import ReadLimits
from pairmend.report import compare_losses, summarise
from pairmend.report.figures import triangles
from pairmend.report.losses_table import losses_record
from pairmend.report.probabilities import EQUIVALENT, FIRST, SECOND, between
from pairmend.stats import friedman

WIDE = """data set;A;B;C
s1;0,31;0,30;0,25
s2;0,22;0,23;0,20
s3;0,41;0,40;0,33
s4;0,15;0,16;0,14
s5;0,50;0,44;0,42
"""


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text(WIDE)
    return path


def long_rows(**columns):
    rng = np.random.default_rng(0)
    rows = [
        {"Dataset": 10 + s, "Method": m, "metric": c, "fold": f, "score": rng.random()}
        for s in range(3) for m in ("A", "B") for c in ("f1", "loss") for f in ("a", "b")
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**columns)


def test_wide_tables(wide):
    frame = pd.read_csv(wide, sep=";", decimal=",")
    for losses in (wide, frame, frame.set_index("data set")):
        record = losses_record(losses)
        assert record.definition["folds"] == record.definition["repeats"] == 1
        assert list(record.definition["algorithms"]) == ["A", "B", "C"]
        assert list(record.definition["criteria"]) == ["loss"]
        found = summarise(record)["comparison"]["loss"]
        expected = friedman(frame.set_index("data set"))
        assert found["friedman"]["p"] == pytest.approx(expected.p_value)
        assert found["best"] == ["C"]
    assert summarise(losses_record(wide, True))["comparison"]["loss"]["best"] == ["A"]


def test_long_tables(tmp_path):
    frame = long_rows()
    path = tmp_path / "long.csv.gz"
    with gzip.open(path, "wt") as file:
        frame.to_csv(file, index=False)
    for losses in (path, frame):
        record = losses_record(losses, ["f1"])
        assert list(record.definition["sets"]) == ["10", "11", "12"]
        assert record.definition["folds"] == 2
        assert record.definition["criteria"] == {
            "f1": {"title": "f1", "greater_is_better": True},
            "loss": {"title": "loss", "greater_is_better": False},
        }
        found = summarise(record)
        means = frame[frame.metric == "f1"].groupby("Method")["score"].mean()
        assert found["comparison"]["f1"]["means"] == pytest.approx(means.to_dict())
        assert found["comparison"]["f1"]["best_mean"] == [means.idxmax()]
        assert len(found["comparison"]["f1"]["probabilities"]["on_sets"]) == 3


def test_a_set_without_a_value_is_left_out(wide):
    wide.write_text(WIDE.replace("0,31", "?"))
    found = summarise(losses_record(wide))
    assert found["comparison"]["loss"]["sets"] == ["s2", "s3", "s4", "s5"]
    assert found["left_out"] == {"loss": ["s1"]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b\n1,2\n3,4\n",
            "found the columns a, b; a has numbers: if they are names of sets, rename the column "
            "to set; expected a long table with the columns set",
        ),
        ("set,A,B\nx,0.1,low\ny,0.2,high\n", "no numbers are in B; expected a long table"),
        ("set,A\nx,0.1\ny,0.2\n", "needs at least two algorithms, found ['A']"),
        ("set,A,B\nx,0.1,0.2\nx,0.2,0.3\n", "2 values occur twice, the first for set x"),
        ("set,algorithm,value\nx,A,?\nx,B,?\n", "there is no value; expected a long"),
        ("set,algorithm,value\nx,A,low\nx,B,high\n", "has cells that are no numbers; expected"),
        ("set,algorithm,value\nx,A,1\n,B,2\n", "1 row has no set; fill"),
        ("set,dataset,algorithm,value\nx,x,A,1\n", "set and dataset both mean 'set'; keep one"),
        (
            "set,algorithm,value\nx,A,1\nx,B,2\nx,A,1\n",
            "1 value occurs twice, the first for set x, algorithm A. Values of folds need",
        ),
    ],
)
def test_other_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "losses.csv"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        losses_record(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_sets_of_a_wide_table_can_have_numbers_as_names(tmp_path):
    losses = pd.DataFrame({"task": [31, 1464, 40996], "A": [0.3, 0.2, 0.1], "B": [0.2, 0.1, 0.3]})
    named = losses.rename(columns={"task": "dataset"})
    unnamed = losses.set_index("task").rename_axis(None)
    path = tmp_path / "losses.csv"
    named.to_csv(path, index=False)
    for each in (named, losses.set_index("task"), unnamed, path):
        record = losses_record(each)
        assert list(record.definition["sets"]) == ["31", "1464", "40996"]
        assert list(record.definition["algorithms"]) == ["A", "B"]
    losses.to_csv(path, index=False)
    for each in (losses, path):
        with pytest.raises(ValueError, match="task has numbers: if they are names of sets, rename"):
            losses_record(each)


def test_unknown_metrics_and_long_files_are_refused(wide, tmp_path):
    with pytest.raises(ValueError, match="there is no metric 'f1'; found 'loss'"):
        losses_record(wide, ["f1"])
    with pytest.raises(ValueError, match="more than 50 bytes when unpacked"):
        losses_record(wide, limits=ReadLimits(max_bytes=50))
    with pytest.raises(ValueError, match="more than 50 bytes when unpacked"):
        compare_losses(wide, tmp_path / "out", limits=ReadLimits(max_bytes=50))
    assert not (tmp_path / "out").exists()


def test_the_triangle_has_the_probabilities_of_the_test():
    losses = pd.DataFrame(
        np.random.default_rng(0).random((11, 2)), [*"abcdefghijk"], columns=[*"AB"]
    )
    summary = summarise(losses_record(losses))
    found = summary["comparison"]["loss"]["probabilities"]
    three = between(found["over_sets"], *found["ordered"][:2])
    (triangle,) = triangles(summary)
    shares = [text.get_text().split()[-1] for text in triangle.drawing.texts]
    assert shares == [f"{three[key]:.2f}" for key in (FIRST, EQUIVALENT, SECOND)]


def test_the_command_writes_tables_and_figures(wide, tmp_path, capsys):
    assert main(["compare", str(wide), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"{wide}: 15 values, 5 sets, 3 algorithms, 1 metric"
    assert printed[1].startswith("loss: C (1.00) ranks best; ")  # once
    assert printed[2:] == [f"report: {tmp_path / 'out' / 'report.html'}"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Time and memory" not in page
    assert "One value for each set and algorithm" in page
    assert "3 algorithms on 5 sets, by 1 metric." in page
    assert "Average ranks by metric; better on the left." in page
    assert "folds" not in re.sub(r"<(style|script)>.*?</\1>|<[^>]*>", "", page, flags=re.DOTALL)
    figures = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert {"ranks-loss.svg", "ranks-loss.pdf", "triangle-loss.pdf", "radar.svg"} <= figures
    assert (tmp_path / "out" / "tables" / "wilcoxon-loss.tex").is_file()
    assert main(["compare", str(wide), "--greater-is-better", "f1"]) == 2
    assert "there is no metric 'f1'" in capsys.readouterr().err


def test_the_command_reads_standard_input_and_writes_json(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("pairmend.report.writing.figure_files", lambda figures: {})
    out = str(tmp_path / "out")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WIDE.encode())))
    assert main(["compare", "-", "--out", out, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["report"] == str(tmp_path / "out" / "report.html")
    assert found["comparison"]["loss"]["best"] == ["C"]
    assert "C (1.00) ranks best" in found["finding"]["points"][0]["text"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"set,A\nx,1\n")))
    assert main(["compare", "-", "--out", out]) == 2
    assert "pairmend: standard input: a comparison needs" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(WIDE.encode())))
    assert main(["compare", "-", "--out", out, "--quiet"]) == 0
    printed, notes = capsys.readouterr()
    assert (printed.count("\n"), notes) == (1, "")


@pytest.mark.parametrize(
    "frame",
    [
        {"set": [1, 1], "method": ["a", "b"], "score": [0.9, 0.5]},
        {"set": [1, 1], "method": ["a", "b"], "metric": ["accuracy"] * 2, "value": [0.9, 0.5]},
        {"set": [1, 1], "method": ["a", "b"], "metric": ["macro F1"] * 2, "value": [0.9, 0.5]},
    ],
)
def test_scores_are_not_taken_for_losses(frame):
    rows = pd.DataFrame(frame)
    with pytest.raises(ValueError, match="seems to be a score, of which greater values are better"):
        losses_record(rows)
    record = losses_record(rows, True)
    assert all(each["greater_is_better"] for each in record.definition["criteria"].values())


@pytest.mark.parametrize("name", ["macro_f1", "1 - macro F1", "hamming", "1-accuracy", "loss"])
def test_names_of_losses_are_accepted(name):
    rows = pd.DataFrame({"set": [1, 1], "method": ["a", "b"], "metric": name, "value": [0.9, 0.5]})
    record = losses_record(rows)
    assert not any(each["greater_is_better"] for each in record.definition["criteria"].values())
