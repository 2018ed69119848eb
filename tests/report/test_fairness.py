"""Limits of the statements in a report: few sets, missing results, generated sets."""

import importlib
from dataclasses import replace
from itertools import combinations
from statistics import fmean

import numpy as np
import pandas as pd
import pytest

from pairmend import published, stats
from pairmend.report import summarise
from pairmend.report.algorithms import about
from pairmend.report.comparison import ALPHA, CONFIDENCE, compare, least_adjusted_p
from pairmend.report.contents import contents, tables_of
from pairmend.report.costs import readable_time
from pairmend.report.run_tables import algorithms_table, costs_table
from pairmend.report.tables import (
    characteristics_table,
    pairs_table,
    results_table,
    wilcoxon_tables,
)


def without(record, algorithm, status="failed"):
    """Return a record in which an algorithm failed everywhere or (status None) was not run."""
    tasks = record.tasks.copy()
    rows = tasks["algorithm"] == algorithm
    if status is None:
        tasks = tasks[~rows]
    else:
        tasks.loc[rows, ["status", "error"]] = [status, "ValueError: no\nmore of it"]
    results = record.results[record.results["algorithm"] != algorithm]
    return replace(record, tasks=tasks, results=results)


def columns_of(summary):
    tables = tables_of(contents(summary))
    return {table.id: [column.title for column in table.columns] for table in tables}


@pytest.mark.parametrize(("status", "reason"), [("failed", "failed"), (None, "not run")])
def test_an_algorithm_without_results_is_left_out(make, status, reason, no_drawings):
    record = make("paper")
    summary = summarise(without(record, "FCM-W", status))
    assert summary["algorithms"] == ["LPW", "FCM", "FCM-O"]
    assert summary["algorithms_without_results"] == [{"algorithm": "FCM-W", "reason": reason}]
    cautions = [text for text in summary["finding"]["cautions"] if "FCM-W" in text]
    assert cautions == [f"Left out because it has no result: FCM-W ({reason})."]
    for found in summary["comparison"].values():
        assert set(found["ranks"]) == {"LPW", "FCM", "FCM-O"}
        assert len(found["pairs"]) == 3
    assert not any("FCM-W" in columns for columns in columns_of(summary).values())
    assert [each["algorithm"] for each in summary["costs"]] == ["LPW", "FCM", "FCM-O"]


def test_the_only_algorithm_with_results_is_named(make):
    summary = summarise(without(make("two algorithms"), "LPW"))
    assert summary["finding"]["lead"] == (
        "Only FCM has results, so there is nothing to compare it with."
    )


def test_results_outside_the_definition_are_ignored(make):
    record = make("four sets")
    expected = summarise(record)
    task = record.tasks.iloc[[0]].assign(status="failed", error="E: old", warnings="UserWarning: x")
    row = record.results.iloc[[0]]
    others = [{"algorithm": "dropped"}, {"set": "dropped"}, {"repeat": 1}]
    larger = replace(
        record,
        tasks=pd.concat([record.tasks, *(task.assign(**each) for each in others)]),
        results=pd.concat(
            [record.results, *(row.assign(**each) for each in [*others, {"criterion": "old"}])]
        ),
    )
    assert summarise(larger) == expected


def test_generated_sets_are_not_compared_with_the_paper(summary_of):
    summary = summary_of("four sets")  # flare2, simplehc, simplehs and yeast
    paper = summary["published"]
    assert paper["generated"] == ["simplehc", "simplehs"]
    assert {each["n_sets"] for each in paper["ranks"].values()} == {2}
    differences = [
        abs(each["difference"])
        for each in paper["numbers"]
        if each["algorithm"] == "FCM" and each["set"] in ("flare2", "yeast")
    ]
    (found,) = [
        each
        for each in paper["distances"]
        if each["algorithm"] == "FCM" and each["criterion"] is None
    ]
    assert found["all"] == pytest.approx(fmean(differences))
    text = " ".join(summary["finding"]["paper"])
    assert "On 2 sets of the paper the mean distance" in text
    assert "simplehc and simplehs are generated, with other rows" in text


@pytest.mark.parametrize(("n_sets", "n_algorithms"), [(5, 2), (6, 4), (9, 4), (12, 12)])
def test_the_least_adjusted_p_value_is_that_of_an_algorithm_that_always_wins(n_sets, n_algorithms):
    """Two of all 2**n signs are extreme, all plus and all minus; times the number of pairs."""
    raw = 2 / 2**n_sets
    pairs = len(list(combinations(range(n_algorithms), 2)))
    assert least_adjusted_p(n_sets, n_algorithms) == pytest.approx(min(1, pairs * raw))


@pytest.mark.parametrize("adjust", ["bergmann-hommel", "shaffer"])
@pytest.mark.parametrize("digits", [1, 8])
def test_no_p_value_is_below_the_least_adjusted_one(rng, adjust, digits):
    """Also with equal differences, which losses of few digits have."""
    for _ in range(20):
        losses = rng.uniform(size=(6, 4)).round(digits) + np.arange(4) * rng.choice([0, 1])
        smallest = stats.wilcoxon(losses, adjust=adjust)["adjusted_p_value"].min()
        assert smallest >= least_adjusted_p(6, 4) - 1e-12


def sweep(n_sets):
    """Losses of four algorithms, the first best on every set."""
    rng = np.random.RandomState(1)
    losses = np.sort(rng.uniform(size=(n_sets, 4)), axis=1)
    index = [f"s{n}" for n in range(n_sets)]
    return pd.DataFrame(losses, columns=list(published.ALGORITHMS), index=index)


def compared(losses, known):
    """Compare by losses with two equal folds."""
    folds = pd.concat({(0, fold): losses for fold in range(2)}, names=["repeat", "fold"])
    folds = folds.reorder_levels([2, 0, 1]).rename_axis(["set", "repeat", "fold"])
    return compare({"hamming": losses}, known, {"hamming": folds})["hamming"]


def test_too_few_sets_for_significance_are_detected():
    known = pd.DataFrame(index=[f"s{n}" for n in range(9)])
    few = compared(sweep(6), known)
    assert few["out_of_reach"] == "with 6 sets and 4 algorithms no p-value can be below 0.1"
    assert ("LPW", "FCM-O") in few["nemenyi"]
    enough = compared(sweep(9), known)
    assert enough["out_of_reach"] == ""
    assert any(pair["significant"] for pair in enough["pairs"])


def six_sets(make):
    """Return a study of six sets on which LPW is best and FCM-O worst by every metric."""
    record = make("paper")
    names = list(record.definition["sets"])[:6]
    results = record.results[record.results["set"].isin(names)].copy()
    place = results["algorithm"].map(list(published.ALGORITHMS).index)
    results["value"] = 0.1 + 0.1 * place + 0.01 * results["set"].map(names.index) * (place + 1)
    sets = {name: record.definition["sets"][name] for name in names}
    tasks = record.tasks.assign(status="done")
    return replace(
        record, results=results, tasks=tasks, definition={**record.definition, "sets": sets}
    )


def test_the_report_states_that_no_p_value_can_be_significant(make):
    record = six_sets(make)
    # the folds that had failed are filled in
    whole = record.results.pivot_table(
        index=["set", "algorithm", "criterion"], values="value", aggfunc="mean"
    ).reset_index()
    results = pd.concat(
        [whole.assign(repeat=repeat, fold=fold) for repeat in range(2) for fold in range(4)]
    )
    summary = summarise(replace(record, results=results))
    text = summary["finding"]["points"][0]["text"]
    assert text == (
        "LPW (1.00) ranks best; with 6 sets and 4 algorithms no p-value can be below 0.1 by "
        "Wilcoxon's test, but by Nemenyi's LPW is better than FCM-W and FCM-O; FCM is better than "
        "FCM-O."
    )
    assert "Only Nemenyi's test finds differences" in summary["finding"]["disagreement"][0]
    table = next(wilcoxon_tables(summary))
    assert any("has an adjusted p of 0.188" in note for note in table.notes)
    assert "The p-values are exact." in table.notes
    verdicts = {each["claim"]: each["verdict"] for each in summary["conclusions"]}
    assert verdicts["better-than-lpw"] == verdicts["among"] == "not tested"
    assert verdicts["place"] == "does not hold"  # ranks need no test


def test_five_equal_wins_are_not_significant_at_5_percent():
    """The normal approximation with its tie correction gives 0.037."""
    index = [f"s{n}" for n in range(5)]
    losses = pd.DataFrame({"A": [0.1] * 5, "B": [0.2] * 5}, index=index)
    found = compared(losses, pd.DataFrame(index=index))
    (pair,) = found["pairs"]
    assert pair["p"] == pair["adjusted"] == pytest.approx(0.0625)
    assert pair["method"] == "exact"


def test_the_tables_state_how_p_values_were_computed(summary_of):
    notes = {name: "; ".join(next(wilcoxon_tables(summary_of(name))).notes)
             for name in ("paper", "printed losses")}  # fmt: skip
    assert "The p-values are exact." in notes["paper"]
    assert "exact where a pair differs on at most 25 sets, else" in notes["printed losses"]
    table = pairs_table(summary_of("printed losses"))
    place = [column.title for column in table.columns].index("method")
    methods = [row[place].value for row in table.rows]
    # by hand from the printed losses: pairs that differ on more than 25 of the 29 sets
    losses = [published.loss_table(criterion) for criterion in published.METRICS]
    assert methods == [
        "exact" if (table[first] != table[second]).sum() <= 25 else "normal"
        for table in losses
        for first, second in combinations(published.ALGORITHMS, 2)
    ]


def test_few_sets_are_compared_by_means(make, summary_of):
    record, summary = make("four sets"), summary_of("four sets")
    means = record.results.groupby(["criterion", "algorithm"])["value"].mean()
    for criterion, found in summary["comparison"].items():
        assert found["means"] == pytest.approx(means[criterion].to_dict())
        assert found["best_mean"] == [means[criterion].idxmin()]
    lead = summary["finding"]["lead"]
    assert lead.startswith("On 4 sets ")
    assert "the lowest mean" in lead
    assert "rank" not in lead


def test_one_set_is_named(summary_of):
    finding = summary_of("one set")["finding"]
    assert finding["lead"].startswith("On yeast alone, ")
    assert finding["lead"].endswith(" the lowest value by every metric.")
    for point in finding["points"]:
        text = point["text"]
        assert " the lowest value. " in text
        assert "With a probability of 0.9 or more" in text or "no probability reaches 0.9" in text
        assert "on single sets" not in text


def test_a_metric_that_is_maximised_on_few_sets(make):
    record = make("more is better")
    sets = dict(list(record.definition["sets"].items())[:3])
    summary = summarise(replace(record, definition={**record.definition, "sets": sets}))
    assert summary["finding"]["lead"] == "On 3 sets C has the highest mean of accuracy."


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"class": "pairmend.PairwiseClassifier"}, "Each pair of labels has a classifier"),
        ({"class": "pairmend.CorrectedPairwiseClassifier"}, "Corrects the support of each pair"),
        (
            {"class": "pairmend.CorrectedPairwiseClassifier", "params": {"overlap": 0.5}},
            "FCM that also uses validation rows with both labels",
        ),
        ({"class": "pairmend.RandomSubspaceNB"}, ""),
        ({"class": "sklearn.nowhere.At"}, None),
        ({"class": "a"}, None),
        ({"opaque": "Mine"}, None),
    ],
)
def test_descriptions_of_algorithms(described, expected):
    text = about(described)
    if expected is None:
        assert text == ""
    else:
        assert text.startswith(expected)
        assert text.endswith(".")


def test_a_report_does_not_import_modules_of_the_study(tmp_path, monkeypatch):
    (tmp_path / "hostile_module.py").write_text("raise SystemExit(1)")
    monkeypatch.syspath_prepend(tmp_path)
    assert about({"class": "hostile_module.Classifier"}) == ""


def test_a_class_without_docstring_has_no_description(tmp_path, monkeypatch):
    (tmp_path / "bare_module.py").write_text(
        "from sklearn.base import BaseEstimator, ClassifierMixin\n"
        "class Bare(ClassifierMixin, BaseEstimator): pass\n"
        'class Described(Bare):\n    """Predicts\n    nothing."""\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("bare_module")
    assert about({"class": "bare_module.Bare"}) == ""
    assert about({"class": "bare_module.Described"}) == "Predicts nothing."


def test_the_table_of_algorithms_has_descriptions(summary_of):
    titles = [column.title for column in algorithms_table(summary_of("paper")).columns]
    assert "description" in titles


def test_numbers_of_sets_are_shown_only_in_a_study_of_the_paper(make, summary_of, sections_of):
    assert summary_of("paper")["is_paper_study"]
    for name in ("two algorithms", "own algorithms", "more is better"):
        summary = summary_of(name)
        assert not summary["is_paper_study"]
        for table in tables_of(sections_of(name)):
            assert "No." not in [column.title for column in table.columns]
        assert {column.group for column in characteristics_table(summary).columns} == {""}
        assert characteristics_table(summary).notes == ()
    # in the study's order, which is not the paper's
    record = make("more is better")
    sets = dict(reversed(record.definition["sets"].items()))
    turned = summarise(replace(record, definition={**record.definition, "sets": sets}))
    assert [one["set"] for one in turned["sets"]] == list(sets)


def test_a_study_of_the_paper_has_at_least_half_of_its_sets_from_there(make):
    record = make("paper")
    for paper_sets, expected in ((1, True), (0, False)):
        names = [*list(record.definition["sets"])[:paper_sets], "ours"]
        sets = {name: record.definition["sets"][name] for name in names}
        summary = summarise(replace(record, definition={**record.definition, "sets": sets}))
        assert summary["is_paper_study"] == expected


def test_notes_are_shown_where_they_apply(summary_of):
    assert any("In italics" in note for note in results_table(summary_of("paper")).notes)
    assert results_table(summary_of("four sets")).notes == ()
    assert characteristics_table(summary_of("four sets")).notes == ()
    shared = [column.title for column in costs_table(summary_of("paper")).columns]
    assert shared[-1] == "uses the fit of"
    alone = costs_table(summary_of("two algorithms"))
    assert "uses the fit of" not in [column.title for column in alone.columns]
    assert alone.caption == "Peak memory is that of the whole process, libraries included."


def test_correlations_are_marked_after_holms_adjustment(summary_of):
    for found in summary_of("printed losses")["comparison"].values():
        entries = [one for of_key in found["spearman"].values() for one in of_key.values()]
        entries.sort(key=lambda one: one["p"])
        assert len(entries) == 28
        largest = 0.0
        for place, one in enumerate(entries):  # Holm's procedure, step by step
            largest = max(largest, (28 - place) * one["p"])
            assert one["adjusted"] == pytest.approx(min(1, largest))
            assert one["significant"] == (min(1, largest) < ALPHA)
        assert any(one["p"] < ALPHA and not one["significant"] for one in entries)


def test_intervals_and_tests_have_the_same_level():
    assert pytest.approx(1 - ALPHA) == CONFIDENCE


def test_failures_are_grouped_by_set_algorithm_and_first_line(make):
    record = make("paper")
    record.tasks.loc[record.tasks["status"] == "failed", "error"] += "\nmore of it"
    assert summarise(record)["grouped_failures"] == [
        {"set": name, "algorithm": algorithm, "tasks": n_tasks,
         "error": "ValueError: y has <3> classes & no rows"}
        for name, algorithm, n_tasks in (("flags", "FCM-W", 1), ("ours", "LPW", 2))
    ]  # fmt: skip


def test_runs_without_tasks_are_counted(make):
    record = make("paper")
    runs = pd.concat([record.runs, record.runs], ignore_index=True)
    runs["run"] = [1, 2, 3, 4]
    run_details = summarise(replace(record, runs=runs, tasks=record.tasks.assign(run=2)))[
        "run_details"
    ]
    assert [run["started"] for run in run_details["runs"]] == ["1 May 2026, 10:00 UTC"]
    assert [run["ended"] for run in run_details["runs"]] == ["1 May 2026, 11:00 UTC"]
    assert run_details["idle_runs"] == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-12-31T23:30:00-01:00", "1 January 2027, 00:30 UTC"),
        ("2026-05-01T10:00:00", "1 May 2026, 10:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_readable_times(text, expected):
    assert readable_time(text) == expected
