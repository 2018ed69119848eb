"""Results from elsewhere: tables of losses, long or wide, as the record of a study."""

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pairmend._utils.defaults import LOSS_NAMES
from pairmend._utils.text import counted
from pairmend.datasets import ReadLimits, load_file
from pairmend.published import CHARACTERISTICS
from pairmend.report.writing import write_record

if TYPE_CHECKING:
    import pandas as pd

    from pairmend.study.store import StudyRecord

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
NEEDED = ("set", "algorithm", "value")
TEXTS = ("set", "algorithm", "criterion", "repeat", "fold")
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
    title: str = "",
    limits: ReadLimits | None = None,
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
    title : str, default=""
        Title of the page.
    limits : ReadLimits, default=None
        How much is read from a file at most; None means the default limits.

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
    record = losses_record(losses, greater_is_better, title=title, limits=limits)
    return write_record(record, out, sections=SECTIONS)


def losses_record(
    losses: "str | Path | pd.DataFrame",
    greater_is_better: Collection[str] | bool = False,
    *,
    title: str = "",
    limits: ReadLimits | None = None,
) -> "StudyRecord":
    """Return a table of losses as the record of a study without tasks."""
    import pandas as pd

    from pairmend.study.store import StudyRecord

    if isinstance(losses, pd.DataFrame):
        where, frame = "the table", losses
        if not set(NEEDED) <= set(_long_names(frame.columns).values()) and not _is_numbered(frame):
            frame = _with_index(frame)
    else:
        where, frame = str(losses), _read(Path(losses), limits)
    rows = _tidy(frame, where)
    names = {key: list(dict.fromkeys(rows[key])) for key in ("set", "algorithm", "criterion")}
    if len(names["algorithm"]) < 2:
        raise ValueError(
            f"{where}: a comparison needs at least two algorithms, found {names['algorithm']}"
        )
    if greater_is_better is False:
        _refuse_scores(where, frame.columns, names["criterion"])
    if isinstance(greater_is_better, bool):
        greater = set(names["criterion"]) if greater_is_better else set()
    else:
        greater = set(greater_is_better)
    if unknown := greater - set(names["criterion"]):
        raise ValueError(
            f"{where}: there is no metric {', '.join(map(repr, sorted(unknown)))}; found "
            f"{', '.join(map(repr, names['criterion']))}"
        )
    sets = pd.DataFrame({"set": names["set"], "title": names["set"], "sha256": "", "source": ""})
    sets[["paper_number", *CHARACTERISTICS]] = np.nan
    return StudyRecord(
        definition={
            "name": "comparison",
            "title": title or "Comparison of algorithms",
            "folds": int(rows["fold"].max()) + 1,
            "repeats": int(rows["repeat"].max()) + 1,
            "sets": {name: {} for name in names["set"]},
            "algorithms": {name: {} for name in names["algorithm"]},
            "criteria": {
                name: {"title": name, "greater_is_better": name in greater}
                for name in names["criterion"]
            },
        },
        results=rows,
        tasks=pd.DataFrame(
            columns=[
                "set", "repeat", "fold", "algorithm", "status", "fitted_by", "fit_seconds",
                "predict_seconds", "peak_bytes", "warnings", "error", "traceback", "finished",
            ]
        ),
        sets=sets,
        runs=pd.DataFrame(columns=["started", "ended", "versions", "machine"]),
    )  # fmt: skip


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


def _read(path: Path, limits: ReadLimits | None) -> "pd.DataFrame":
    """Read a file within limits; numbers stay numbers, names are texts."""
    import pandas as pd

    texts = [name for key in TEXTS for name in NAMES[key]]
    cases = [case for name in texts for case in (name, name.title(), name.upper())]
    data = load_file(path, (), categorical=cases, limits=limits or ReadLimits())
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    columns = {}
    for place, name in enumerate(data.feature_names):
        values: Any = X[:, place]
        if place in data.categories:
            names = np.array([*data.categories[place], None], dtype=object)
            values = names[np.where(np.isnan(values), -1, values).astype(int)]
        columns[name] = values
    return pd.DataFrame(columns)


def _long_names(columns: Iterable[Any]) -> dict[Any, str]:
    """Return the meaning of each column of a long table that has one."""
    meanings = {name: key for key, names in NAMES.items() for name in names}
    found = {column: meanings.get(str(column).strip().casefold()) for column in columns}
    return {column: meaning for column, meaning in found.items() if meaning is not None}


def _is_numbered(frame: "pd.DataFrame") -> bool:
    """Return whether a wide frame has the names of sets in its first column, not its index."""
    return frame.shape[1] > 0 and (_is_set(frame.columns[0]) or not _is_numeric(frame.iloc[:, 0]))


def _is_set(column: Any) -> bool:
    return _long_names([column]) == {column: "set"}


def _with_index(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a frame with its index as columns; the index of a wide frame has the sets' names."""
    import pandas as pd

    index = frame.index
    if index.name is None and isinstance(index, pd.RangeIndex):
        return frame
    if index.nlevels == 1 and not _long_names([index.name, *frame.columns]):
        frame = frame.rename_axis("set")
    return frame.reset_index()


def _is_numeric(column: "pd.Series[Any]") -> bool:
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return is_numeric_dtype(column) and not is_bool_dtype(column)


def _tidy(frame: "pd.DataFrame", where: str) -> "pd.DataFrame":
    """Return rows of set, repeat, fold, algorithm, criterion and value, all present."""
    named = _long_names(frame.columns)
    is_long = set(NEEDED) <= set(named.values())
    if is_long:
        doubled = [key for key in NAMES if list(named.values()).count(key) > 1]
        if doubled:
            both = [str(column) for column, key in named.items() if key == doubled[0]]
            raise ValueError(f"{where}: {' and '.join(both)} both mean {doubled[0]!r}; keep one")
        rows = frame.rename(columns=named)[list(named.values())]
    else:
        rows = _from_wide(frame, where)
    if not _is_numeric(rows["value"]):
        raise ValueError(f"{where}: the column of values has cells that are no numbers; {LAYOUTS}")
    rows = rows[np.isfinite(rows["value"].astype(float))].copy()
    if not len(rows):
        raise ValueError(f"{where}: there is no value; {LAYOUTS}")
    for key, default in (("criterion", "loss"), ("repeat", "1"), ("fold", "1")):
        if key not in rows:
            rows[key] = default
    for key in TEXTS:
        if rows[key].isna().any():
            n_missing = int(rows[key].isna().sum())
            raise ValueError(
                f"{where}: {counted(n_missing, 'row has', 'rows have')} no {key}; fill these "
                "cells, or remove the rows"
            )
        rows[key] = rows[key].map(_text)
    keys = ["set", "repeat", "fold", "algorithm", "criterion"]
    doubled_rows = rows[rows.duplicated(keys)]
    if len(doubled_rows):
        first = ", ".join(
            f"{key} {doubled_rows.iloc[0][key]}" for key in keys if key in named.values()
        )
        raise ValueError(
            f"{where}: {counted(len(doubled_rows), 'value occurs', 'values occur')} twice, the "
            f"first for {first or 'a set'}. "
            "Values of folds need a column 'fold'; otherwise average them first"
        )
    for key in ("repeat", "fold"):
        rows[key] = rows[key].map({name: at for at, name in enumerate(dict.fromkeys(rows[key]))})
    return rows[[*keys, "value"]].astype({"value": float}).reset_index(drop=True)


def _from_wide(frame: "pd.DataFrame", where: str) -> "pd.DataFrame":
    names, *algorithms = frame.columns
    wrong = [str(name) for name in algorithms if not _is_numeric(frame[name])]
    is_numeric = _is_numeric(frame[names]) and not _is_set(names)
    if not algorithms or wrong or is_numeric:
        found = ", ".join(map(str, frame.columns[:8]))
        why = f"; no numbers are in {', '.join(wrong[:3])}" if wrong else ""
        if is_numeric and not wrong:
            why = f"; {names} has numbers: if they are names of sets, rename the column to set"
        raise ValueError(f"{where}: found the columns {found}{why}; {LAYOUTS}")
    return frame.rename(columns={names: "set"}).melt(
        id_vars="set", var_name="algorithm", value_name="value"
    )


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
