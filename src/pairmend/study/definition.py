"""Study: datasets, algorithms, metrics, folds, seed, time limit; in Python and in study files.

A study file (TOML) names code to import and call, like a script: run only those you trust. A
results folder is data: nothing that it names is imported or called.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from importlib import resources
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from pairmend._utils.defaults import SHIPPED_STUDIES, STORED_PREDICTIONS
from pairmend._utils.sklearn_private import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from pairmend.datasets.named_sets import find_entry
from pairmend.metrics import LOSSES
from pairmend.study.criteria import CRITERIA, Criterion, own_names
from pairmend.study.objects import build, describe, importable, missing_packages
from pairmend.study.sources import Source

SETTINGS: dict[str, list[Any]] = {
    "name": [str],
    "title": [str],
    "folds": [Interval(Integral, 2, None, closed="left")],
    "repeats": [Interval(Integral, 1, None, closed="left")],
    "seed": [Interval(Integral, 0, None, closed="left")],
    "split": [StrOptions({"shuffled", "stratified"})],
    "alpha": [Interval(Real, 0, 1, closed="neither")],
    "skip_missing": ["boolean"],
    "time_limit": [Interval(Real, 0, 1e9, closed="right"), None],
    "device": [str, None],
    "predictions": [StrOptions(set(STORED_PREDICTIONS))],
}
ALLOWED = {
    **SETTINGS,
    "sets": ["array-like"],
    "algorithms": [Mapping],
    "criteria": ["array-like", None],
}
"""What is allowed for the parameters of a study."""
PARTS = {"sets": Source, "algorithms": HasMethods(["fit", "predict"]), "criteria": Criterion}
"""What is allowed in the parts of a study."""


@dataclass(frozen=True)
class Study:
    """A comparison of algorithms on sets by cross-validation.

    Parameters
    ----------
    sets : iterable of str, or mapping
        Names of the catalogue; or a mapping of names to `MultiLabelData`, pairs of X and Y, or
        tables as in study files: ``{"catalogue": "yeast", "rows": 500}``,
        ``{"file": "mine.csv", "labels": ["a", "b"]}`` or ``{"function": "package.make"}``.
    algorithms : mapping of str to classifier
        Unfitted multi-label classifiers of any library that follows scikit-learn, or tables as in
        study files. Classifiers of
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
    left_out : mapping of str to list of str
        Algorithms that were left out, with the packages that they need and that
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
        validate_parameter_constraints(ALLOWED, vars(self), caller_name="Study")
        sets, criteria = self.sets, tuple(LOSSES) if self.criteria is None else self.criteria
        if not isinstance(sets, Mapping):
            sets = {find_entry(name).name: {} for name in sets}
        if not isinstance(criteria, Mapping):
            criteria = {key: CRITERIA[key] for key in own_names(CRITERIA, criteria, "metric")}
        left_out = {**self.left_out}
        if self.skip_missing:
            absent = {name: missing_packages(each) for name, each in self.algorithms.items()}
            left_out |= {name: packages for name, packages in absent.items() if packages}
        given: dict[str, Any] = {"left_out": left_out}
        with importable(self.folder):
            given["sets"] = {
                name: Source.of(name, each, self.folder or Path()) for name, each in sets.items()
            }
            given["criteria"] = {name: _criterion(name, each) for name, each in criteria.items()}
            given["algorithms"] = {
                name: build(each, f"algorithms.{name}")
                for name, each in self.algorithms.items()
                if name not in left_out
            }
        for key, kind in PARTS.items():
            names = list(given[key])
            if not names or not all(isinstance(name, str) and name for name in names):
                raise ValueError(f"names of {key} must be one text or more, got {names}")
            named = {f"{key}.{name}": each for name, each in given[key].items()}
            allowed = {place: [kind] for place in named}
            validate_parameter_constraints(allowed, named, caller_name="Study")
        for key, part in given.items():
            object.__setattr__(self, key, part)  # frozen, so in no other way

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
            **{key: getattr(self, key) for key in SETTINGS},
            "sets": {name: describe(source.table) for name, source in self.sets.items()},
            "algorithms": {name: describe(model) for name, model in self.algorithms.items()},
            "criteria": {name: describe(vars(each)) for name, each in self.criteria.items()},
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
        >>> from pairmend.study import load_study
        >>> narrow = load_study("paper").narrowed(["Yeast", "corel5k"], ["FCM"])
        >>> list(narrow.sets), list(narrow.algorithms)
        (['yeast', 'corel5k'], ['FCM'])
        """
        study = self
        if sets is not None:
            own = {name.casefold(): name for name in self.sets}
            chosen: dict[str, Any] = {}
            for name in sets:
                spelled = own.get(name.casefold()) or find_entry(name).name
                chosen[spelled] = self.sets.get(spelled, {})
            study = replace(study, sets=chosen, skip_missing=False)
        if algorithms is not None:
            absent = [f"{name} needs {', '.join(each)}" for name, each in self.left_out.items()]
            kept = own_names(self.algorithms, algorithms, "algorithm", "; ".join(absent))
            parts = {name: self.algorithms[name] for name in kept}
            study = replace(study, algorithms=parts, left_out={})
        return study


def load_study(study: str | Path) -> Study:
    """Read a study file, or a study that comes with the package.

    Parameters
    ----------
    study : path
        A TOML file, whose relative paths start from its own folder. Or, if there is no such file,
        "paper", the paper's experiment; "mended", the comparison of
        :class:`~pairmend.MendedClassifier` with baselines; or "family", the pairwise family.

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
    >>> study = load_study("paper")
    >>> len(study.sets), list(study.algorithms)
    (29, ['LPW', 'FCM', 'FCM-W', 'FCM-O'])
    """
    path = Path(study)
    shipped = str(study) in SHIPPED_STUDIES and not path.exists()
    if not shipped and not path.is_file():
        raise FileNotFoundError(
            f"there is no study file {path}; studies that come with pairmend are "
            f"{', '.join(SHIPPED_STUDIES)}"
        )
    file: Any = resources.files("pairmend.study") / f"{study}.toml" if shipped else path
    known = [field.name for field in fields(Study) if field.name not in ("file", "left_out")]
    try:
        plain = {"name": path.stem, **tomllib.loads(file.read_text("utf-8"))}
        if unknown := [key for key in plain if key not in known]:
            raise ValueError(f"unknown key {unknown[0]!r}; a study has {', '.join(known)}")
        return Study(**plain, file=None if shipped else path)
    except (ValueError, TypeError, ImportError) as error:
        raise ValueError(f"{path}: {error}") from error


def _criterion(name: str, given: Any) -> Any:
    """Return the metric of a table, which may change one of `CRITERIA`."""
    if not isinstance(given, Mapping):
        return given
    if "function" in given:
        given = {"title": name, **given, "function": {"object": given["function"]}}
    elif name in CRITERIA:
        given = {**vars(CRITERIA[name]), **given}
    return build({"class": "pairmend.study.Criterion", "params": given}, f"criteria.{name}")
