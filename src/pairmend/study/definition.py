"""Study: datasets, algorithms, metrics, folds, seed, time limit; in Python and in study files.

A study file (TOML) names code to import and call, like a script: run only those you trust. A
results folder is data: nothing that it names is imported or called.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from importlib import resources
from math import inf
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import SHIPPED_STUDIES, STORED_PREDICTIONS
from pairmend.datasets.named_sets import find_entry
from pairmend.metrics import LOSSES
from pairmend.study.estimators import INNER_FOLDS, tuned
from pairmend.study.objects import (
    CRITERIA,
    Criterion,
    build,
    describe,
    find,
    importable,
    missing_packages,
)
from pairmend.study.sources import (
    CatalogueSource,
    FileSource,
    FunctionSource,
    GivenSource,
    Source,
    as_data,
    with_name,
)

CHOICES = {"split": ("shuffled", "stratified"), "predictions": STORED_PREDICTIONS}
MAX_NAME_LENGTH = 100
BOOSTING = {"catboost", "lightgbm"}
"""Packages of the extra for baselines of the study "mended"."""

SOURCE_KEYS: dict[str, dict[str, type]] = {
    "catalogue": {"catalogue": str, "rows": int, "one_hot": bool},
    "file": {
        "file": str,
        "xml": str,
        "labels": list,
        "targets": int,
        "one_hot": bool,
        "max_bytes": int,
        "max_cells": int,
    },
    "function": {"function": str, "params": dict},
}
"""Keys of a set and their types, by the key that determines its kind."""
TYPES = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}
CRITERION_KEYS: dict[str, type] = {
    "function": str,
    "title": str,
    "greater_is_better": bool,
    "needs": str,
    "params": dict,
}
TUNING_KEYS = {"tune", "tune_by", "tune_folds"}
"""Keys of an algorithm whose parameters are chosen by cross-validation."""
NUMBERS = (
    "folds", "repeats", "seed", "split", "alpha", "skip_missing", "time_limit", "device",
    "predictions",
)  # fmt: skip
"""What a study that is continued takes from the results folder, beside names."""


@dataclass(frozen=True)
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
        Metrics: names in `CRITERIA`, or `Criterion` objects. None means the four losses of
        `pairmend.metrics.LOSSES`.
    folds, repeats : int, default=10 and 1
        Folds of a cross-validation, and how often it is repeated with other folds.
    seed : int, default=0
        All random numbers depend on the seed and on the names of set, repeat and fold.
    split : {"shuffled", "stratified"}, default="shuffled"
        Plain folds as in the paper, or folds with similar label frequencies.
    alpha : float, default=0.05
        Level of significance of the tests in the report.
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
    predictions : {"scores", "labels", "none"}, default="scores"
        What is stored of the predictions of test rows, from which other metrics can be computed
        later: labels and scores, labels, or nothing.
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

    sets: Any
    algorithms: Mapping[str, Any]
    criteria: Any = None
    _: KW_ONLY
    folds: int = 10
    repeats: int = 1
    seed: int = 0
    split: str = "shuffled"
    alpha: float = 0.05
    name: str = "study"
    title: str = ""
    skip_missing: bool = False
    time_limit: float | None = None
    device: str | None = None
    predictions: str = "scores"
    file: Path | None = field(default=None, compare=False)
    left_out: Mapping[str, list[str]] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        limit, device = self.time_limit, self.device
        for name, minimum in {"folds": 2, "repeats": 1, "seed": 0}.items():
            _check(
                isinstance(n := getattr(self, name), int)
                and not isinstance(n, bool)
                and n >= minimum,
                f"{name} must be a whole number of at least {minimum}, got {n!r}",
            )
        for name, choices in CHOICES.items():
            given = getattr(self, name)
            _check(given in choices, f"{name} must be one of {', '.join(choices)}; got {given!r}")
        _check(isinstance(self.title, str), f"title must be a text, got {self.title!r}")
        _check(
            isinstance(self.skip_missing, bool),
            f"skip_missing must be true or false, got {self.skip_missing!r}",
        )
        _check(
            isinstance(self.alpha, float) and 0 < self.alpha < 1,
            f"alpha must be a number between 0 and 1, got {self.alpha!r}",
        )
        number = isinstance(limit, int | float) and not isinstance(limit, bool)
        _check(
            limit is None or (number and 0 < limit < inf),
            f"time_limit must be a number of seconds above 0, got {limit!r}",
        )
        _check(
            device is None or (isinstance(device, str) and device != ""),
            f"device must be the name of a device of torch, got {device!r}",
        )
        parts = {
            "sets": _as_sources(self.sets),
            "algorithms": _checked_algorithms(self.algorithms),
            "criteria": _as_criteria(self.criteria),
        }
        for key, part in parts.items():
            _check_names(key, part)
            object.__setattr__(self, key, part)  # frozen, so in no other way
        _check_names("studies", [self.name])

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
            **{key: getattr(self, key) for key in ("name", "title", *NUMBERS)},
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
            absent = {name.casefold(): packages for name, packages in self.left_out.items()}
            for name in names:
                if packages := absent.get(name.casefold()):
                    raise ImportError(
                        f"the algorithm {name!r} needs packages that are not installed: "
                        f"{', '.join(packages)}. {install_advice(packages)}"
                    )
            if unknown := [name for name in names if name.casefold() not in own]:
                raise ValueError(
                    f"the study has no algorithm {', '.join(map(repr, unknown))}; it has "
                    f"{', '.join(self.algorithms)}"
                )
            kept = [own[name.casefold()] for name in names]
            chosen_algorithms = {name: self.algorithms[name] for name in kept}
            study = replace(study, algorithms=chosen_algorithms, left_out={})
        return study


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def install_advice(packages: Iterable[str]) -> str:
    """Return how to install packages that algorithms of a study need."""
    if set(packages) <= BOOSTING:
        return "Install them: pip install lightgbm catboost"
    return "Install them, or run the study in an environment that has them (docs/study.md)"


def _as_sources(sets: Any) -> dict[str, Source]:
    if not isinstance(sets, Mapping):
        _refuse_text("sets", sets)
        if wrong := [name for name in sets if not isinstance(name, str)]:
            raise TypeError(f"sets must be names, got {wrong[0]!r}")
        sets = {(entry := find_entry(name)).name: CatalogueSource(entry.name) for name in sets}
    if not sets:
        raise ValueError("a study needs at least one set")
    return {
        name: given if isinstance(given, Source) else GivenSource(with_name(as_data(given), name))
        for name, given in sets.items()
    }


def _as_criteria(criteria: Any) -> dict[str, Criterion]:
    """Return metrics by name; None means the losses."""
    criteria = tuple(LOSSES) if criteria is None else criteria
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


def _refuse_text(what: str, given: Iterable[str]) -> None:
    if isinstance(given, str):
        raise TypeError(f"{what} must be a list of names, got the text {given!r}")


def load_study(path: str | Path) -> Study:
    """Read a study file.

    Parameters
    ----------
    path : path
        A TOML file. Relative paths in it start from its own folder.

    Returns
    -------
    Study

    Notes
    -----
    Modules in the study file's folder can be imported, as by a script in this folder:
    ``sys.path`` has the folder while the file is read, and in worker processes.

    Raises
    ------
    ValueError
        If the file is not TOML, or a key is unknown, missing or of the wrong type; the message
        names the file and the key.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... sets = ["yeast"]
    ... [algorithms.LPW]
    ... class = "pairmend.PairwiseClassifier"
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.toml"
    ...     _ = path.write_text(text)
    ...     load_study(path).name
    'small'
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no study file {path}; studies that come with pairmend are "
            f"{', '.join(SHIPPED_STUDIES)}"
        )
    try:
        plain = {"name": path.stem, **tomllib.loads(path.read_bytes().decode("utf-8"))}
        return parse_study(plain, path.parent, file=path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not UTF-8 text, expected a TOML study file") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: is not TOML: {error}") from error
    except (ValueError, TypeError, ImportError) as error:
        raise ValueError(f"{path}: {error}") from error


def shipped_study(name: str) -> Study:
    """Return a study that comes with the package.

    Parameters
    ----------
    name : {"paper", "mended", "family"}
        The paper's experiment; the comparison of :class:`~pairmend.MendedClassifier` with
        baselines; the pairwise family.

    Returns
    -------
    Study

    Examples
    --------
    >>> shipped_study("mended").folds
    10
    """
    if name not in SHIPPED_STUDIES:
        raise ValueError(
            f"no study {name!r} comes with pairmend; there are {', '.join(SHIPPED_STUDIES)}"
        )
    text = resources.files("pairmend.study").joinpath(f"{name}.toml").read_text("utf-8")
    return parse_study(tomllib.loads(text), Path())


def paper_study() -> Study:
    """Return the study of the paper.

    Returns
    -------
    Study

    Examples
    --------
    >>> study = paper_study()
    >>> len(study.sets), list(study.algorithms)
    (29, ['LPW', 'FCM', 'FCM-W', 'FCM-O'])
    """
    return shipped_study("paper")


def parse_study(plain: Mapping[str, Any], folder: Path, *, file: Path | None = None) -> Study:
    """Create a study from plain data.

    Parameters
    ----------
    plain : mapping
        As in a study file, or from `Study.definition`.
    folder : Path
        Folder from which relative paths start.
    file : Path, default=None
        The study file that the data come from; modules in its folder can be imported.

    Returns
    -------
    Study

    Examples
    --------
    >>> parse_study({"sets": ["yeast"], "algorithms": {}}, Path())
    Traceback (most recent call last):
    ...
    ValueError: a study needs at least one algorithm
    >>> parse_study({"set": ["yeast"]}, Path())
    Traceback (most recent call last):
    ...
    ValueError: unknown key 'set'; a study has sets, algorithms, criteria, folds, ...
    """
    known = [field.name for field in fields(Study) if field.name not in ("file", "left_out")]
    for key in plain:
        if key not in known:
            raise ValueError(f"unknown key {key!r}; a study has {', '.join(known)}")
    for key in ("sets", "algorithms"):
        if key not in plain:
            raise ValueError(f"the key {key!r} is missing")
    parts = {**plain, "sets": _sets(plain["sets"], folder), "file": file}
    with importable(None if file is None else file.absolute().parent):
        if "criteria" in plain:
            parts["criteria"] = _criteria(plain["criteria"])
        criteria = _as_criteria(parts.get("criteria"))
        described = _table(plain["algorithms"], "algorithms")
        absent = {name: missing_packages(each) for name, each in described.items()}
        if plain.get("skip_missing") is True and not all(absent.values()):
            parts["left_out"] = {name: packages for name, packages in absent.items() if packages}
        parts["algorithms"] = {
            algorithm: _algorithm(each, f"algorithms.{algorithm}", criteria)
            for algorithm, each in described.items()
            if algorithm not in parts.get("left_out", ())
            and _has_class(each, f"algorithms.{algorithm}")
        }
    return Study(**parts)


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{place} must be a table, got {value!r}")
    return value


def _has_class(value: Any, place: str) -> bool:
    if "class" not in _table(value, place):
        raise ValueError(f"{place} must name its class, such as class = 'package.Classifier'")
    return True


def _algorithm(plain: Mapping[str, Any], place: str, criteria: Mapping[str, Criterion]) -> Any:
    """Return the classifier of a table, with a grid search if it has the key tune."""
    own = {key: value for key, value in plain.items() if key not in TUNING_KEYS}
    classifier = build(own, place)
    if "tune" not in plain:
        if extra := sorted(TUNING_KEYS & set(plain)):
            raise ValueError(f"{place} has {', '.join(extra)}, but no tune")
        return classifier
    metric = plain.get("tune_by", next(iter(criteria)))
    if metric not in criteria:
        raise ValueError(
            f"{place}.tune_by must be a metric of the study: {', '.join(criteria)}; got {metric!r}"
        )
    grid = build(plain["tune"], f"{place}.tune")
    try:
        return tuned(classifier, grid, criteria[metric], folds=plain.get("tune_folds", INNER_FOLDS))
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _sets(value: Any, folder: Path) -> dict[str, Source]:
    if isinstance(value, list):
        if wrong := [name for name in value if not isinstance(name, str)]:
            raise ValueError(f"sets must be names, got {wrong[0]!r}")
        value = {find_entry(name).name: {} for name in value}
    return {
        name: _source(name, _table(each, f"sets.{name}"), folder)
        for name, each in _table(value, "sets").items()
    }


def _source(name: str, plain: Mapping[str, Any], folder: Path) -> Source:
    place = f"sets.{name}"
    if "opaque" in plain:
        raise ValueError(f"{place} was given as data in Python and cannot be loaded again")
    kind = next((kind for kind in SOURCE_KEYS if kind in plain), "catalogue")
    _check_keys(plain, SOURCE_KEYS[kind], place)
    match kind:
        case "file":
            own = {key: folder / plain[key] for key in ("file", "xml") if key in plain}
            labels = {"labels": tuple(plain["labels"])} if "labels" in plain else {}
            return FileSource(**{**plain, **own, **labels})
        case "function":
            return FunctionSource(plain["function"], dict(plain.get("params", {})))
        case _:
            rows = plain.get("rows")
            _check(rows is None or rows > 0, f"{place}.rows must be a number of rows, got {rows!r}")
            entry = find_entry(plain.get("catalogue", name))
            return CatalogueSource(entry.name, rows, plain.get("one_hot", False))


def _check_keys(plain: Mapping[str, Any], known: Mapping[str, type], place: str) -> None:
    """Refuse unknown keys, and values of other types."""
    if unknown := sorted(set(plain) - set(known)):
        raise ValueError(f"{place} has unknown keys {unknown}; expected {', '.join(known)}")
    for key, value in plain.items():
        right = isinstance(value, known[key]) and (
            known[key] is bool or not isinstance(value, bool)
        )
        _check(right, f"{place}.{key} must be {TYPES[known[key]]}, got {value!r}")


def _criteria(value: Any) -> Any:
    if isinstance(value, list):
        return value
    return {
        name: _criterion(name, _table(each, f"criteria.{name}"))
        for name, each in _table(value, "criteria").items()
    }


def _criterion(name: str, plain: Mapping[str, Any]) -> Criterion:
    place = f"criteria.{name}"
    _check_keys(plain, CRITERION_KEYS, place)
    known = CRITERIA.get(name)
    if "function" not in plain and known is None:
        raise ValueError(f"{place} must name its function by import path")
    needs = plain.get("needs", "labels")
    _check(
        needs in ("labels", "scores"), f"{place}.needs must be 'labels' or 'scores', got {needs!r}"
    )
    function = find(plain["function"]) if "function" in plain or known is None else known.function
    _check(callable(function), f"{place}.function: {plain.get('function')} is not a function")
    return Criterion(
        function=function,
        title=plain.get("title", known.title if known else name),
        greater_is_better=plain.get("greater_is_better", False),
        needs=needs,
        params=build(plain.get("params", {}), f"{place}.params"),
    )


def resumed_study(definition: dict[str, Any], out: Path, file: Path | None = None) -> Study:
    """Return the study of a file, or of the package, with the parts that a folder has."""
    if file is None and definition.get("name") not in SHIPPED_STUDIES:
        raise ValueError(
            f"name the study file of the study in {out}: pairmend study FILE --resume --out {out}. "
            "A results folder is data, so no file that it names is imported."
        )
    study = named_study(definition["name"] if file is None else file)
    parts: dict[str, Any] = {}
    for key in ("sets", "algorithms", "criteria"):
        own = dict(getattr(study, key))
        for name, plain in definition[key].items():
            if name not in own and key == "sets" and "catalogue" in plain:  # added by --sets
                own[name] = _source(name, plain, Path())
            elif name not in own and not (key == "algorithms" and name in study.left_out):
                raise ValueError(
                    f"{out} has {key}.{name}, which {study.file or study.name} does not have. Name "
                    "the study file that has it."
                )
        parts[key] = {name: own[name] for name in definition[key] if name in own}
    return replace(study, **parts, **{key: definition[key] for key in NUMBERS if key in definition})


def named_study(name: str | Path) -> Study:
    """Return the study of a file, or of the package if there is no such file."""
    if str(name) in SHIPPED_STUDIES and not Path(name).exists():
        return shipped_study(str(name))
    return load_study(name)
