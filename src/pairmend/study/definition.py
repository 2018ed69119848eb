"""Study: datasets, algorithms, metrics, folds, seed, time limit; checks of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from pairmend.datasets import find_entry
from pairmend.study.criteria import CRITERIA, Criterion
from pairmend.study.objects import describe
from pairmend.study.requirements import install_advice
from pairmend.study.sources import CatalogueSource, GivenSource, Source, as_data, with_name

SPLITS = ("shuffled", "stratified")
MAX_NAME_LENGTH = 100


@dataclass(frozen=True, init=False)
class Study:
    """A comparison of algorithms on sets by cross-validation.

    Parameters
    ----------
    sets : iterable of str, or mapping
        Names of the catalogue; or a mapping of names to `MultiLabelData`, pairs of X and Y,
        `CatalogueSource`, `FileSource` or `FunctionSource`.
    algorithms : mapping of str to classifier
        Unfitted multi-label classifiers of any library that follows scikit-learn. Classifiers of
        pairmend that differ only in parameters of prediction share a fit. A ``random_state`` that
        is None is set for each fold.
    criteria : iterable of str, or mapping of str to Criterion, default=None
        Metrics: names in `CRITERIA`, or `Criterion` objects. None means all of `CRITERIA`.
    folds, repeats : int, default=10 and 1
        Folds of a cross-validation, and how often it is repeated with other folds.
    seed : int, default=0
        All random numbers depend on the seed and on the names of set, repeat and fold.
    split : {"shuffled", "stratified"}, default="shuffled"
        Plain folds as in the paper, or folds with similar label frequencies.
    name, title : str
        Name in files, and title of the report.
    skip_missing : bool, default=False
        Whether sets whose files are missing are left out, and algorithms of a study file whose
        packages are not installed; if not, they are an error.
    time_limit : float, default=None
        Seconds that a task may take, fit and prediction together. A task that takes longer has
        failed. None means no limit.
    device : str, default=None
        Device of torch, such as "cuda", to which dense rows are moved for algorithms that support
        the array API. Other algorithms, sparse rows and frames stay with the processors. None means
        that nothing is moved.
    file : Path, default=None
        The study file that the study was read from. Modules in its folder can be imported.
    left_out : mapping of str to list of str, default=None
        Algorithms of the study file that were left out, with the packages that they need and that
        are not installed.

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
    criteria: Mapping[str, Criterion]
    folds: int
    repeats: int
    seed: int
    split: str
    name: str
    title: str
    skip_missing: bool
    time_limit: float | None
    device: str | None
    file: Path | None = field(compare=False)
    left_out: Mapping[str, list[str]] = field(compare=False)

    def __init__(
        self,
        sets: Mapping[str, Any] | Iterable[str],
        algorithms: Mapping[str, Any],
        criteria: Mapping[str, Criterion] | Iterable[str] | None = None,
        *,
        folds: int = 10,
        repeats: int = 1,
        seed: int = 0,
        split: str = "shuffled",
        name: str = "study",
        title: str = "",
        skip_missing: bool = False,
        time_limit: float | None = None,
        device: str | None = None,
        file: Path | None = None,
        left_out: Mapping[str, list[str]] | None = None,
    ) -> None:
        numbers = {"folds": (folds, 2), "repeats": (repeats, 1), "seed": (seed, 0)}
        for key, (number, minimum) in numbers.items():
            if not isinstance(number, int) or isinstance(number, bool) or number < minimum:
                raise ValueError(
                    f"{key} must be a whole number of at least {minimum}, got {number!r}"
                )
        if split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}; got {split!r}")
        if not isinstance(title, str):
            raise ValueError(f"title must be a text, got {title!r}")
        if not isinstance(skip_missing, bool):
            raise ValueError(f"skip_missing must be true or false, got {skip_missing!r}")
        _check_time_limit(time_limit)
        if device is not None and not (isinstance(device, str) and device):
            raise ValueError(f"device must be the name of a device of torch, got {device!r}")
        parts: dict[str, Any] = {
            "sets": _as_sources(sets),
            "algorithms": _checked_algorithms(algorithms),
            "criteria": as_criteria(criteria),
            "folds": folds,
            "repeats": repeats,
            "seed": seed,
            "split": split,
            "name": name,
            "title": title,
            "skip_missing": skip_missing,
            "time_limit": time_limit,
            "device": device,
            "file": file,
            "left_out": dict(left_out or {}),
        }
        for key in ("sets", "algorithms", "criteria"):
            _check_names(key, parts[key])
        _check_names("studies", [name])
        for key, value in parts.items():
            object.__setattr__(self, key, value)  # frozen, so in no other way

    @property
    def folder(self) -> Path | None:
        """Folder of the study file, from which its modules are imported; None without a file."""
        return None if self.file is None else self.file.absolute().parent

    @property
    def n_tasks(self) -> int:
        """Number of evaluations: sets times repeats times folds times algorithms."""
        return len(self.sets) * self.repeats * self.folds * len(self.algorithms)

    def definition(self) -> dict[str, Any]:
        """Return the study as plain data, as in a study file.

        Returns
        -------
        dict

        Examples
        --------
        >>> from pairmend import PairwiseClassifier
        >>> Study(["yeast"], {"LPW": PairwiseClassifier()}).definition()["algorithms"]
        {'LPW': {'class': 'pairmend.PairwiseClassifier'}}
        """
        return {
            "name": self.name,
            "title": self.title,
            "folds": self.folds,
            "repeats": self.repeats,
            "seed": self.seed,
            "split": self.split,
            "skip_missing": self.skip_missing,
            "time_limit": self.time_limit,
            "device": self.device,
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
            Names of the study or of the catalogue, upper or lower case; None means all. Sets that
            are named here must be available, independent of `skip_missing`.
        algorithms : iterable of str, default=None
            Names of the study, upper or lower case; None means all.

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
            own = {name.casefold(): name for name in self.algorithms}
            names = list(algorithms)
            _refuse_left_out(self.left_out, names)
            if unknown := [name for name in names if name.casefold() not in own]:
                raise ValueError(
                    f"the study has no algorithm {', '.join(map(repr, unknown))}; it has "
                    f"{', '.join(self.algorithms)}"
                )
            kept = [own[name.casefold()] for name in names]
            chosen_algorithms = {name: self.algorithms[name] for name in kept}
            study = replace(study, algorithms=chosen_algorithms, left_out={})
        return study


def _refuse_left_out(left_out: Mapping[str, list[str]], names: Iterable[str]) -> None:
    """Raise an ImportError if an algorithm was left out because its packages are missing."""
    absent = {name.casefold(): packages for name, packages in left_out.items()}
    for name in names:
        if packages := absent.get(name.casefold()):
            raise ImportError(
                f"the algorithm {name!r} needs packages that are not installed: "
                f"{', '.join(packages)}. {install_advice(packages)}"
            )


def _as_sources(sets: Any) -> dict[str, Source]:
    if not isinstance(sets, Mapping):
        _refuse_text("sets", sets)
        if wrong := [name for name in sets if not isinstance(name, str)]:
            raise TypeError(f"sets must be names, got {wrong[0]!r}")
        sets = {(entry := find_entry(name)).name: CatalogueSource(entry.name) for name in sets}
    if not sets:
        raise ValueError("a study needs at least one set")
    return {
        name: given
        if hasattr(given, "load") and hasattr(given, "definition")
        else GivenSource(with_name(as_data(given), name))
        for name, given in sets.items()
    }


def as_criteria(criteria: Any) -> dict[str, Criterion]:
    """Return metrics by name; None means all of `CRITERIA`."""
    if criteria is None:
        return dict(CRITERIA)
    if not isinstance(criteria, Mapping):
        _refuse_text("criteria", criteria)
        unknown = [name for name in criteria if name not in CRITERIA]
        if unknown:
            raise ValueError(
                f"criteria has the unknown names {', '.join(map(repr, unknown))}; expected "
                f"{', '.join(CRITERIA)}, or a mapping of names to Criterion objects"
            )
        criteria = {name: CRITERIA[name] for name in criteria}
    if not criteria:
        raise ValueError("a study needs at least one criterion")
    for name, criterion in criteria.items():
        if not isinstance(criterion, Criterion):
            raise TypeError(
                f"criterion {name!r} must be a Criterion, such as Criterion(function, 'title'); "
                f"got {criterion!r}"
            )
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


def _check_names(what: str, named: Iterable[Any]) -> None:
    """Refuse names that cannot be written to files, pages and tables."""
    for name in named:
        if (
            not isinstance(name, str)
            or not name
            or len(name) > MAX_NAME_LENGTH
            or not name.isprintable()
        ):
            raise ValueError(
                f"names of {what} must be texts of 1 to {MAX_NAME_LENGTH} printable letters, got "
                f"{name!r}"
            )


def _check_time_limit(seconds: Any) -> None:
    if seconds is None:
        return
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not isfinite(seconds) or seconds <= 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {seconds!r}")


def _refuse_text(what: str, given: Iterable[str]) -> None:
    if isinstance(given, str):
        raise TypeError(f"{what} must be a list of names, got the text {given!r}")
