"""Results from elsewhere: tables of losses, long or wide, as the record of a study."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairmend._utils.defaults import LOSS_NAMES
from pairmend._utils.text import counted
from pairmend.published import CHARACTERISTICS
from pairmend.report.writing import write_report
from pairmend.study import StudyRecord

NAMES = {
    "set": ("set", "dataset", "data set"),
    "algorithm": ("algorithm", "method", "classifier", "model"),
    "value": ("value", "loss", "score"),
    "criterion": ("criterion", "metric", "measure"),
    "repeat": ("repeat", "repetition"),
    "fold": ("fold", "split"),
}
"""Accepted names of the columns of a long table, in upper or lower case."""
SCORES = re.compile(
    r"^(?!1 ?-)(.*[ _-])?(accuracy|auc|f1|jaccard|precision|recall)\b", re.IGNORECASE
)
"""Names of metrics of which greater values are better."""
NEEDED = {"set", "algorithm", "value"}
KEYS = ["set", "repeat", "fold", "algorithm", "criterion"]
SECTIONS = ("ranks", "tests", "probabilities", "results")
"""Sections of a report that need nothing but values."""
LAYOUTS = (
    "expected a long table with the columns set, algorithm, value and perhaps criterion, fold, "
    "repeat; or a wide one with the names of sets in the first column and a column of numbers for "
    "each algorithm"
)


def compare_losses(
    losses: "str | Path | pd.DataFrame",
    out: str | Path,
    *,
    greater_is_better: Collection[str] | bool = False,
    alpha: float = 0.05,
    control: str | None = None,
    title: str = "",
) -> Path:
    """Write tests, tables and figures of results that come from elsewhere.

    Parameters
    ----------
    losses : path or DataFrame
        A CSV or Parquet file, or a frame. Long: a row for each value, with the columns ``set``,
        ``algorithm``, ``value`` and perhaps ``criterion``, ``fold`` and ``repeat``. Wide: a row for
        each set, with its name in the first column (or the index of a frame) and its values in a
        column for each algorithm.
    out : path
        The page to write, or a folder to write ``report.html`` to. Tables and figures are written
        to the folders ``tables`` and ``figures`` beside it.
    greater_is_better : bool or collection of str, default=False
        Whether greater values are better, or the names of the metrics for which they are. False is
        an error if the name of a metric or of the column is that of a score, such as accuracy.
    alpha : float, default=0.05
        Level of significance.
    control : str, default=None
        Algorithm to compare with each other one; None means all pairs.
    title : str, default=""
        Title of the page.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> losses = pd.DataFrame({"A": [0.3, 0.2], "B": [0.1, 0.2]}, index=["yeast", "flare"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     compare_losses(losses, folder).name
    'report.html'
    """
    record = losses_record(losses, greater_is_better, title=title)
    return write_report(record.narrowed(alpha=alpha, control=control), out, only=SECTIONS)


def losses_record(
    losses: "str | Path | pd.DataFrame",
    greater_is_better: Collection[str] | bool = False,
    *,
    title: str = "",
) -> StudyRecord:
    """Return a table of losses as the record of a study without tasks."""
    where = "the table" if isinstance(losses, pd.DataFrame) else str(losses)
    frame = losses if isinstance(losses, pd.DataFrame) else _read(Path(losses))
    rows = _tidy(frame, where)
    names = {key: list(rows[key].unique()) for key in ("set", "algorithm", "criterion")}
    if len(names["algorithm"]) < 2:
        raise ValueError(
            f"{where}: a comparison needs at least two algorithms, found {names['algorithm']}"
        )
    if greater_is_better is False:
        _refuse_scores(where, frame.columns, names["criterion"])
    greater = set(greater_is_better) if not isinstance(greater_is_better, bool) else set()
    if greater_is_better is True:
        greater = set(names["criterion"])
    if unknown := greater - set(names["criterion"]):
        raise ValueError(
            f"{where}: there is no metric {', '.join(map(repr, sorted(unknown)))}; found "
            f"{', '.join(map(repr, names['criterion']))}"
        )
    sets = pd.DataFrame({"set": names["set"], "title": names["set"], "sha256": "", "source": ""})
    sets[["paper_number", *CHARACTERISTICS]] = np.nan
    task_columns = [
        "set", "repeat", "fold", "algorithm", "status", "fitted_by", "fit_seconds",
        "predict_seconds", "peak_bytes", "warnings", "error", "traceback", "finished",
    ]  # fmt: skip
    return StudyRecord(
        definition={
            "name": "comparison",
            "title": title or "Comparison of algorithms",
            "folds": int(rows["fold"].max()) + 1,
            "repeats": int(rows["repeat"].max()) + 1,
            "alpha": 0.05,
            "sets": {name: {} for name in names["set"]},
            "algorithms": {name: {} for name in names["algorithm"]},
            "criteria": {
                name: {"title": name, "greater_is_better": name in greater}
                for name in names["criterion"]
            },
        },
        results=rows,
        tasks=pd.DataFrame(columns=task_columns, dtype=object),
        sets=sets,
        runs=pd.DataFrame(columns=["started", "ended", "versions", "machine"]),
    )


def _refuse_scores(where: str, columns: Iterable[Any], criteria: Iterable[str]) -> None:
    """Raise an error for values that seem to be scores, if nothing is stated about them."""
    found = [name for name in criteria if SCORES.search(name) and name not in LOSS_NAMES]
    found += [str(name) for name in columns if str(name).strip().casefold() == "score"]
    if found:
        raise ValueError(
            f"{where}: {found[0]!r} seems to be a score, of which greater values are better; "
            "expected losses. State the metrics of which greater values are better "
            "(--greater-is-better, greater_is_better), or rename it"
        )


def _read(path: Path) -> pd.DataFrame:
    """Read a file; names that look like numbers or missing values stay texts."""
    if path.suffix.lower() == ".parquet":
        return pd.read_parquet(path)
    return pd.read_csv(path, sep=None, engine="python", dtype=str, keep_default_na=False)


def _tidy(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return rows of set, repeat, fold, algorithm, criterion and value, all present."""
    meanings = {name: key for key, names in NAMES.items() for name in names}
    named = {column: meanings.get(str(column).strip().casefold()) for column in frame.columns}
    if not isinstance(frame.index, pd.RangeIndex):
        is_wide = frame.index.nlevels == 1 and not any(named.values())
        frame = (frame.rename_axis("set") if is_wide else frame).reset_index()
        named = {column: meanings.get(str(column).strip().casefold()) for column in frame.columns}
    known = [key for key in named.values() if key is not None]
    if doubled := [key for key in NAMES if known.count(key) > 1 and set(known) >= NEEDED]:
        both = [str(column) for column, key in named.items() if key == doubled[0]]
        raise ValueError(f"{where}: {' and '.join(both)} both mean {doubled[0]!r}; keep one")
    if set(known) >= NEEDED:
        rows = frame.rename(columns=named)[known]
    else:
        rows = frame.rename(columns={frame.columns[0]: "set"})
        rows = rows.melt(id_vars="set", var_name="algorithm", value_name="value")
    given = rows["value"].replace(["", "NA", "nan"], np.nan)
    values = pd.to_numeric(given, errors="coerce")
    looks_numeric = pd.to_numeric(rows["set"], errors="coerce").notna().all()
    is_wide_of_numbers = looks_numeric and "set" not in known
    if (values.isna() & given.notna()).any() or is_wide_of_numbers:
        found = ", ".join(map(str, frame.columns[:8]))
        raise ValueError(
            f"{where}: found the columns {found}, with cells that are no numbers or without names "
            f"of sets (if these are numbers, call their column set); {LAYOUTS}"
        )
    rows = rows.assign(value=values.astype(float))[np.isfinite(values)]
    if not len(rows):
        raise ValueError(f"{where}: there is no value; {LAYOUTS}")
    for key, default in (("criterion", "loss"), ("repeat", "1"), ("fold", "1")):
        rows[key] = rows.get(key, default)
    for key in KEYS:
        n_missing = int((rows[key].isna() | (rows[key] == "")).sum())
        if n_missing:
            raise ValueError(
                f"{where}: {counted(n_missing, 'row has', 'rows have')} no {key}; fill these "
                "cells, or remove the rows"
            )
        rows[key] = [f"{v:g}" if isinstance(v, float) else str(v) for v in rows[key]]
    doubled_rows = rows[rows.duplicated(KEYS)]
    if len(doubled_rows):
        first = ", ".join(f"{key} {doubled_rows.iloc[0][key]}" for key in KEYS)
        raise ValueError(
            f"{where}: {counted(len(doubled_rows), 'value occurs', 'values occur')} twice, the "
            f"first for {first}. "
            "Values of folds need a column 'fold'; otherwise average them first"
        )
    for key in ("repeat", "fold"):
        rows[key] = pd.factorize(rows[key])[0]
    return rows[[*KEYS, "value"]].reset_index(drop=True)
