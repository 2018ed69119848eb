"""The Bayesian tests of a report, compared with the rows of a study."""

from dataclasses import replace

import numpy as np
import pytest

from pairmend import stats
from pairmend.report import summarise
from pairmend.report.headline import by_probabilities
from pairmend.report.probabilities import between, pairs_on_sets, shown_pairs
from pairmend.report.probability_tables import on_sets_table, over_sets_table
from pairmend.report.probability_texts import explanation

THREE = ["first_better", "equivalent", "second_better"]


def found_in(summary):
    """Yield each metric with its probabilities and complete sets."""
    for each in summary["criteria"]:
        compared = summary["comparison"][each["criterion"]]
        yield each, compared["probabilities"], compared["sets"]


def values_of(record, criterion, algorithm, name):
    """Return the values of an algorithm on a set, fold by fold."""
    rows = record.results.query("criterion == @criterion and algorithm == @algorithm")
    rows = rows[rows["set"] == name].sort_values(["repeat", "fold"])
    return rows["value"].to_numpy()


def test_every_set_and_pair_is_compared(summary):
    n_algorithms = len(summary["algorithms"])
    n_pairs = n_algorithms * (n_algorithms - 1) // 2
    for _, found, sets in found_in(summary):
        assert len(found["over_sets"]) == (n_pairs if len(sets) > 1 else 0)
        assert len(found["on_sets"]) == n_pairs * len(sets)
        assert list(dict.fromkeys(entry["set"] for entry in found["on_sets"])) == (
            sets if n_pairs else []
        )
        for entry in [*found["over_sets"], *found["on_sets"]]:
            assert sum(entry[name] for name in THREE) == pytest.approx(1)
            reached = [name for name in THREE if entry[name] >= 0.9]
            assert entry["decided"] == (reached[0] if reached else "")


def test_folds_are_compared_with_corrected_standard_errors(record, summary):
    share = 1 / record.definition["folds"]
    for each, found, _ in found_in(summary):
        sign = -1 if each["greater_is_better"] else 1
        for entry in found["on_sets"][::17]:
            first, second = (
                values_of(record, each["criterion"], entry[name], entry["set"])
                for name in ("first", "second")
            )
            difference = first - second
            n = len(difference)
            assert n == record.definition["folds"] * record.definition["repeats"]
            error = np.sqrt((1 / n + share / (1 - share)) * difference.var(ddof=1))
            assert entry["difference"] == pytest.approx(difference.mean())
            assert entry["t"] == pytest.approx(difference.mean() / error)
            losses = sign * np.column_stack([first, second])
            expected = stats.corrected_t_test(losses, test_share=share).iloc[0]
            assert [entry[name] for name in THREE] == pytest.approx(expected[THREE].tolist())


def test_means_of_sets_are_compared_by_the_signed_rank_test(record, summary):
    for each, found, sets in found_in(summary):
        sign = -1 if each["greater_is_better"] else 1
        for entry in found["over_sets"][:1]:
            means = [
                [values_of(record, each["criterion"], entry[key], name).mean() for name in sets]
                for key in ("first", "second")
            ]
            expected = stats.bayesian_signed_rank(sign * np.transpose(means), n_samples=20_000)
            row = expected.iloc[0]
            assert [entry[name] for name in THREE] == pytest.approx(row[THREE].tolist())
            assert entry["difference"] == pytest.approx(np.mean(means[0]) - np.mean(means[1]))


def test_the_reference_is_the_best_algorithm_of_the_headline(summary):
    for each in summary["criteria"]:
        compared = summary["comparison"][each["criterion"]]
        best = compared["best_mean"] if compared["few_sets"] else compared["best"]
        ordered = compared["probabilities"]["ordered"]
        if best:
            assert ordered[0] in best
            assert sorted(ordered) == sorted(summary["algorithms"])


def test_values_beyond_1_have_a_wider_rope(make):
    record = make("four sets")
    results = record.results.copy()
    results.loc[results["criterion"] == "hamming", "value"] *= 50
    summary = summarise(replace(record, results=results))
    ropes = {each["criterion"]: found["rope"] for each, found, _ in found_in(summary)}
    largest = results.query("criterion == 'hamming'")["value"].max()
    assert ropes.pop("hamming") == pytest.approx(0.01 * largest)
    assert set(ropes.values()) == {0.01}
    words = " ".join(explanation(summary))
    assert f"; for Hamming loss it is {0.01 * largest:.3g}, a hundredth of the largest" in words


def test_the_tables_have_every_comparison(summary):
    for table, key in (
        (over_sets_table(summary), "over_sets"),
        (on_sets_table(summary), "on_sets"),
    ):
        entries = [entry for _, found, _ in found_in(summary) for entry in found[key]]
        titles = [column.title for column in table.columns]
        start = titles.index("first better")
        assert len(table.rows) == len(entries)
        for row, entry in zip(table.rows, entries, strict=True):
            cells = row[start : start + 3]
            assert [cell.value for cell in cells] == [entry[name] for name in THREE]
            bold = [name for name, cell in zip(THREE, cells, strict=True) if cell.mark == "best"]
            assert bold == [entry["decided"]] * bool(entry["decided"])


@pytest.mark.parametrize(("n_algorithms", "n_shown"), [(2, 1), (5, 10), (6, 5), (25, 24)])
def test_number_of_pairs_drawn(n_algorithms, n_shown):
    found = {"ordered": [f"a{n}" for n in range(n_algorithms)], "on_sets": []}
    assert len(shown_pairs(found)) == n_shown
    for n_sets in (1, 4, 29):
        found["on_sets"] = [{"set": n} for n in range(n_sets)]
        drawn = n_sets * len(pairs_on_sets(found))
        assert drawn <= 40
        assert drawn in (n_sets, n_sets * n_shown)


def entry(first, second, decided):
    shares = {name: 0.9 if name == decided else 0.05 for name in THREE}
    return {"first": first, "second": second, "decided": decided, **shares}


@pytest.mark.parametrize(
    ("over_sets", "on_sets", "expected"),
    [
        ([], [], ""),
        (
            [entry("A", "B", "first_better"), entry("C", "A", "second_better")], [],
            "With a probability of 0.9 or more, A is better than B and C.",
        ),
        (
            [entry("A", "B", "second_better"), entry("A", "C", "equivalent")], [],
            "With a probability of 0.9 or more, A is practically equivalent to C, worse than B.",
        ),
        (
            [entry("A", "B", ""), entry("A", "C", "")],
            [{"set": "s", **entry(*pair)} for pair in
             (("A", "B", "first_better"), ("C", "A", "first_better"), ("B", "C", "equivalent"))],
            "Over the sets, no comparison with A is decided: no probability reaches 0.9. "
            "Comparisons on single sets: 1 for it and 1 against it.",
        ),
        (
            [], [{"set": "s", **entry("A", "B", "")}, {"set": "s", **entry("A", "C", "")}],
            "No comparison with A is decided: no probability reaches 0.9.",
        ),
    ],
)  # fmt: skip
def test_sentences_of_decided_comparisons(over_sets, on_sets, expected):
    found = {"ordered": ["A", "B", "C"], "over_sets": over_sets, "on_sets": on_sets}
    assert by_probabilities(found) == expected


def test_an_unknown_comparison_is_an_error():
    with pytest.raises(ValueError, match="no comparison of 'A' and 'D'"):
        between([entry("A", "B", "")], "A", "D")


def test_few_sets_are_compared_by_probabilities(summary_of):
    for point in summary_of("four sets")["finding"]["points"]:
        assert "has the lowest mean. " in point["text"]
        assert "Comparisons on single sets: " in point["text"]
    assert not any("single" in p["text"] for p in summary_of("paper")["finding"]["points"])
