"""StudyRecord: results of a study as data frames."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class StudyRecord:
    """Results of a study with its definition, tasks, sets and runs.

    Attributes
    ----------
    definition : dict
        The study as plain data: ``name``, ``title``, ``folds``, ``repeats``, ``seed``, ``split``,
        and by name ``sets`` (with ``source``), ``algorithms`` (with ``class`` and ``params``) and
        ``criteria`` (with ``title`` and ``greater_is_better``).
    results : DataFrame
        Tidy rows: set, repeat, fold, algorithm, criterion, value.
    tasks : DataFrame
        A row for each set, repeat, fold and algorithm that was run: ``status`` ("done" or
        "failed"), ``seed``, ``fit_seconds``, ``predict_seconds``, ``peak_bytes`` (NaN if not
        available), ``fitted_by`` (the algorithm whose fit it shares; its own name if
        none), ``warnings`` (of the classifier, a line each), ``error`` (the last line) and
        ``traceback``, both empty when done, ``finished``
        (ISO time).
    sets : DataFrame
        A row for each set that was loaded: ``set``, ``title``, ``paper_number`` (NaN for a set
        that is not in the paper), ``sha256`` of its contents, ``source``, and its
        characteristics: N, d, L, LC, LD, avIR, AVsc.
    runs : DataFrame
        A row for each run: ``started``, ``ended`` (empty if it was interrupted), and as dicts
        ``versions`` (of Python and packages) and ``machine``.
    chosen : DataFrame or None
        A row for each parameter that a search chose in a task: set, repeat, fold, algorithm,
        ``parameter``, and ``value`` as JSON.

    Examples
    --------
    >>> import tempfile
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.study import Study, read_study, run_study
    >>> from sklearn.naive_bayes import GaussianNB
    >>> study = Study(["simplehc"], {"pairs": PairwiseClassifier(GaussianNB())}, folds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run_study(study, folder)
    ...     record = read_study(folder)
    >>> record
    <StudyRecord 'study': 1 sets, 1 algorithms, 2 tasks done, 0 failed>
    >>> list(record.narrowed(["pairs"]).definition["algorithms"])
    ['pairs']
    """

    definition: dict[str, Any]
    results: "pd.DataFrame"
    tasks: "pd.DataFrame"
    sets: "pd.DataFrame"
    runs: "pd.DataFrame"
    chosen: "pd.DataFrame | None" = None

    def narrowed(self, algorithms: Iterable[str]) -> "StudyRecord":
        """Return the record of some of its algorithms, such as those with one base classifier.

        Parameters
        ----------
        algorithms : iterable of str
            Their names, upper or lower case.

        Returns
        -------
        StudyRecord
        """
        own = {name.casefold(): name for name in self.definition["algorithms"]}
        names = list(algorithms)
        if unknown := [name for name in names if name.casefold() not in own]:
            raise ValueError(
                f"the study has no algorithm {', '.join(map(repr, unknown))}; it has "
                f"{', '.join(own.values())}"
            )
        kept = {own[name.casefold()] for name in names}
        parts = {name: each for name, each in self.definition["algorithms"].items() if name in kept}
        return replace(
            self,
            definition={**self.definition, "algorithms": parts},
            results=self.results[self.results.algorithm.isin(kept)].reset_index(drop=True),
            tasks=self.tasks[self.tasks.algorithm.isin(kept)].reset_index(drop=True),
        )

    def __repr__(self) -> str:
        n_done = int((self.tasks.status == "done").sum())
        return (
            f"<StudyRecord {self.definition['name']!r}: {len(self.definition['sets'])} sets, "
            f"{len(self.definition['algorithms'])} algorithms, {n_done} tasks done, "
            f"{len(self.tasks) - n_done} failed>"
        )
