"""Results from elsewhere: layouts of tables, errors, and `pairmend compare`."""

import json

import numpy as np
import pandas as pd
import pytest

from pairmend import stats
from pairmend.cli import main
from pairmend.report import compare_losses, summarise
from pairmend.report.losses_table import losses_record

WIDE = """data set;A;B;C
s1;0.31;0.30;0.25
s2;0.22;0.23;0.20
s3;0.41;0.40;0.33
s4;0.15;0.16;0.14
s5;0.50;0.44;0.42
s6;0.62;0.60;0.55
"""


@pytest.fixture
def wide(tmp_path):
    path = tmp_path / "losses.csv"
    path.write_text(WIDE)
    return path


def test_wide_tables(wide):
    frame = pd.read_csv(wide, sep=";")
    expected = stats.friedman(frame.set_index("data set"))
    for losses in (wide, frame, frame.set_index("data set")):
        record = losses_record(losses)
        assert record.definition["folds"] == record.definition["repeats"] == 1
        assert list(record.definition["algorithms"]) == ["A", "B", "C"]
        summary = summarise(record)
        assert summary.friedman.loc["loss", "p"] == pytest.approx(expected["p_value"])
        assert summary.verdicts["best"].tolist() == ["C"]
    assert summarise(losses_record(wide, True)).verdicts["best"].tolist() == ["A"]


def test_long_tables(tmp_path, rng):
    names = {"Dataset": [10, 11, 12], "Method": "AB", "metric": ["f1", "loss"], "fold": "ab"}
    index = pd.MultiIndex.from_product([[*each] for each in names.values()], names=names)
    frame = pd.DataFrame({"score": rng.rand(24)}, index).reset_index()
    path = tmp_path / "long.csv.gz"
    frame.to_csv(path, index=False)
    for losses in (path, frame):
        record = losses_record(losses, ["f1"])
        assert list(record.definition["sets"]) == ["10", "11", "12"]
        assert record.definition["folds"] == 2
        assert record.definition["criteria"] == {
            "f1": {"title": "f1", "greater_is_better": True},
            "loss": {"title": "loss", "greater_is_better": False},
        }
        summary = summarise(record)
        means = frame[frame.metric == "f1"].groupby("Method")["score"].mean()
        verdict = summary.verdicts.set_index("metric").loc["f1"]
        assert verdict["best"] == means.idxmax()
        assert verdict["mean"] == pytest.approx(means.max())
        assert len(summary.on_sets.loc["f1"]) == 3


def test_a_set_without_a_value_is_left_out(wide):
    wide.write_text(WIDE.replace("0.31", ""))
    summary = summarise(losses_record(wide))
    assert list(summary.losses["loss"].means.index) == ["s2", "s3", "s4", "s5", "s6"]
    assert any("results are missing: s1" in note for note in summary.notes)


@pytest.mark.parametrize(("text", "message"), [
    ("a,b,c\n1,2,1\n3,4,1\n", "found the columns a, b, c, with cells that are no numbers or"),
    ("set,A,B\nx,0.1,low\ny,0.2,high\n", "with cells that are no numbers"),
    ("set,A\nx,0.1\ny,0.2\n", "needs values of at least two algorithms, found ['A']"),
    ("set,A,B\nx,0.1,0.2\nx,0.2,0.3\n", "2 values occur twice. Values of folds need a"),
    ("set,algorithm,value\nx,A,\nx,B,\n", "at least two algorithms, found []"),
    ("set,algorithm,value\nx,A,1\n,B,2\n", "rows have no ['set']; fill"),
    ("set,dataset,algorithm,value\nx,x,A,1\n", "several columns mean ['set']; keep one"),
    ("", "cannot be read as a table"),
])  # fmt: skip
def test_other_tables_are_refused(tmp_path, text, message):
    path = tmp_path / "losses.csv"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        losses_record(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_names_stay_texts(tmp_path):
    path = tmp_path / "losses.csv"
    text = "set,algorithm,value\n01,NA,0.1\n01,None,0.2\n1,NA,0.2\n1,None,0.1\n"
    path.write_text(text, encoding="utf-8-sig")  # as spreadsheets write it
    record = losses_record(path)
    assert list(record.definition["sets"]) == ["01", "1"]
    assert list(record.definition["algorithms"]) == ["NA", "None"]
    # Sets of a wide table can have numbers as names.
    losses = pd.DataFrame({"task": [31, 1464, 40996], "A": [0.3, 0.2, 0.1], "B": [0.2, 0.1, 0.3]})
    named, by_task = losses.rename(columns={"task": "dataset"}), losses.set_index("task")
    named.to_csv(path, index=False)
    for each in (named, by_task, by_task.rename_axis(None), path):
        record = losses_record(each)
        assert list(record.definition["sets"]) == ["31", "1464", "40996"]
        assert list(record.definition["algorithms"]) == ["A", "B"]
    losses.to_csv(path, index=False)
    for each in (losses, path):
        with pytest.raises(ValueError, match="if these are numbers, call their column set"):
            losses_record(each)


def test_unknown_metrics_and_controls_are_refused(wide, tmp_path):
    with pytest.raises(ValueError, match="there is no metric 'f1'; found 'loss'"):
        losses_record(wide, ["f1"])
    with pytest.raises(ValueError, match="no algorithm 'D'; there are A, B, C"):
        compare_losses(wide, tmp_path / "out", control="D")
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        compare_losses(wide, tmp_path / "out", alpha=5)
    assert not (tmp_path / "out").exists()


def test_the_command_writes_tables_figures_and_json(wide, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["compare", str(wide), "--out", str(out), "--alpha", "0.2", "--control", "C"]
    assert main([*words, "--json", str(tmp_path / "c.json")]) == 0
    printed = capsys.readouterr().out
    assert "C has the best average rank in loss." in printed
    found = json.loads((tmp_path / "c.json").read_text(), parse_constant=pytest.fail)
    assert found["report"] == str(out / "report.html")
    assert (found["alpha"], found["verdicts"][0]["best"]) == (0.2, "C")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Times" not in page
    assert "3 algorithms, 6 sets, 1 metric, 1 fold; level of significance 0.2." in page
    pairs = pd.read_csv(out / "tables" / "pairs.csv", index_col=["first", "second"])
    frame = pd.read_csv(wide, sep=";", index_col=0)
    expected = stats.wilcoxon(frame, adjust="holm", control="C")
    assert list(pairs.index) == list(expected.index)
    np.testing.assert_allclose(pairs["adjusted p"], expected["adjusted_p_value"])
    np.testing.assert_allclose(pairs["effect"], expected["rank_biserial"])
    figures = {path.name for path in (out / "figures").iterdir()}
    assert {"over-sets-loss.svg", "triangle-loss.pdf", "folds-loss.svg"} <= figures
    assert main(["compare", str(wide), "--greater-is-better", "f1"]) == 2
    assert "there is no metric 'f1'" in capsys.readouterr().err


@pytest.mark.parametrize(("metric", "column", "is_score"), [
    ("loss", "score", True), ("accuracy", "value", True), ("macro F1", "value", True),
    *((name, "value", False) for name in ("macro_f1", "1 - macro F1", "1-accuracy", "loss")),
])  # fmt: skip
def test_scores_are_not_taken_for_losses(metric, column, is_score):
    rows = pd.DataFrame({"set": 1, "method": ["a", "b"], "metric": metric, column: [0.9, 0.5]})
    if is_score:
        with pytest.raises(ValueError, match="seems to be a score, of which greater values are be"):
            losses_record(rows)
    record = losses_record(rows, *[True][:is_score])
    assert record.definition["criteria"][metric]["greater_is_better"] == is_score
