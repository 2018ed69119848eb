"""What a study is: sets, algorithms, criteria, and how rows are split."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pairmend.datasets import find_entry
from pairmend.study.criteria import CRITERIA, Criterion
from pairmend.study.objects import describe
from pairmend.study.sources import CatalogueSource, GivenSource, Source, as_data, with_name

SPLITS = ("shuffled", "stratified")


@dataclass(frozen=True)
class Study:
    """A comparison of algorithms on sets by cross-validation.

    Parameters
    ----------
    sets : iterable of str, or mapping
        Names of the catalogue; or by names of your own: `MultiLabelData`, a pair of X and Y, or
        a source of `pairmend.study.sources`.
    algorithms : mapping of str to classifier
        Unfitted multi-label classifiers of any library that follows scikit-learn. Those of ours
        that differ only in what takes effect at prediction share a fit. A ``random_state`` that
        is None is set for each fold.
    criteria : iterable of str, or mapping of str to Criterion, default=None
        Names among the paper's four, or criteria of your own. None means the paper's four.
    folds, repeats : int, default=10 and 1
        Folds of a cross-validation, and how often it is repeated with other folds.
    seed : int, default=0
        With the names of set, repeat and fold, the source of all randomness.
    split : {"shuffled", "stratified"}, default="shuffled"
        Plain folds as in the paper, or folds that resemble each other in labels.
    name, title : str
        What the study is called, in files and on pages.
    skip_missing : bool, default=False
        Whether sets that are not at hand are left out instead of refused.

    Examples
    --------
    >>> from pairmend import CorrectedPairwiseClassifier, PairwiseClassifier
    >>> study = Study(
    ...     sets=["simplehc"],
    ...     algorithms={"LPW": PairwiseClassifier(), "FCM": CorrectedPairwiseClassifier()},
    ...     folds=5,
    ... )
    >>> study.n_tasks
    10
    """

    sets: Mapping[str, Source]
    algorithms: Mapping[str, Any]
    criteria: Mapping[str, Criterion] = field(default_factory=lambda: dict(CRITERIA))
    folds: int = 10
    repeats: int = 1
    seed: int = 0
    split: Literal["shuffled", "stratified"] = "shuffled"
    name: str = "study"
    title: str = ""
    skip_missing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "sets", _as_sources(self.sets))
        object.__setattr__(self, "criteria", _as_criteria(self.criteria))
        object.__setattr__(self, "algorithms", _checked_algorithms(self.algorithms))
        for name, minimum in {"folds": 2, "repeats": 1, "seed": 0}.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
                raise ValueError(
                    f"{name} must be a whole number of at least {minimum}, got {value!r}"
                )
        if self.split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {self.split!r}")

    @property
    def n_tasks(self) -> int:
        """How many times a classifier is judged."""
        return len(self.sets) * self.repeats * self.folds * len(self.algorithms)

    def definition(self) -> dict[str, Any]:
        """Return the study as plain data, as in a study file."""
        return {
            "name": self.name,
            "title": self.title,
            "folds": self.folds,
            "repeats": self.repeats,
            "seed": self.seed,
            "split": self.split,
            "skip_missing": self.skip_missing,
            "sets": {name: source.definition() for name, source in self.sets.items()},
            "algorithms": {name: describe(model) for name, model in self.algorithms.items()},
            "criteria": {name: each.definition() for name, each in self.criteria.items()},
        }

    def narrowed(
        self, sets: Iterable[str] | None = None, algorithms: Iterable[str] | None = None
    ) -> "Study":
        """Return the study with only some of its sets and algorithms.

        Parameters
        ----------
        sets : iterable of str, default=None
            Names of the study or of the catalogue, in any case; None means all. What is asked
            for by name must be at hand.
        algorithms : iterable of str, default=None
            Names of the study; None means all.

        Returns
        -------
        Study

        Examples
        --------
        >>> from pairmend.study import paper_study
        >>> narrow = paper_study().narrowed(["Yeast", "corel5k"], ["FCM"])
        >>> list(narrow.sets), list(narrow.algorithms)
        (['yeast', 'corel5k'], ['FCM'])
        """
        study = self
        if sets is not None:
            own = {name.casefold(): name for name in self.sets}
            chosen: dict[str, Source] = {}
            for name in sets:
                if name.casefold() in own:
                    chosen[own[name.casefold()]] = self.sets[own[name.casefold()]]
                else:
                    chosen |= _as_sources([name])
            study = replace(study, sets=chosen, skip_missing=False)
        if algorithms is not None:
            names = list(algorithms)
            if unknown := [name for name in names if name not in self.algorithms]:
                raise ValueError(
                    f"the study has no algorithm {', '.join(map(repr, unknown))}; it has "
                    f"{', '.join(self.algorithms)}"
                )
            study = replace(study, algorithms={name: self.algorithms[name] for name in names})
        return study


def _as_sources(sets: Any) -> dict[str, Source]:
    if not isinstance(sets, Mapping):
        _refuse_text("sets", sets)
        sets = {(entry := find_entry(name)).name: CatalogueSource(entry.name) for name in sets}
    if not sets:
        raise ValueError("a study needs at least one set")
    return {
        name: given
        if hasattr(given, "load") and hasattr(given, "definition")
        else GivenSource(with_name(as_data(given), name))
        for name, given in sets.items()
    }


def _as_criteria(criteria: Any) -> dict[str, Criterion]:
    if criteria is None:
        return dict(CRITERIA)
    if not isinstance(criteria, Mapping):
        _refuse_text("criteria", criteria)
        unknown = [name for name in criteria if name not in CRITERIA]
        if unknown:
            raise ValueError(
                f"no criterion is named {', '.join(map(repr, unknown))}; there are "
                f"{', '.join(CRITERIA)}, others are given as Criterion objects"
            )
        criteria = {name: CRITERIA[name] for name in criteria}
    if not criteria:
        raise ValueError("a study needs at least one criterion")
    return dict(criteria)


def _checked_algorithms(algorithms: Mapping[str, Any]) -> dict[str, Any]:
    if not algorithms:
        raise ValueError("a study needs at least one algorithm")
    for name, model in algorithms.items():
        if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
            raise TypeError(
                f"algorithm {name!r} must be a classifier with fit and predict, got {model!r}"
            )
    return dict(algorithms)


def _refuse_text(what: str, given: Iterable[str]) -> None:
    if isinstance(given, str):
        raise TypeError(f"{what} must be a list of names, got the text {given!r}")
