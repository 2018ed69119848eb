"""Statistical tests between algorithms, and comparison with the paper, as data frames.

The share of labels that a method predicts follows from its printed losses. With P the share of
label decisions that are positive and LD the label density, the Hamming loss is H = P + LD - 2 TP
and the micro F1 loss is M = H / (P + LD), so that P = H / M - LD (for means over folds,
approximately). The mean score of each row is 1/2, so a threshold at 1/2 predicts about half of the
labels: where P is close to 0, the printed losses are impossible for the method as described.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairmend import published, stats
from pairmend.datasets import catalogue
from pairmend.stats.adjustment import MOST_ALGORITHMS
from pairmend.stats.bayesian import ROPE

if TYPE_CHECKING:
    from pairmend.report.summary import Summary

MIN_SETS = 5
"""Minimum number of sets for the tests of Friedman, Nemenyi and Wilcoxon.

With 4 sets the smallest exact p-value of Wilcoxon's test is 0.125. The Bayesian tests have no
minimum.
"""
N_SAMPLES = 20_000
"""Samples of the signed-rank test: a probability's standard error is 0.0036 at most."""
OUTCOMES = ["first better", "equivalent", "second better"]
"""Columns of the three probabilities of a Bayesian test."""
NAMES = {
    "p_value": "p", "adjusted_p_value": "adjusted p", "chi_square": "χ²", "iman_davenport": "F",
    "iman_davenport_p_value": "p of F", "wins": "won", "ties": "tied", "losses": "lost",
    "rank_biserial": "effect", "estimate": "difference", "mean_difference": "difference",
    "statistic": "t", "first_better": OUTCOMES[0], "second_better": OUTCOMES[2],
}  # fmt: skip
"""Titles of the columns of tests."""

MIN_SHARE = 0.15
"""Share of predicted labels below which printed losses are impossible for the described method.

The shares of the paper's sets are below 0.10 or above 0.28, except Enron's 0.18."""
POSSIBLE, IMPOSSIBLE, GENERATED = "possible", "impossible", "generated set"
"""Plausibility of printed losses: possible for the described method, impossible for it, or of a
set that the catalogue generates, whose losses cannot be compared."""
PRINTED_P = {
    "Friedman": {"hamming": 0.063, "macro_f1": 0.911, "micro_f1": 0.911, "zero_one": 0.008},
    "FCM": {"hamming": 0.063, "zero_one": 0.054},
    "FCM-W": {"zero_one": 0.040},
    "FCM-O": {"zero_one": 0.054},
}
"""The paper's adjusted p-values: of Friedman's test, and of Wilcoxon's test of LPW and another."""


@dataclass(frozen=True)
class Losses:
    """Losses of one metric on the sets that have all results; those of scores are negated."""

    means: pd.DataFrame
    folds: pd.DataFrame
    sign: float

    @property
    def is_tested(self) -> bool:
        """Whether there are enough sets and algorithms for tests over sets."""
        return len(self.means) >= MIN_SETS and self.means.shape[1] > 1

    @property
    def rope(self) -> float:
        """Half-width of the region of practical equivalence."""
        return ROPE * max(1.0, float(self.folds.abs().max().max()) if self.folds.size else 1.0)


def procedure(n_algorithms: int, control: str | None) -> str:
    """Return the name of the procedure that adjusts the p-values of Wilcoxon's test."""
    if control is not None:
        return "holm"
    return "bergmann-hommel" if n_algorithms <= MOST_ALGORITHMS else "shaffer"


def friedman_tests(losses: Mapping[str, Losses]) -> pd.DataFrame:
    """Test each metric; p-values are adjusted over the metrics by Holm's procedure."""
    tested = {m: x.means for m, x in losses.items() if x.is_tested and x.means.shape[1] > 2}
    found = pd.DataFrame({metric: stats.friedman(table) for metric, table in tested.items()}).T
    if tested:
        found.insert(0, "sets", [len(table) for table in tested.values()])
        found["adjusted p"] = stats.adjust(found["p_value"])
    return found.rename_axis("metric").rename(columns=NAMES)


def pair_tests(losses: Losses, alpha: float, control: str | None) -> pd.DataFrame:
    """Compare pairs by Wilcoxon's and Nemenyi's tests, with effect sizes and intervals."""
    adjust = procedure(losses.means.shape[1], control)
    tests = stats.wilcoxon(losses.means, adjust=adjust, control=control)
    signed = losses.sign * losses.means
    intervals = stats.bootstrap_intervals(signed, control=control, confidence=1 - alpha)
    columns = ["wins", "ties", "losses", "rank_biserial", "method", "p_value", "adjusted_p_value"]
    found = intervals.join(tests[columns]).rename(columns=NAMES)
    if control is None:
        found["Nemenyi p"] = stats.nemenyi(losses.means)["p_value"]
    return found


def signed_rank_tests(losses: Losses, control: str | None) -> pd.DataFrame:
    """Compare pairs over sets by the Bayesian signed-rank test."""
    if len(losses.means) < 2:
        return pd.DataFrame()
    given: dict[str, Any] = {"rope": losses.rope, "n_samples": N_SAMPLES, "control": control}
    tests = stats.bayesian_signed_rank(losses.means, **given)
    tests.insert(0, "sets", len(losses.means))
    return _signed(tests, losses)


def tests_on_sets(losses: Losses, control: str | None) -> pd.DataFrame:
    """Compare pairs over the folds of each set by the corrected t-test and its Bayesian form."""
    tables = {name: losses.folds.xs(name, level="set") for name in losses.means.index}
    tests = {
        name: stats.corrected_t_test(folds, rope=losses.rope)
        for name, folds in tables.items()
        if len(folds) > 1  # a single value has no spread
    }
    if not tests:
        return pd.DataFrame()
    found = pd.concat(tests, names=["set"])
    found = found if control is None else found[with_algorithm(found, control)]
    return _signed(found.drop(columns="standard_error"), losses)


def with_algorithm(tests: pd.DataFrame, name: str) -> Any:
    """Return which rows compare an algorithm."""
    return tests.index.to_frame()[["first", "second"]].eq(name).any(axis=1)


def spearman_tests(losses: Losses, sets: pd.DataFrame) -> pd.DataFrame:
    """Correlate losses with characteristics; p-values are adjusted by Holm's procedure."""
    known = sets.loc[losses.means.index, list(published.CHARACTERISTICS)].dropna(axis=1)
    if known.empty or len(known) < MIN_SETS:
        return pd.DataFrame()
    tests = stats.spearman(losses.sign * losses.means, known)
    defined = tests["p_value"].dropna()
    tests["adjusted p"] = stats.adjust(defined) if len(defined) else defined
    wide = tests.rename(columns={**NAMES, "rho": "ρ"}).unstack(sort=False).swaplevel(axis=1)
    columns = pd.MultiIndex.from_product([losses.means.columns, ["ρ", "p", "adjusted p"]])
    return wide.reindex(columns=columns).reindex(known.columns).rename_axis("characteristic")


def beside_published(
    means: "pd.Series[float]", sets: pd.DataFrame, metrics: "pd.Series[str]"
) -> pd.DataFrame:
    """Return printed beside measured losses, and whether the printed ones are possible."""
    numbers = sets["number"].dropna().astype(int)
    printed = published.losses()
    shares = printed.xs("hamming", level=1) / printed.xs("micro_f1", level=1)
    shares = shares.sub(published.sets()["LD"], axis=0)
    names = [name for name in shares if name in means.index.get_level_values("algorithm")]
    low = (shares[names] < MIN_SHARE).all(axis=1)
    made = [entry for entry in catalogue().values() if entry.status == "generated"]
    generated = {number for entry in made for number in entry.paper_numbers}
    kinds = {
        name: GENERATED if number in generated else IMPOSSIBLE if low[number] else POSSIBLE
        for name, number in numbers.items()
    }
    rows = means.rename("measured").reset_index()
    rows = rows[rows["set"].isin(numbers.index)]
    keys = [rows["set"].map(numbers), rows["metric"].map(metrics), rows["algorithm"]]
    rows["published"] = printed.stack().reindex(pd.MultiIndex.from_arrays(keys)).to_numpy()
    rows["difference"] = rows["measured"] - rows["published"]
    rows["printed"] = rows["set"].map(kinds)
    columns = ["set", "printed", "metric", "algorithm", "published", "measured", "difference"]
    return rows.dropna(subset="published")[columns].reset_index(drop=True)


def distances(losses: pd.DataFrame) -> pd.DataFrame:
    """Return mean distances of printed and measured losses by plausibility and algorithm."""
    rows = losses.assign(difference=losses["difference"].abs())
    comparable = rows[rows["printed"] != GENERATED].assign(printed="all but generated")
    both = pd.concat([comparable, rows, rows.assign(metric="all"), comparable.assign(metric="all")])
    keys = ["printed", "algorithm", "metric"]
    return both.groupby(keys, sort=False)["difference"].mean().unstack(sort=False)


def p_values_beside_published(summary: "Summary") -> pd.DataFrame:
    """Return the paper's adjusted p-values beside those of the study."""
    rows = []
    known = summary.metrics["name"] if summary.is_paper_study else {}
    titles = {name: title for title, name in known.items()}
    for test, of_metric in PRINTED_P.items():
        for title, printed in ((titles.get(name), p) for name, p in of_metric.items()):
            if test == "Friedman" and title in summary.friedman.index:
                p = summary.friedman.loc[title, "adjusted p"]
                rows.append((title, "Friedman", printed, p, ""))
            elif (title, "LPW", test) in summary.pairs.index:
                p, effect = summary.pairs.loc[(title, "LPW", test), ["adjusted p", "effect"]]
                better = "LPW" if effect > 0 else test
                rows.append((title, f"Wilcoxon, LPW and {test}", printed, p, better))
    return pd.DataFrame(rows, columns=["metric", "test", "printed p", "adjusted p", "better here"])


def _signed(tests: pd.DataFrame, losses: Losses) -> pd.DataFrame:
    """Turn the signs of differences of scores, and name the columns."""
    turned = [name for name in ("mean_difference", "statistic") if name in tests]
    found = tests.assign(**{name: losses.sign * tests[name] for name in turned})
    return found.assign(rope=losses.rope).rename(columns=NAMES)
