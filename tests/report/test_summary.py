"""The numbers of a report, compared with slow loops over the rows of a study."""

import json
from dataclasses import replace
from statistics import fmean, stdev

import numpy as np
import pytest

from pairmend import published
from pairmend.metrics import LOSSES
from pairmend.report import summarise
from pairmend.report.best import best_of
from pairmend.report.measured import criteria_of
from pairmend.report.published import implied_share
from pairmend.report.published_tables import distances_table

NEED = "Friedman's and Wilcoxon's tests need at least 5 sets with all results,"
ARGUMENT = ": with fewer sets, no p-value of Wilcoxon's test is below 0.1."
VALID = " The Bayesian tests are valid on few sets."


def rows_of(record):
    return record.results.itertuples(index=False)


def slow_values(record):
    """Return values of all folds by metric, set and algorithm."""
    values = {}
    for row in rows_of(record):
        values.setdefault((row.criterion, row.set, row.algorithm), []).append(row.value)
    return values


def slow_ranks(rows, names, sign):
    """Rank by counting better and equal algorithms, set by set."""
    total = dict.fromkeys(names, 0.0)
    for row in rows:
        for one in names:
            better = sum(sign * row[other] < sign * row[one] for other in names)
            equal = sum(row[other] == row[one] for other in names)
            total[one] += better + (equal + 1) / 2
    return {name: total[name] / len(rows) for name in names}


def test_summary_is_plain_data(summary):
    def check(value):
        if isinstance(value, dict):
            assert all(type(key) is str for key in value)
            for each in value.values():
                check(each)
        elif isinstance(value, list | tuple):
            for each in value:
                check(each)
        else:
            assert value is None or type(value) in (str, int, float, bool)

    check(summary)
    json.dumps(summary)


def test_means_and_spreads(record, summary):
    expected = slow_values(record)
    found = {
        (criterion, name, algorithm): entry
        for criterion, of_sets in summary["measured"].items()
        for name, of_algorithms in of_sets.items()
        for algorithm, entry in of_algorithms.items()
    }
    assert set(found) == set(expected)
    for key, values in expected.items():
        assert found[key]["mean"] == pytest.approx(fmean(values))
        assert found[key]["sd"] == pytest.approx(stdev(values), abs=1e-12)
        assert sorted(found[key]["values"]) == sorted(values)


def test_best_and_ranks(record, summary):
    expected_count = record.definition["folds"] * record.definition["repeats"]
    for each in summary["criteria"]:
        sign = -1 if each["greater_is_better"] else 1
        complete = []
        for one in summary["sets"]:
            entries = summary["measured"].get(each["criterion"], {}).get(one["set"], {})
            means = {
                name: entry["mean"]
                for name, entry in entries.items()
                if len(entry["values"]) == expected_count
            }
            best = summary["best"][each["criterion"]].get(one["set"], [])
            # Means that are printed equal are bold together, and none if all are equal.
            printed = {name: round(mean, 3) for name, mean in means.items()}
            first = min((sign * value for value in printed.values()), default=None)
            expected = [name for name, value in printed.items() if sign * value == first]
            assert sorted(best) == sorted(expected if len(expected) < len(means) else [])
            if len(means) == len(summary["algorithms"]):
                complete.append((one["set"], means))
        found = summary["comparison"][each["criterion"]]
        assert found["sets"] == [name for name, _ in complete]
        left_out = summary["left_out"][each["criterion"]]
        assert sorted([*found["sets"], *left_out]) == sorted(s["set"] for s in summary["sets"])
        if complete and len(summary["algorithms"]) > 1:
            ranks = slow_ranks([m for _, m in complete], summary["algorithms"], sign)
            assert found["ranks"] == pytest.approx(ranks)
            assert [n for n in ranks if ranks[n] == min(ranks.values())] == found["best"]
        else:
            assert found["ranks"] == {}


def test_printed_losses_have_the_golden_ranks_and_p_values(summary_of):
    """Golden values: of the study's specification, computed from the three-digit table."""
    found = summary_of("printed losses")["comparison"]
    assert list(found["hamming"]["ranks"].values()) == pytest.approx(
        [2.966, 1.931, 2.707, 2.397], abs=5e-4
    )
    p_values = [found[criterion]["friedman"]["p"] for criterion in published.METRICS]
    assert p_values == pytest.approx([0.00957, 0.3916, 0.6543, 0.00401], rel=2e-3)
    assert found["hamming"]["critical_difference"] == pytest.approx(0.777, abs=5e-4)
    adjusted = [pair["adjusted"] for pair in found["zero_one"]["pairs"]]
    # exact, as no pair differs on more than 25 sets; the paper printed 0.054, 0.040, 0.054
    assert adjusted == pytest.approx([0.0529, 0.0370, 0.0529, 1, 1, 1], abs=6e-5)
    holm = [found[criterion]["friedman"]["adjusted"] for criterion in published.METRICS]
    # by hand: 3 × 0.00957, 2 × 0.3916, at least that, 4 × 0.00401
    assert holm == pytest.approx([0.0287, 0.7832, 0.7832, 0.0160], rel=5e-3)


def test_conclusions_hold_for_printed_losses(summary_of):
    summary = summary_of("printed losses")
    verdicts = {each["paper"]: each["verdict"] for each in summary["conclusions"]}
    assert verdicts["FCM-W is better than LPW in zero-one loss (p = 0.040)"] == "holds"
    assert verdicts["FCM is better than LPW in zero-one loss (p = 0.054)"] == "holds"
    assert verdicts["the algorithms differ in Hamming loss (p = 0.063)"] == "holds"
    assert verdicts["FCM has the worst rank in 1 - macro F1"] == "holds"
    for criterion in ("1 - macro F1", "1 - micro F1"):  # not significant
        claim = f"the algorithms do not differ significantly in {criterion} (p = 0.911)"
        assert verdicts[claim] == "not contradicted"
    assert len(verdicts) == 12
    assert all(each["difference"] == pytest.approx(0) for each in summary["published"]["numbers"])
    # as in the specification of the method
    assert summary["published"]["impossible"] == [
        "azotobacter", "caenorhabditis", "drosophila", "genbase", "haloarcula", "medical",
        "pyrococcus", "saccharomyces", "slashdot",
    ]  # fmt: skip


def test_distances_are_grouped_by_plausibility(make, summary_of):
    both = distances_table(summary_of("paper"))
    assert [row[1].value for row in both.rows[::4]] == [
        "all but generated", "possible", "impossible", "generated set",
    ]  # fmt: skip
    assert {row[1].value for row in _distances_on(make, without=["genbase", "medical"]).rows} == {
        "all but generated", "generated set",
    }  # fmt: skip
    generated = ["simplehc", "simplehs"]
    one = _distances_on(make, without=["genbase", "medical", *generated])
    assert {row[1].value for row in one.rows} == {"all"}
    assert one.notes == ()


def _distances_on(make, without):
    record = make("paper")
    others = record.results[~record.results["set"].isin(without)]
    return distances_table(summarise(replace(record, results=others)))


def test_conclusions_do_not_hold_for_inverted_losses(make):
    record = make("printed losses")
    record.results["value"] = 1 - record.results["value"]
    verdicts = {e["paper"]: e["verdict"] for e in summarise(record)["conclusions"]}
    assert verdicts["FCM-W is better than LPW in zero-one loss (p = 0.040)"] == "does not hold"
    assert verdicts["FCM-O has the best rank in zero-one loss"] == "does not hold"


def test_published_and_measured(make, summary_of):
    record = make("paper")
    paper = summary_of("paper")["published"]
    all_values = slow_values(record)
    differences = {}
    for each in paper["numbers"]:
        name = published.sets()[each["number"]].name.lower()
        assert each["set"] == name
        values = all_values[each["criterion"], name, each["algorithm"]]
        printed = published.losses()[each["number"], each["criterion"], each["algorithm"]]
        assert each["published"] == printed
        assert each["difference"] == pytest.approx(fmean(values) - printed)
        plausibility = {"genbase": "cannot", "medical": "cannot", "simplehc": "generated",
                "simplehs": "generated"}.get(name, "could")  # fmt: skip
        assert each["plausibility"] == plausibility
        differences.setdefault((each["algorithm"], plausibility), []).append(
            abs(each["difference"])
        )
    # 11 sets, 4 criteria, 4 algorithms; of flags FCM-W lacks a fold
    assert len(paper["numbers"]) == 11 * 16 - 4
    totals = {d["algorithm"]: d for d in paper["distances"] if d["criterion"] is None}
    for name, found in totals.items():
        could, cannot = differences[name, "could"], differences[name, "cannot"]
        assert found["all"] == pytest.approx(fmean([*could, *cannot]))
        assert found["could"] == pytest.approx(fmean(could))
        assert found["cannot"] == pytest.approx(fmean(cannot))
        assert found["generated"] == pytest.approx(fmean(differences[name, "generated"]))
    assert {found["n_sets"] for found in paper["ranks"].values()} == {8}  # of 11, flags lacks one


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_share_of_predicted_labels_follows_from_two_losses(rng, share):
    truth = rng.uniform(size=(50, 8)) < 0.3
    predicted = rng.uniform(size=(50, 8)) < share
    losses = [LOSSES[name](truth, predicted) for name in ("hamming", "micro_f1")]
    assert implied_share(*losses, truth.mean()) == pytest.approx(predicted.mean())


def test_the_share_is_undefined_without_errors():
    assert implied_share(0.0, 0.0, 0.3) is None


def test_incomplete_sets_are_left_out(summary_of):
    summary = summary_of("paper")
    assert summary["left_out"]["hamming"] == ["flags", "ours"]
    assert (
        "Left out of ranks and tests, because results are missing: flags and ours."
        in (summary["finding"]["cautions"])
    )
    assert len(summary["failures"]) == 3
    (together,) = summary["tracebacks"]
    assert together["tasks"] == [  # counted from 1, as on the command line
        "FCM-W on flags, repeat 1, fold 4", "LPW on ours, repeat 1, fold 1",
        "LPW on ours, repeat 1, fold 2",
    ]  # fmt: skip
    assert [(each["repeat"], each["fold"]) for each in summary["failures"]] == [
        (1, 4), (1, 1), (1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("one set", f"{NEED} found 1{ARGUMENT}{VALID}"),
        ("four sets", f"{NEED} found 4{ARGUMENT}{VALID}"),
        ("nothing finished", f"{NEED} found 0{ARGUMENT}"),
        ("one algorithm", "A comparison needs at least two algorithms."),
    ],
)
def test_reasons_for_no_tests(summary_of, name, expected):
    for found in summary_of(name)["comparison"].values():
        assert found["untested_reason"] == expected
        assert found["friedman"] is None
        assert found["critical_difference"] is None
        assert found["pairs"] == found["nemenyi"] == []


def test_more_than_nine_algorithms_are_adjusted_by_shaffer(summary_of):
    found = summary_of("twelve algorithms")["comparison"]["hamming"]
    assert found["procedure"] == "Shaffer's procedure"
    assert len(found["pairs"]) == 66


def test_a_metric_that_is_maximised(make, summary_of):
    record = make("more is better")
    found = summary_of("more is better")
    pair = found["comparison"]["accuracy"]["pairs"][0]
    means = record.results.groupby(["algorithm", "set"])["value"].mean()
    difference = (means["A"] - means["B"]).to_numpy()
    assert pair["difference"] == pytest.approx(difference.mean())
    assert pair["first_better"] == np.count_nonzero(difference > 0)
    assert pair["second_better"] == np.count_nonzero(difference < 0)
    assert found["published"]["numbers"] == []


def test_sets_of_the_paper_come_first_in_its_order(summary_of):
    numbers = [one["number"] for one in summary_of("paper")["sets"]]
    assert numbers == [6, 8, 9, 10, 11, 17, 18, 22, 23, 24, 29, None]


def test_sets_that_differ_from_the_paper_are_listed(make):
    record = make("paper")
    record.sets.loc[record.sets["set"] == "yeast", "d"] = 118
    record.sets.loc[record.sets["set"] == "yeast", "LC"] += 0.0004  # rounds to the same number
    summary = summarise(record)
    unlike = {one["set"]: one["unlike_published"] for one in summary["sets"]}
    assert unlike.pop("yeast") == ["d"]
    assert not any(unlike.values())
    assert any(
        "characteristics of yeast (d) differ from the paper's" in t
        for t in summary["finding"]["printed"]
    )


def test_sets_without_results_are_not_counted(summary_of):
    summary = summary_of("sets to come")
    assert [one["set"] for one in summary["sets"]] == ["flags", "yeast"]
    assert summary["without_results"] == ["arts", "birds"]
    assert summary["left_out"]["hamming"] == []
    assert summary["finding"]["extent"].startswith("4 algorithms on 2 sets, ")


def test_warnings_are_counted_by_algorithm(summary_of):
    # 12 sets, 2 repeats, 2 of the folds; both warnings of each task, one of them in two lines
    assert summary_of("paper")["warnings"] == [
        {"algorithm": "LPW", "warning": warning, "tasks": 48}
        for warning in (
            "ConvergenceWarning: lbfgs <failed> to converge Increase max_iter",
            "UserWarning: label 3 has no rows",
        )
    ]
    assert summary_of("own algorithms")["warnings"] == []


def test_ranks_of_pairs_that_differ_by_nemenyi_are_a_critical_difference_apart(summary):
    for found in summary["comparison"].values():
        ranks, difference = found["ranks"], found["critical_difference"]
        if difference is not None:
            apart = {
                (one, other)
                for one in ranks
                for other in ranks
                if ranks[other] - ranks[one] >= difference
            }
            assert set(found["nemenyi"]) == apart


@pytest.mark.parametrize("greater_is_better", [False, True])
def test_rounding_error_does_not_decide_which_is_best(greater_is_better):
    sign = -1 if greater_is_better else 1
    values = {"a": sign * 0.3, "b": sign * (0.1 + 0.2), "c": sign * 0.4, "d": sign * (0.3 + 1e-9)}
    assert values["a"] != values["b"]
    assert best_of(values, greater_is_better=greater_is_better) == ["a", "b"]
    assert best_of({}) == []


def test_names_of_files_differ(make):
    slugs = [each["slug"] for each in criteria_of(make("hostile names"))]
    assert len(set(slugs)) == 3


def test_names_of_files_differ_for_metrics_of_similar_names(make):
    record = make("hostile names")
    about = next(iter(record.definition["criteria"].values()))
    names = dict.fromkeys(["a", "a-2", "A", "a 2"], about)
    alike = replace(record, definition={**record.definition, "criteria": names})
    assert len({each["slug"] for each in criteria_of(alike)}) == 4


def test_costs(make, summary_of):
    record = make("two algorithms")
    tasks = record.tasks[record.tasks["algorithm"] == "FCM"]
    (_, cost) = summary_of("two algorithms")["costs"]
    assert cost["tasks"] == len(tasks)
    assert cost["fit_seconds"] == pytest.approx(tasks["fit_seconds"].mean())
    assert cost["peak_bytes"] == tasks["peak_bytes"].max()
    assert cost["shares_fit_of"] == []


def test_shared_fits_are_listed(make, summary_of):
    record = make("paper")
    costs = {each["algorithm"]: each for each in summary_of("paper")["costs"]}
    assert costs["FCM-O"]["shares_fit_of"] == ["FCM"]
    assert costs["FCM"]["shares_fit_of"] == []
    tasks = record.tasks[record.tasks["algorithm"] == "FCM-O"]
    assert costs["FCM-O"]["total_seconds"] == pytest.approx(tasks["predict_seconds"].sum())


def test_memory_that_is_not_available(make):
    record = make("two algorithms")
    record.tasks["peak_bytes"] = float("nan")
    assert all(each["peak_bytes"] is None for each in summarise(record)["costs"])


def test_sentences_of_significant_differences(summary_of):
    finding = summary_of("own algorithms")["finding"]
    assert finding["lead"] == "neighbours ranks best by every metric."
    (text,) = {point["text"] for point in finding["points"]}
    assert text == (
        "neighbours (1.00) ranks best. neighbours is significantly better than chains and trees; "
        "trees is significantly better than chains."
    )
    assert finding["paper"] == []
    assert finding["cautions"] == []


def test_the_lead_of_a_metric_that_is_maximised(summary_of):
    finding = summary_of("more is better")["finding"]
    # the last algorithm has the lowest loss, and accuracy is one minus the loss
    assert finding["lead"] == "C ranks best on accuracy."


def test_the_lead_has_the_best_of_each_metric(summary_of):
    finding = summary_of("printed losses")["finding"]
    assert finding["lead"] == (
        "FCM ranks best on Hamming loss; LPW on 1 - macro F1; FCM-O on 1 - micro F1; "
        "FCM and FCM-O on zero-one loss."
    )
    assert finding["paper"][0].startswith("The paper found FCM better than LPW in Hamming loss")
    assert finding["paper"][0].endswith("All of these differences are significant here, too.")


def test_the_caution_about_few_sets(summary_of):
    summary = summary_of("four sets")
    assert summary["finding"]["cautions"] == [f"{NEED} found 4{ARGUMENT}{VALID}"]
    assert summary["finding"]["paper"][0].endswith("There are too few sets to test that.")
    assert {each["verdict"] for each in summary["conclusions"]} == {"not tested"}


def test_a_record_can_be_restricted_to_some_algorithms(make):
    record = make("printed losses")
    narrow = record.narrowed(["fcm", "LPW"])
    assert list(narrow.definition["algorithms"]) == ["LPW", "FCM"]
    assert set(narrow.results.algorithm) == set(narrow.tasks.algorithm) == {"LPW", "FCM"}
    assert len(record.definition["algorithms"]) == 4
    with pytest.raises(ValueError, match="the study has no algorithm 'BR'; it has LPW, FCM"):
        record.narrowed(["BR"])
