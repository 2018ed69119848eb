"""The numbers of a report, compared with slow loops over the rows of a study."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pairmend import published, stats
from pairmend.report import summarise


def values_of(record):
    """Return values of all folds, grouped by title of the metric, set and algorithm."""
    titles = {name: about["title"] for name, about in record.definition["criteria"].items()}
    rows = record.results.assign(metric=record.results["criterion"].map(titles))
    return rows.groupby(["metric", "set", "algorithm"])["value"]


def test_means_spreads_ranks_and_plain_data(study, make, summary_of):
    record, summary = make(study), summary_of(study)
    expected = values_of(record)
    means, n_values = expected.mean(), record.definition["folds"] * record.definition["repeats"]
    assert set(summary.means.index) == set(means.index)
    np.testing.assert_allclose(summary.means["mean"], means[summary.means.index])
    np.testing.assert_allclose(summary.means["sd"], expected.std()[summary.means.index], atol=1e-12)
    for metric, row in summary.metrics.iterrows():
        whole = means[expected.count() == n_values].unstack()
        whole = whole[whole.index.get_level_values("metric") == metric].dropna()
        assert len(summary.losses[metric].means) == len(whole)
        if len(whole):
            ranks = whole.rank(axis=1, ascending=not row["greater_is_better"]).mean()
            assert summary.ranks.loc[metric].to_dict() == pytest.approx(ranks.to_dict())
    plain = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    assert [row["metric"] for row in plain["verdicts"]] == list(summary.verdicts["metric"])
    assert len(plain["pairs"]) == len(summary.pairs)


@pytest.mark.parametrize(
    ("study", "method"), [("paper", "bergmann-hommel"), ("twelve algorithms", "shaffer")]
)
def test_tests_are_those_of_the_statistics(summary_of, study, method):
    summary = summary_of(study)
    assert summary.alpha == 0.1
    for metric, losses in summary.losses.items():
        means = losses.means
        friedman = stats.friedman(means)
        found = summary.friedman.loc[metric, ["χ²", "p"]]
        np.testing.assert_allclose(found.astype(float), friedman[["chi_square", "p_value"]])
        pairs, found = stats.wilcoxon(means, adjust=method), summary.pairs.loc[metric]
        assert list(pairs.index) == list(found.index)
        names = ["p_value", "adjusted_p_value", "wins", "losses", "rank_biserial"]
        columns = ["p", "adjusted p", "won", "lost", "effect"]
        np.testing.assert_allclose(found[columns].astype(float), pairs[names].astype(float))
        differences = [means[first].mean() - means[second].mean() for first, second in pairs.index]
        np.testing.assert_allclose(found["difference"], differences)
        assert (found["low"] <= found["difference"]).all()
        assert (found["difference"] <= found["high"]).all()
        rows = summary.spearman.loc[metric]
        flat = rows.stack(0, future_stack=True)
        expected = stats.spearman(means, summary.sets.loc[means.index, rows.index])
        expected = expected.loc[flat.index, ["rho", "p_value"]]
        np.testing.assert_allclose(flat[["ρ", "p"]], expected)
        np.testing.assert_allclose(flat["adjusted p"], stats.adjust(flat["p"]))


def test_printed_losses_have_the_golden_ranks_and_p_values(summary_of):
    """Ranks and further p-values of the printed losses are in the tests of the statistics."""
    summary = summary_of("printed losses")
    zero_one = summary.metrics.index[summary.metrics["name"] == "zero_one"][0]
    tests = summary.friedman.loc[summary.metrics.index]
    # by hand: 3 × 0.00957, 2 × 0.3916, at least that, 4 × 0.00401
    assert list(tests["adjusted p"]) == pytest.approx([0.0287, 0.7832, 0.7832, 0.016], rel=5e-3)
    # exact, as no pair differs on more than 25 sets; the paper printed 0.054, 0.040, 0.054
    adjusted = summary.pairs.xs(zero_one)["adjusted p"]
    assert list(adjusted) == pytest.approx([0.0529, 0.0370, 0.0529, 1, 1, 1], abs=6e-5)
    beside = summary.paper_tests.set_index(["metric", "test"])
    assert len(beside) == 8
    for name, printed in {"FCM": 0.054, "FCM-W": 0.040, "FCM-O": 0.054}.items():
        row = beside.loc[(zero_one, f"Wilcoxon, LPW and {name}")]
        assert (row["printed p"], row["better here"]) == (printed, name)
        assert row["adjusted p"] == pytest.approx(printed, abs=0.0035)
    assert summary.published["difference"].abs().max() < 1e-12
    assert "FCM-O has the best average rank in 1 - micro F1; FCM and FCM-O has" in summary.lead


def test_tests_of_the_paper_with_other_losses(make, summary_of):
    record = make("printed losses")
    record.results["value"] = 1 - record.results["value"]
    beside = summarise(record).paper_tests
    assert set(beside["better here"]) == {"", "LPW"}
    assert summary_of("four sets").paper_tests.empty
    assert summary_of("six sets").paper_tests.empty


def test_published_and_measured(make, summary_of):
    means, summary = values_of(make("paper")).mean(), summary_of("paper")
    printed = published.losses()
    numbers, names = summary.sets["number"], dict(summary.metrics["name"])
    for row in summary.published.itertuples():
        expected = printed.loc[(int(numbers[row.set]), names[row.metric]), row.algorithm]
        assert row.published == expected
        measured = means[row.metric, row.set, row.algorithm]
        assert row.difference == pytest.approx(measured - expected)
    notes = summary.published.groupby("printed")["set"].unique().map(set).to_dict()
    assert notes.pop("generated set") == {"simplehc", "simplehs"}
    assert notes.pop("impossible") == {"genbase", "medical"}
    assert [*notes] == ["possible"]
    # 11 sets, 4 criteria, 4 algorithms; of flags FCM-W lacks a fold
    assert len(summary.published) == 11 * 16 - 4
    assert summary.is_paper_study
    assert not summary_of("six sets").is_paper_study, "none of the sets is one of the paper"
    assert list(summary.sets["number"])[:-1] == [6, 8, 9, 10, 11, 17, 18, 22, 23, 24, 29]


def test_bayesian_tests_are_those_of_the_losses(summary_of):
    summary = summary_of("more is better")
    (losses,) = summary.losses.values()
    expected = stats.bayesian_signed_rank(losses.means, n_samples=20_000)
    found = summary.over_sets.loc["accuracy"]
    np.testing.assert_allclose(found["first better"], expected["first_better"])
    # differences are those of the accuracies, not of losses
    np.testing.assert_allclose(found["difference"], -expected["mean_difference"])
    for name in losses.means.index:
        expected = stats.corrected_t_test(losses.folds.loc[name])
        on_set = summary.on_sets.loc[("accuracy", name)]
        np.testing.assert_allclose(on_set["p"], expected["p_value"])
        np.testing.assert_allclose(on_set["second better"], expected["second_better"])
    assert summary.lead == "C has the best average rank in accuracy."


def test_level_and_control_change_the_verdicts(make):
    record = make("six sets")
    few = summarise(record)
    column = "significant at 0.1"
    assert set(few.verdicts[column]) == {"none"}  # 6 pairs × 2 / 2**6 = 0.19
    assert any("can be below 0.1" in note for note in few.notes)
    controlled = summarise(record.narrowed(control="FCM-O"))
    assert len(controlled.pairs) == 4 * 3
    (text,) = set(controlled.verdicts[column])
    assert text == "FCM-O better than LPW, FCM and FCM-W"  # 3 × 2 / 2**6 = 0.094
    np.testing.assert_allclose(controlled.pairs["adjusted p"], 3 * 2 / 2**6)
    assert set(controlled.pairs["effect"]) == {1.0}
    assert set(controlled.over_sets.index.get_level_values("first")) == {"FCM-O"}
    strict = summarise(record.narrowed(control="FCM-O", alpha=0.05))
    assert set(strict.verdicts["significant at 0.05"]) == {"none"}
    assert "level of significance 0.05" in strict.extent


def test_few_sets_are_compared_by_means(make, summary_of):
    summary = summary_of("four sets")
    means = make("four sets").results.groupby(["criterion", "algorithm"])["value"].mean()
    for row, name in zip(summary.verdicts.itertuples(), summary.metrics["name"], strict=True):
        assert row.best == means[name].idxmin()
        assert row.mean == pytest.approx(means[name].min())
    assert summary.pairs.empty
    assert summary.friedman.empty
    assert "need at least 5 sets" in summary.notes[0]
    assert "best mean in" in summary.lead


@pytest.mark.parametrize("status", ["failed", None])
def test_an_algorithm_without_results_is_left_out(make, status):
    """Because it failed everywhere, or (status None) was not run."""
    record = make("four sets")
    for absent in (["FCM-W"], ["LPW", "FCM-W", "FCM-O"]):
        is_absent = record.tasks["algorithm"].isin(absent)
        tasks = record.tasks.mask(is_absent, record.tasks.assign(status=status))
        tasks = tasks if status else tasks[~is_absent]
        results = record.results[~record.results["algorithm"].isin(absent)]
        summary = summarise(replace(record, tasks=tasks, results=results))
        left = [name for name in ("LPW", "FCM", "FCM-O") if name not in absent]
        assert list(summary.costs.index) == left
        assert set(summary.ranks) <= {*left}
        assert any(note.startswith("Algorithms without any") for note in summary.notes)
    assert summary.lead == "There is nothing to compare: FCM has results."


def test_what_is_missing_is_noted(summary_of):
    summary = summary_of("paper")
    assert any("because results are missing: flags and ours" in note for note in summary.notes)
    assert "3 tasks failed; the next run of the study tries again." in summary.notes
    assert len(summary.failures) == 3
    to_come = summary_of("sets to come")
    assert list(to_come.sets.index) == ["flags", "yeast"]
    assert "Sets without any result: arts and birds." in to_come.notes
    nothing = summary_of("nothing finished")
    assert nothing.verdicts.empty
    assert nothing.lead == "There is nothing to compare: no algorithm has results."


def test_metrics_of_earlier_runs_are_ignored(make):
    record = make("four sets")
    old = record.results.iloc[[0]].assign(criterion="old")
    larger = replace(record, results=pd.concat([record.results, old]))
    assert summarise(larger).to_dict() == summarise(record).to_dict()


def test_names_of_files_differ_for_metrics_of_similar_names(make):
    record = make("hostile names")
    about = next(iter(record.definition["criteria"].values()))
    names = dict.fromkeys(["a", "a-2", "A", "a 2", "é"], about)
    alike = summarise(replace(record, definition={**record.definition, "criteria": names}))
    assert alike.metrics["slug"].is_unique
    assert list(alike.metrics.index) == list(names)  # one title for all


def test_costs_warnings_and_runs(make, summary_of):
    record, summary = make("paper"), summary_of("paper")
    done = record.tasks[record.tasks["status"] == "done"].groupby("algorithm")
    assert summary.costs["tasks"].to_dict() == done.size().to_dict()
    assert summary.costs["fit"].to_dict() == pytest.approx(done["fit_seconds"].mean().to_dict())
    # the fit of FCM is counted once
    assert summary.costs.loc["FCM-O", "shared"] == "FCM"
    predict = done["predict_seconds"].sum()
    assert summary.costs.loc["FCM-O", "total"] == pytest.approx(predict["FCM-O"])
    # 12 sets, 2 repeats, 2 of the folds; both warnings of each task, one of them in two lines
    assert summary.warnings.to_dict("records") == [
        {"algorithm": "LPW", "warning": warning, "tasks": 48}
        for warning in (
            "ConvergenceWarning: lbfgs <failed> to converge Increase max_iter",
            "UserWarning: label 3 has no rows",
        )
    ]
    runs = record.runs.assign(run=[1, 2])
    run = record.tasks["set"].eq("yeast").map({True: 2, False: 1})
    found = summarise(replace(record, runs=runs, tasks=record.tasks.assign(run=run))).runs
    assert found["sets"].tolist()[1] == "yeast"
    assert found["tasks"].tolist() == [11 * 32, 32]
    assert "pairmend = 0.1.0" in found["versions"].iloc[0]
