"""Results from elsewhere: tables of losses, long or wide, as the record of a study."""

import csv
import re
from collections.abc import Collection
from pathlib import Path

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
TASK_COLUMNS = [
    "set", "repeat", "fold", "algorithm", "status", "fitted_by", "fit_seconds", "predict_seconds",
    "warnings", "error", "traceback", "finished", "chosen", "run",
]  # fmt: skip
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
    metrics, algorithms = names["criterion"], names["algorithm"]
    greater = set(metrics if greater_is_better is True else greater_is_better or ())
    scores = [name for name in metrics if SCORES.search(name) and name not in LOSS_NAMES]
    scores += [str(name) for name in frame.columns if str(name).strip().casefold() == "score"]
    unknown = ", ".join(map(repr, sorted(greater - set(metrics))))
    for is_wrong, message in (
        (
            len(algorithms) < 2,
            f"a comparison needs values of at least two algorithms, found {algorithms}",
        ),
        (unknown, f"there is no metric {unknown}; found {', '.join(map(repr, metrics))}"),
        (
            scores and greater_is_better is False,
            f"{scores[:1]} seems to be a score, of which greater values are better; expected "
            "losses. State the metrics of which greater values are better (--greater-is-better, "
            "greater_is_better), or rename it",
        ),
    ):
        if is_wrong:
            raise ValueError(f"{where}: {message}")
    sets = pd.DataFrame({"set": names["set"], "title": names["set"], "sha256": "", "source": ""})
    sets[["paper_number", *CHARACTERISTICS]] = np.nan
    return StudyRecord(
        definition={
            "name": "comparison",
            "title": title or "Comparison of algorithms",
            "folds": int(rows["fold"].max()) + 1,
            "repeats": int(rows["repeat"].max()) + 1,
            "alpha": 0.05,
            "sets": {name: {} for name in names["set"]},
            "algorithms": {name: {} for name in algorithms},
            "criteria": {n: {"title": n, "greater_is_better": n in greater} for n in metrics},
        },
        results=rows,
        tasks=pd.DataFrame(columns=TASK_COLUMNS, dtype=object),
        sets=sets,
        runs=pd.DataFrame(columns=["run", "started", "ended", "versions", "machine"]),
    )


def _read(path: Path) -> pd.DataFrame:
    """Read a file; names that look like numbers or missing values stay texts."""
    try:
        if path.suffix.lower() == ".parquet":
            return pd.read_parquet(path)
        text = {"dtype": str, "keep_default_na": False, "encoding": "utf-8-sig"}
        return pd.read_csv(path, sep=None, engine="python", **text)
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: cannot be read as a table ({error}); {LAYOUTS}") from error


def _tidy(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return rows of set, repeat, fold, algorithm, criterion and value, all present."""
    if is_indexed := not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    meanings = {name: key for key, names in NAMES.items() for name in names}
    named = [meanings.get(str(column).strip().casefold(), "") for column in frame.columns]
    doubled = [key for key in NAMES if named.count(key) > 1]
    is_long = set(named) >= {"set", "algorithm", "value"}
    if is_long and doubled:
        raise ValueError(f"{where}: several columns mean {doubled}; keep one of each")
    if is_long:
        rows = frame.set_axis(named, axis=1)[[key for key in NAMES if key in named]].copy()
    else:
        rows = frame.rename(columns={frame.columns[0]: "set"})
        rows = rows.melt(id_vars="set", var_name="algorithm", value_name="value")
    given = rows["value"].replace(["", "NA", "nan"], np.nan)
    rows["value"] = pd.to_numeric(given, errors="coerce").astype(float)
    has_names = is_indexed or "set" in named
    has_names |= pd.to_numeric(rows["set"], errors="coerce").isna().any()
    wrong_cells = (rows["value"].isna() & given.notna()).any() or not has_names
    rows = rows[np.isfinite(rows["value"])]
    for key, default in (("criterion", "loss"), ("repeat", "1"), ("fold", "1")):
        rows = rows.assign(**{key: rows.get(key, default)})
    missing = [key for key in KEYS if (rows[key].isna() | (rows[key] == "")).any()]
    n_twice = int(rows.duplicated(KEYS).sum())
    for is_wrong, message in (
        (
            wrong_cells,
            f"found the columns {', '.join(map(str, frame.columns[:8]))}, with cells that are no "
            "numbers or without names of sets (if these are numbers, call their column set); "
            f"{LAYOUTS}",
        ),
        (missing, f"rows have no {missing[:1]}; fill these cells, or remove the rows"),
        (
            n_twice,
            f"{counted(n_twice, 'value occurs', 'values occur')} twice. Values of folds need a "
            "column 'fold'; otherwise average them first",
        ),
    ):
        if is_wrong:
            raise ValueError(f"{where}: {message}")
    for key in KEYS:
        rows[key] = [f"{v:g}" if isinstance(v, float) else str(v) for v in rows[key]]
    for key in ("repeat", "fold"):
        rows[key] = pd.factorize(rows[key])[0]
    return rows[[*KEYS, "value"]].reset_index(drop=True)
