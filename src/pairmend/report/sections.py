"""Sections of a report: their texts, tables and figures, from its summary."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pairmend import plots, published, stats
from pairmend.plots.ranks import MIN_SPOKES
from pairmend.report import comparison
from pairmend.report.comparison import GENERATED, IMPOSSIBLE, N_SAMPLES, OUTCOMES, with_algorithm
from pairmend.report.summary import LEVEL, Summary
from pairmend.report.tables import COUNTS, Table
from pairmend.stats.bayesian import ROPE

MOST_BARS = 40
"""Number of bars up to which figures of tests show all pairs; else those of one algorithm."""


class Figure(NamedTuple):
    """A figure of a report."""

    id: str
    caption: str
    drawing: Any


class Fold(NamedTuple):
    """Parts that are hidden until they are opened."""

    title: str
    parts: list[Any]


class Code(NamedTuple):
    """Text with a fixed layout."""

    code: str


class Section(NamedTuple):
    """A section of a report; its parts are texts, tables, figures and folds."""

    id: str
    title: str
    parts: list[Any]


def verdict_table(summary: Summary) -> Table:
    """Return the table of the best algorithms, at the head of the page."""
    caption = (
        "Friedman's test with Holm's adjustment over the metrics, Wilcoxon's test with "
        f"{_procedure(summary)} at the level {summary.alpha:g}, and Bayesian tests."
    )
    frame = summary.verdicts.dropna(axis=1, how="all")
    return Table("verdicts", "Which algorithms are best?", frame, caption)


def sections(summary: Summary) -> list[Section]:
    """Return the sections of a report that have any part."""
    made = {
        ("ranks", "Ranks"): _ranks(summary),
        ("tests", "Tests"): _tests(summary),
        ("probabilities", "Bayesian tests"): _probabilities(summary),
        ("results", "Results"): _results(summary),
        ("published", "Published and measured"): _published(summary),
        ("sets", "Sets"): _sets(summary),
        ("costs", "Times"): _costs(summary),
        ("failures", "Failed tasks"): _failures(summary),
        ("run", "Settings and runs"): _run(summary),
    }
    found = []
    for names, parts in made.items():
        filled = [part for part in parts if getattr(part, "rows", getattr(part, "parts", part))]
        if filled:
            found.append(Section(*names, filled))
    return found


def _ranks(summary: Summary) -> Iterator[Any]:
    ranks, alpha = summary.ranks, summary.alpha
    if ranks.empty:
        return
    marks = _where(ranks.eq(ranks.min(axis=1), axis=0))
    caption = "Average ranks, the best of each metric in bold."
    yield Table("ranks", "Ranks.", ranks.rename_axis("metric"), caption, marks=marks, kinds={})
    differences = {
        metric: stats.critical_difference(*summary.losses[metric].means.shape[::-1], alpha=alpha)
        for metric in ranks.index
        if summary.losses[metric].is_tested and summary.control is None
    }
    if len(ranks) >= MIN_SPOKES:
        # One length of bars for all spokes: all metrics must have the same number of sets.
        same = len(differences) == len(ranks) and len(set(differences.values())) == 1
        caption = "Average ranks by metric; better further out."
        if same:
            caption += (
                f" A bar is as long as Nemenyi's critical difference at {alpha:g} and begins at "
                "the best rank: ranks at its inner end or beyond differ significantly from it."
            )
        drawing = plots.rank_radar(ranks, next(iter(differences.values())) if same else None)
        yield Figure("radar", caption, drawing)
    for metric, difference in differences.items():
        drawing = plots.critical_difference(ranks.loc[metric], difference)
        caption = (
            f"{metric}, {len(summary.losses[metric].means)} sets; algorithms joined by a bar do "
            f"not differ significantly by Nemenyi's test at {alpha:g}."
        )
        yield Figure(f"ranks-{summary.metrics.loc[metric, 'slug']}", caption, drawing)


def _tests(summary: Summary) -> Iterator[Any]:
    if summary.pairs.empty:
        return
    alpha = summary.alpha
    caption = (
        "Friedman's test with Iman and Davenport's F; p-values adjusted over the metrics by Holm's "
        f"procedure, in bold below {alpha:g}."
    )
    yield Table("friedman", "Do the algorithms differ?", summary.friedman, caption, alpha=alpha)
    tests = (
        f"Wilcoxon's signed-rank test, p-values adjusted by {_procedure(summary)}, in bold below "
        f"{alpha:g}."
    )
    matrix = summary.pairs["adjusted p"].unstack(sort=False)
    yield Table("wilcoxon", "Which algorithms differ?", matrix, tests, style="p", alpha=alpha)
    caption = (
        f"{tests} Sets that the first won, tied and lost; the mean difference is first minus "
        f"second, with a {100 * (1 - alpha):g} % bootstrap interval over the sets; the effect is "
        "the rank-biserial correlation: +1 where the first is better on every set."
    )
    title = "How much do they differ?"
    table = Table("pairs", title, summary.pairs, caption, alpha=alpha)
    yield Fold("Every pair, with effect sizes", [table])


def _probabilities(summary: Summary) -> Iterator[Any]:
    if summary.over_sets.empty and summary.on_sets.empty:
        return
    yield (
        "These tests are valid on few sets. They have the probabilities that the first algorithm "
        "is better, that both are practically equivalent, and that the second is better. "
        f"Equivalent are losses that differ by at most {ROPE} (the rope), or by a hundredth of the "
        f"largest value if it is above 1. {LEVEL} or more decides a comparison."
    )
    decided = f"Probabilities of {LEVEL} or more in bold; differences are first minus second."
    if len(summary.over_sets):
        yield from _probability_figures(summary, summary.over_sets, "over-sets")
        caption = f"Bayesian signed-rank test of Benavoli et al. (2017), {N_SAMPLES:,} samples."
        marks = _where(summary.over_sets[OUTCOMES] >= LEVEL)
        given = (summary.over_sets, f"{caption} {decided}")
        table = Table("bayesian-sets", "All sets.", *given, marks=marks)
        yield Fold("Every pair, over sets", [table])
    if len(summary.on_sets):
        figures = _probability_figures(summary, summary.on_sets, "on-sets")
        caption = (
            "Corrected resampled t-test (Nadeau and Bengio, 2003), p-values not adjusted, and "
            f"Bayesian correlated t-test over the folds. {decided}"
        )
        marks = _where(summary.on_sets[OUTCOMES] >= LEVEL)
        table = Table("bayesian-folds", "Each set.", summary.on_sets, caption, marks=marks)
        yield Fold("Each set separately", [*figures, table])


def _probability_figures(summary: Summary, tests: pd.DataFrame, of: str) -> Iterator[Figure]:
    """Yield the figures of tests over sets or on sets."""
    for metric in tests.index.unique("metric"):
        losses, slug = summary.losses[metric], summary.metrics.loc[metric, "slug"]
        order = summary.ranks.loc[metric] if losses.is_tested else losses.means.mean()
        best = list(order.sort_values(kind="stable").index[:2])
        shown = tests.loc[metric]
        for name in (summary.control or best[0], best[1]):
            if len(shown) > MOST_BARS:
                shown = shown[with_algorithm(shown, name)]
        names = dict(zip(OUTCOMES, ("first_better", "equivalent", "second_better"), strict=True))
        drawing = plots.probability_bars(shown.rename(columns=names))
        yield Figure(f"{of}-{slug}", f"{metric}: Bayesian test {of.replace('-', ' ')}.", drawing)
        if of == "over-sets":
            # As many samples as in the test, so that the shares equal its probabilities.
            samples = stats.signed_rank_posterior(
                losses.means[best], rope=losses.rope, n_samples=N_SAMPLES
            )
            caption = f"{metric}: the two best algorithms, posterior over the sets."
            yield Figure(f"triangle-{slug}", caption, plots.probability_triangle(samples, *best))


def _results(summary: Summary) -> Iterator[Any]:
    if summary.means.empty:
        return
    names = [name for name in summary.algorithms.index if name in set(summary.values["algorithm"])]
    wide = summary.means.unstack(["metric", "algorithm"]).reindex(summary.sets.index)
    columns = pd.MultiIndex.from_product([summary.metrics.index, names])
    means, sizes = (wide[of].reindex(columns=columns) for of in ("mean", "size"))
    printed = means.where(sizes == summary.n_values).round(3)
    greater = summary.metrics["greater_is_better"]
    signs = [-1.0 if greater[metric] else 1.0 for metric, _ in columns]
    best = (signs * printed).T.groupby(level=0).min().T  # means that are printed equal are equal
    is_best = signs * printed == best.reindex(columns=columns.get_level_values(0)).to_numpy()
    marks = _where(is_best).mask(sizes < summary.n_values, "differs")
    caption = "The best of each set in bold; in italics: means of a part of the folds."
    if greater.any():
        caption += f" Higher is better for {', '.join(greater.index[greater])}."
    frame = _numbered(summary, means)
    yield Table("results", "All results.", frame, caption, kinds=COUNTS, marks=marks)
    parts: list[Any] = []
    for metric, row in summary.metrics.iterrows():
        rows = summary.values[summary.values["metric"] == metric]
        if len(rows):
            side = "right" if row["greater_is_better"] else "left"
            caption = f"{metric}; better on the {side}. Large marks are means, small ticks folds."
            drawing = plots.fold_spread(rows, criterion=metric)
            parts.append(Figure(f"folds-{row['slug']}", caption, drawing))
    if summary.n_values > 1:
        spread = summary.means[["mean", "sd"]].unstack(sort=False).swaplevel(axis=1)
        spread = spread.reindex(columns=pd.MultiIndex.from_product([names, ["mean", "sd"]]))
        caption = "Means and standard deviations over the folds."
        parts.append(Table("spread", "Spread over the folds.", spread, caption, kinds={}))
    yield Fold("Every fold", parts)


def _published(summary: Summary) -> Iterator[Any]:
    losses = summary.published
    if losses.empty:
        return
    yield f"The printed numbers are those of {published.SOURCE}."
    yield (
        "The share of labels that a method predicts follows from its Hamming loss H and its micro "
        "F1 loss M: it is H / M − LD, with LD the label density. A threshold of one half predicts "
        "about half of the labels, because the mean score of each row is one half. Printed losses "
        f"that imply hardly any predicted label are called {IMPOSSIBLE}. The losses of generated "
        "sets cannot be compared, because the paper does not specify how they were generated."
    )
    caption = (
        f"The paper tested 29 sets at 0.1, this study {len(summary.sets)}; in bold: p-values here "
        f"below {summary.alpha:g}. The paper found FCM, FCM-W and FCM-O better than LPW."
    )
    title = "Do the paper's tests find the same?"
    yield Table("paper-tests", title, summary.paper_tests, caption, alpha=summary.alpha)
    title = "How large are the differences?"
    frame = comparison.distances(losses)
    yield Table("distances", title, frame, "Mean absolute differences.", kinds={})
    comparable = losses[losses["printed"] != GENERATED]
    if len(comparable):
        caption = (
            "All metrics, without generated sets. On the dashed line printed and measured losses "
            "are equal; sets more than 0.1 from it are named."
        )
        yield Figure("published-and-measured", caption, plots.published_and_measured(comparable))
    keys = ["set", "printed", "metric", "algorithm"]
    wide = losses.set_index(keys).unstack(sort=False).swaplevel(axis=1)
    wide = wide.reindex(columns=wide.columns.unique(0), level=0)
    yield Fold("Every number", [Table("published", "Every number.", wide)])


def _sets(summary: Summary) -> Iterator[Any]:
    names = list(published.CHARACTERISTICS)
    frame, marks = summary.sets[names], None
    caption = (
        "Rows N, features and labels d, labels L, cardinality LC, density LD, mean imbalance ratio "
        "avIR, mean concurrence AVsc."
    )
    if summary.is_paper_study:
        printed = published.sets()[names].reindex(summary.sets["number"]).set_axis(frame.index)
        differs = (frame - printed).abs() > [0, 0, 0, 0.0006, 0.0006, 0.0006, 0.0006]
        frame = pd.concat({"measured": frame, "published": printed}, axis=1)
        marks = pd.concat({"measured": _where(differs, "differs")}, axis=1)
        caption += " In italics: not what the paper printed."
    if not summary.sets[names].isna().all(axis=None):
        yield Table("characteristics", "Sets.", _numbered(summary, frame), caption, marks=marks)
    caption = (
        "Spearman's correlation of the metrics with characteristics of the sets; p-values adjusted "
        f"over each metric by Holm's procedure, in bold below {summary.alpha:g}."
    )
    title = "Which sets are hard?"
    yield Table("spearman", title, summary.spearman, caption, alpha=summary.alpha)


def _costs(summary: Summary) -> Iterator[Any]:
    names = {"fit": "fit (s)", "predict": "predict (s)", "total": "total (s)"}
    costs = summary.costs.rename(columns={**names, "shared": "uses the fit of"})
    caption = "Mean times of a task; a shared fit is counted once."
    yield Table("costs", "Times.", costs, caption, style="short")


def _failures(summary: Summary) -> Iterator[Any]:
    failed = summary.failures
    counts = failed.groupby(["set", "algorithm", "error"], sort=False).size()
    yield Table("failures", "Errors.", counts.reset_index(name="tasks"))
    for (error, traceback), some in failed.groupby(["error", "traceback"], sort=False):
        tasks = [
            f"{task.algorithm} on {task.set}, repeat {task.repeat + 1}, fold {task.fold + 1}"
            for task in some.itertuples()
        ]
        yield Fold(error or "no message", ["; ".join(tasks), Code(traceback)])


def _run(summary: Summary) -> Iterator[Any]:
    caption = "What was computed when, and with which versions."
    yield Table("runs", "Runs.", summary.runs, caption)
    yield f"Settings: {summary.settings}."
    yield Table("warnings", "Warnings.", summary.warnings)
    yield Table("algorithms", "Algorithms.", summary.algorithms)
    caption = "In how many tasks the search within the training part chose each value."
    yield Table("chosen", "Tuned parameters.", summary.chosen, caption)
    sources = summary.sets[["title", "source", "sha256"]]
    yield Table("sources", "Sources of the sets.", sources)


def _procedure(summary: Summary) -> str:
    name = comparison.procedure(summary.ranks.shape[1], summary.control)
    return f"{name.title()}'s procedure"


def _numbered(summary: Summary, frame: pd.DataFrame) -> pd.DataFrame:
    """Add the sets' numbers in the paper to the index, in the paper's study."""
    if not summary.is_paper_study:
        return frame
    index = pd.MultiIndex.from_arrays([frame.index, summary.sets["number"]], names=["set", "No."])
    return frame.set_axis(index)


def _where(mask: pd.DataFrame, mark: str = "best") -> pd.DataFrame:
    return pd.DataFrame(np.where(mask, mark, ""), mask.index, mask.columns)
