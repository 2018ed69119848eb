"""summarise: all numbers of a report, as data frames."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
import pandas as pd

from pairmend import published, stats
from pairmend._utils.text import counted, listed
from pairmend.report import comparison
from pairmend.report.comparison import MIN_SETS, Losses
from pairmend.study import StudyRecord

TABLES = ("sets", "algorithms", "criteria", "title", "name")
"""Parts of a definition that are shown as tables or titles."""
TESTS = ("verdicts", "ranks", "friedman", "pairs", "over_sets", "on_sets", "paper_tests")
"""Tables that commands return as JSON."""
LEVEL = 0.9
"""Probability from which a comparison counts as decided."""


@dataclass(frozen=True, eq=False)
class Summary:
    """Numbers of a report; `summarise` describes them."""

    title: str
    alpha: float
    control: str | None
    n_values: int
    is_paper_study: bool
    metrics: pd.DataFrame
    algorithms: pd.DataFrame
    sets: pd.DataFrame
    values: pd.DataFrame
    means: pd.DataFrame
    losses: Mapping[str, Losses]
    ranks: pd.DataFrame
    friedman: pd.DataFrame
    pairs: pd.DataFrame
    over_sets: pd.DataFrame
    on_sets: pd.DataFrame
    spearman: pd.DataFrame
    published: pd.DataFrame
    paper_tests: pd.DataFrame
    costs: pd.DataFrame
    failures: pd.DataFrame
    warnings: pd.DataFrame
    chosen: pd.DataFrame
    runs: pd.DataFrame
    settings: str
    verdicts: pd.DataFrame
    notes: tuple[str, ...]

    @property
    def lead(self) -> str:
        """The first sentence of the report."""
        by_winner = self.verdicts.groupby(["by", "best"], sort=False)["metric"].agg(listed)
        parts = [f"{best} has the best {by} in {in_}" for (by, best), in_ in by_winner.items()]
        return f"{'; '.join(parts)}." if parts else self.notes[0]

    @property
    def extent(self) -> str:
        """Numbers of algorithms, sets, metrics and folds, and the level."""
        frames = {"algorithm": self.algorithms, "set": self.sets, "metric": self.metrics}
        sizes = ", ".join(counted(len(frame), thing) for thing, frame in frames.items())
        n_folds = counted(self.n_values, "fold")
        return f"{sizes}, {n_folds}; level of significance {self.alpha:g}."

    def to_dict(self) -> dict[str, Any]:
        """Return verdicts, tests and notes as plain data, for JSON."""
        plain = {}
        for name in TESTS:
            table = getattr(self, name).reset_index()
            plain[name] = json.loads(table.to_json(orient="records", double_precision=15))
        return {"title": self.title, "alpha": self.alpha, **plain, "notes": list(self.notes)}


def summarise(record: StudyRecord) -> Summary:
    """Compute the numbers of a report.

    Parameters
    ----------
    record : StudyRecord
        The study, from `pairmend.study.read_study`; its method ``narrowed`` chooses algorithms,
        the level of significance and a control.

    Returns
    -------
    Summary
        A frozen dataclass: ``title``; ``alpha``; ``control``; ``n_values``, of a set and an
        algorithm; ``is_paper_study``, whether algorithms and sets are those of the paper; data
        frames of ``metrics``, ``algorithms`` and ``sets``; ``values`` of all folds and ``means``;
        ``ranks``, ``friedman``, ``pairs`` (tests of Wilcoxon and Nemenyi), ``over_sets`` and
        ``on_sets`` (Bayesian tests), ``spearman``; ``published`` and ``paper_tests`` (losses and
        p-values beside the paper's); ``costs``, ``failures``, ``warnings``, ``chosen`` (tuned
        parameters), ``runs`` and ``settings``; ``verdicts``, a row for each metric. ``notes`` are
        sentences
        about what is missing. ``to_dict`` returns the tests as plain data.

    Examples
    --------
    >>> import tempfile
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, read_study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     summary = summarise(read_study(folder))
    >>> list(summary.algorithms.index), summary.n_values
    (['pairs'], 2)
    """
    given, tasks = record.definition, record.tasks
    alpha, control = float(given.get("alpha", 0.05)), given.get("control")
    n_values = int(given["folds"]) * int(given["repeats"])
    metrics = _metrics(given["criteria"])
    sets, is_paper_study = _sets(record)
    names = [name for name in given["algorithms"] if name in set(record.results["algorithm"])]
    values = _values(record.results, metrics, sets.index, names)
    grouped = values.groupby(["metric", "set", "algorithm"], sort=False)["value"]
    means = grouped.agg(["mean", "std", "size"]).rename(columns={"std": "sd"})
    complete = means.loc[means["size"] == n_values, "mean"]
    losses = _losses(values, complete, metrics, sets.index, names)
    several = {m: each for m, each in losses.items() if len(each.means) and len(names) > 1}
    tested = {metric: each for metric, each in several.items() if each.is_tested}
    tables = {
        "pairs": {m: comparison.pair_tests(x, alpha, control) for m, x in tested.items()},
        "over_sets": {m: comparison.signed_rank_tests(x, control) for m, x in several.items()},
        "on_sets": {m: comparison.tests_on_sets(x, control) for m, x in several.items()},
        "spearman": {m: comparison.spearman_tests(x, sets) for m, x in losses.items()},
    }
    summary = Summary(
        title=str(given["title"] or given["name"]),
        alpha=alpha,
        control=control,
        n_values=n_values,
        is_paper_study=is_paper_study,
        metrics=metrics,
        algorithms=_algorithms(given["algorithms"]),
        sets=sets,
        values=values,
        means=means,
        losses=losses,
        ranks=pd.DataFrame({m: stats.average_ranks(x.means) for m, x in several.items()}).T,
        friedman=comparison.friedman_tests(losses),
        **{name: _stacked(found) for name, found in tables.items()},
        published=comparison.beside_published(complete, sets, metrics["name"]),
        paper_tests=pd.DataFrame(),
        costs=_costs(tasks, list(given["algorithms"])),
        failures=tasks[tasks["status"] == "failed"],
        warnings=_warnings(tasks),
        chosen=_chosen(tasks),
        runs=_runs(record),
        settings=_pairs({key: given[key] for key in given if key not in TABLES}),
        verdicts=pd.DataFrame(),
        notes=(),
    )
    return replace(
        summary,
        verdicts=_verdicts(summary, several),
        paper_tests=comparison.p_values_beside_published(summary),
        notes=tuple(_notes(summary, record, names)),
    )


def _metrics(given: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return the metrics by title, with their names in the study and in files."""
    titles = [str(about["title"] or name) for name, about in given.items()]
    slugs = [re.sub("[^a-z0-9]+", "-", name.lower()).strip("-") or "x" for name in given]
    if len(set(slugs)) < len(slugs):
        slugs = [f"{slug}-{number}" for number, slug in enumerate(slugs, 1)]
    greater = [bool(about["greater_is_better"]) for about in given.values()]
    index = pd.Index(titles if len(set(titles)) == len(titles) else list(given), name="metric")
    return pd.DataFrame({"name": list(given), "slug": slugs, "greater_is_better": greater}, index)


def _sets(record: StudyRecord) -> tuple[pd.DataFrame, bool]:
    """Return the sets that have results, and whether the study is that of the paper."""
    found = set(record.results["set"])
    sets = record.sets.rename(columns={"paper_number": "number"}).set_index("set")
    sets = sets.loc[[n for n in record.definition["sets"] if n in sets.index and n in found]]
    sets = sets.astype(dict.fromkeys(["number", *published.CHARACTERISTICS], float))
    n_known = int(sets["number"].isin(published.sets().index).sum())
    of_paper = set(published.ALGORITHMS) <= set(record.definition["algorithms"])
    if of_paper and 0 < len(sets) <= 2 * n_known:
        return sets.sort_values("number", kind="stable"), True
    return sets, False


def _values(
    results: pd.DataFrame, metrics: pd.DataFrame, sets: pd.Index, names: list[str]
) -> pd.DataFrame:
    """Return the values of all folds, in the order of metrics, sets and algorithms."""
    titles = dict(zip(metrics["name"], metrics.index, strict=True))
    values = results.assign(metric=results["criterion"].map(titles)).drop(columns="criterion")
    # Metrics that the study had in an earlier run have no title.
    values = values.dropna(subset="metric").sort_values(["repeat", "fold"], kind="stable")
    for column, order in (("algorithm", names), ("set", sets), ("metric", metrics.index)):
        values = values.iloc[np.argsort(pd.Index(order).get_indexer(values[column]), kind="stable")]
    return values


def _losses(
    values: pd.DataFrame,
    complete: "pd.Series[float]",
    metrics: pd.DataFrame,
    sets: pd.Index,
    names: list[str],
) -> dict[str, Losses]:
    """Return the losses by each metric on the sets that have all results."""
    found = {}
    for metric, greater in metrics["greater_is_better"].items():
        of_metric = complete[complete.index.get_level_values("metric") == metric]
        means = of_metric.droplevel("metric").unstack().reindex(index=sets, columns=names).dropna()
        rows = values[(values["metric"] == metric) & values["set"].isin(means.index)]
        folds = rows.set_index(["set", "repeat", "fold", "algorithm"])["value"].unstack()
        folds = folds.reindex(means.index, level="set").reindex(columns=names)
        sign = -1.0 if greater else 1.0
        found[metric] = Losses(sign * means, sign * folds, sign)
    return found


def _stacked(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of metrics as one."""
    filled = {metric: table for metric, table in tables.items() if len(table)}
    return pd.concat(filled, names=["metric"]) if filled else pd.DataFrame()


def _algorithms(given: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    rows = [(_text(each.get("class", "")), _pairs(each.get("params"))) for each in given.values()]
    index = pd.Index(list(given), name="algorithm")
    return pd.DataFrame(rows, index, ["class", "parameters"])


def _verdicts(summary: Summary, losses: Mapping[str, Losses]) -> pd.DataFrame:
    """Return the best algorithms by each metric, and which are better than others."""
    rows = []
    for metric, each in losses.items():
        order = summary.ranks.loc[metric] if each.is_tested else each.means.mean()
        best = order.index[np.isclose(order, order.min(), rtol=1e-12, atol=0)]
        significant = "not tested"
        if each.is_tested:
            tests = summary.pairs.loc[metric]
            better = tests.loc[tests["adjusted p"] < summary.alpha, "effect"] > 0
            significant = _as_text(better)
        tests = summary.over_sets if len(each.means) > 1 else summary.on_sets
        decided = "not tested"
        if len(tests):
            likely = tests.loc[metric][["first better", "second better"]] >= LEVEL
            decided = _as_text(likely.loc[likely.any(axis=1), "first better"])
        row = {
            "metric": metric,
            "sets": len(each.means),
            "by": "average rank" if each.is_tested else "mean",
            "best": listed(best),
            "average rank": summary.ranks.loc[metric, best[0]],
            "mean": each.sign * each.means[best[0]].mean(),
            f"significant at {summary.alpha:g}": significant,
            f"probability {LEVEL} or more": decided,
        }
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else ["metric", "by", "best"])


def _as_text(first_is_better: "pd.Series[bool]") -> str:
    """Return pairs of which one is better as text."""
    worse: dict[str, list[str]] = {}
    for (*_, first, second), is_first in first_is_better.items():
        better, other = (first, second) if is_first else (second, first)
        worse.setdefault(better, []).append(other)
    parts = [f"{better} better than {listed(others)}" for better, others in worse.items()]
    return "; ".join(parts) or "none"


def _notes(summary: Summary, record: StudyRecord, names: list[str]) -> Iterator[str]:
    """Yield sentences about what is missing."""
    given, losses = record.definition, summary.losses
    n_pairs = len(names) - 1 if summary.control else comb(len(names), 2)
    if len(names) < 2:
        yield f"There is nothing to compare: {listed(names or ['no algorithm'])} has results."
    else:
        for metric, each in losses.items():
            left_out = [name for name in summary.sets.index if name not in each.means.index]
            if left_out:
                why = "left out of ranks and tests, because results are missing"
                yield f"{metric}: {why}: {listed(left_out)}."
        if not all(each.is_tested for each in losses.values()):
            yield (
                f"Friedman's and Wilcoxon's tests need at least {MIN_SETS} sets with all results; "
                "the Bayesian tests are valid on few sets."
            )
        elif any(
            n_pairs * 2.0 ** (1 - len(each.means)) >= summary.alpha for each in losses.values()
        ):
            why = f"With so few sets and {len(names)} algorithms"  # each test is exact
            yield f"{why} no adjusted p-value of Wilcoxon's test can be below {summary.alpha:g}."
    for thing, known in (("algorithms", names), ("sets", summary.sets.index)):
        if missing := [name for name in given[thing] if name not in known]:
            yield f"{thing.title()} without any result: {listed(missing)}."
    if len(summary.failures):
        n_failed = counted(len(summary.failures), "task")
        yield f"{n_failed} failed; the next run of the study tries again."


def _costs(tasks: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return the times of each algorithm over its finished tasks."""
    done = tasks[tasks["status"] == "done"]
    is_own = done["algorithm"] == done["fitted_by"]
    total = done["fit_seconds"].where(is_own, 0.0) + done["predict_seconds"].fillna(0.0)
    shared = done["fitted_by"].mask(is_own, "")
    found = done.assign(total=total, shared=shared).groupby("algorithm").agg(
        tasks=("set", "size"), fit=("fit_seconds", "mean"), predict=("predict_seconds", "mean"),
        total=("total", "sum"), shared=("shared", "max"),
    )  # fmt: skip
    return found.reindex([name for name in names if name in found.index])


def _warnings(tasks: pd.DataFrame) -> pd.DataFrame:
    """Count the tasks with each warning of each algorithm."""
    rows = [
        (task.Index, task.algorithm, " ".join(warning.split()))
        for task in tasks.itertuples()
        for warning in re.split(r"\n(?=\w*Warning: )", task.warnings)
        if warning.strip()
    ]
    found = pd.DataFrame(rows, columns=["task", "algorithm", "warning"]).drop_duplicates()
    return _counted(found, ["algorithm", "warning"])


def _chosen(tasks: pd.DataFrame) -> pd.DataFrame:
    """Count how often searches chose each value of a parameter."""
    rows = [
        (algorithm, name, json.dumps(value))
        for algorithm, text in tasks[["algorithm", "chosen"]].itertuples(index=False)
        for name, value in json.loads(text or "{}").items()
    ]
    keys = ["algorithm", "parameter", "value"]
    return _counted(pd.DataFrame(rows, columns=keys), keys)


def _counted(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    return rows.groupby(keys, sort=False).size().reset_index(name="tasks")


def _runs(record: StudyRecord) -> pd.DataFrame:
    """Return when and with which versions tasks were computed."""
    grouped = record.tasks.groupby("run")
    done = grouped[["set", "algorithm"]].agg(lambda names: ", ".join(names.unique()))
    done = done.rename(columns={"set": "sets", "algorithm": "algorithms"})
    runs = record.runs.join(done.assign(tasks=grouped.size()), on="run", how="inner")
    plain = {name: runs[name].map(_pairs) for name in ("versions", "machine")}
    columns = ["started", "ended", "tasks", "sets", "algorithms", "versions", "machine"]
    return runs.assign(**plain)[columns]


def _pairs(given: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{key} = {_text(value)}" for key, value in (given or {}).items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
