"""Types that are trusted in a model file; UntrustedTypesError.

Trusted are classes of which only attributes are set when an object is created, whose predictions
stay within their own memory for all values of the attributes: those that compute with numpy, or
whose arrays are checked. All others must be passed to ``load_model`` as trusted.
"""

import sys
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np

import pairmend
from pairmend.kernels.rrc import REFERENCES
from pairmend.persistence.container import ModelFileError

ROOMS = (
    "_utils",
    "base_classifiers",
    "baselines",
    "forests",
    "frames",
    "kernels",
    "mended",
    "naive_bayes",
    "neighbourhoods",
    "pairwise",
    "thresholds",
)
"""Modules and packages of the library whose classes model files may hold: estimators and parts of
them, of which only attributes are set when an object is created."""

OURS = "pairmend"
"""Stands in a file in place of the module of a class of the library: a file names classes only, so
that it can be loaded after a module was renamed or moved."""

OUR_FUNCTIONS = {function.__name__: function for function in REFERENCES.values()}
"""Functions of the library that fitted classifiers refer to."""

FUNCTIONS = frozenset(
    # Parameters of feature selection, which are called in fit only.
    f"sklearn.feature_selection._{module}.{name}"
    for module, names in (
        ("univariate_selection", ("chi2", "f_classif", "f_regression")),
        ("mutual_info_", ("mutual_info_classif", "mutual_info_regression")),
    )
    for name in names
)
"""Functions of scikit-learn that estimators refer to."""

SCIKIT_LEARN = (
    "calibration", "compose", "decomposition._pca", "decomposition._truncated_svd",
    "discriminant_analysis", "dummy", "ensemble._bagging", "ensemble._forest",
    "ensemble._stacking", "ensemble._voting", "ensemble._weight_boosting",
    "feature_extraction.text", "feature_selection", "impute._base", "isotonic",
    "kernel_approximation", "linear_model", "model_selection", "multiclass", "multioutput",
    "naive_bayes", "neighbors._nearest_centroid", "neural_network", "pipeline",
    "preprocessing._data", "preprocessing._discretization", "preprocessing._encoders",
    "preprocessing._function_transformer", "preprocessing._label",
    "preprocessing._target_encoder", "tree._classes",
)  # fmt: skip
"""Modules and packages of scikit-learn all of whose classes are trusted, if written in Python.

Not listed, because their compiled code does not check their arrays: support vector machines with
kernels, gradient boosting, everything that searches neighbours or clusters, isolation forests. Not
listed, because a parameter determines how much memory they need: polynomials and splines.
"""

CLASSES = frozenset(
    {
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.svm._classes.LinearSVC",
        "sklearn.svm._classes.LinearSVR",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)
"""Further classes of scikit-learn that are trusted."""

TREE = "sklearn.tree._tree.Tree"

LOADERS: dict[str, frozenset[str]] = {
    "DictNode": frozenset(
        {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
    ),
    "ListNode": frozenset({"builtins.list"}),
    "SetNode": frozenset({"builtins.set"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "MaskedArrayNode": frozenset({f"{np.ma.MaskedArray.__module__}.MaskedArray"}),
    "RandomStateNode": frozenset({f"{np.random.RandomState.__module__}.RandomState"}),
    "RandomGeneratorNode": frozenset({f"{np.random.Generator.__module__}.Generator"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    # Their indices are checked.
    "SparseMatrixNode": frozenset({"scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"}),
    "TreeNode": frozenset({TREE}),
    # Losses of linear models.
    "LossNode": frozenset(
        {
            f"sklearn.linear_model._sgd_fast.{name}"
            for name in (
                "EpsilonInsensitive",
                "Hinge",
                "ModifiedHuber",
                "SquaredEpsilonInsensitive",
                "SquaredHinge",
            )
        }
        | {
            f"sklearn._loss._loss.{name}"
            for name in ("CyHalfBinomialLoss", "CyHalfSquaredError", "CyHuberLoss")
        }
    ),
}
"""Types that each loader of skops may create; for further loaders see :func:`is_trusted`."""


class UntrustedTypesError(ModelFileError):
    """A model file holds types that are not trusted.

    Parameters
    ----------
    message : str
        The message.
    types : sequence of str
        Their full names, also as the attribute `types`.

    Examples
    --------
    >>> from pairmend.persistence import UntrustedTypesError
    >>> UntrustedTypesError("holds a.B", ["a.B"]).types
    ('a.B',)
    """

    def __init__(self, message: str, types: Iterable[str]):
        super().__init__(message)
        self.types = tuple(types)


def is_trusted(loader: str, name: str) -> bool:
    """Return whether a loader of skops may create a type.

    The same type may be harmless with one loader and not with another.
    """
    if loader in LOADERS:
        return name in LOADERS[loader]
    match loader:
        case "JsonNode":  # numbers and texts
            return True
        case "NdArrayNode":
            return name == "numpy.ndarray" or is_scalar(name)
        case "TypeNode":
            return name in BUILTIN_TYPES or is_scalar(name)
        case "FunctionNode":
            ours = _is_short(name) and name.rpartition(".")[2] in OUR_FUNCTIONS
            return ours or name in FUNCTIONS or _is_ufunc(name)
        case "ObjectNode":
            return class_of(name) is not None
    return False


BUILTIN_TYPES = frozenset(f"builtins.{name}" for name in ("bool", "float", "int", "str"))
SCALARS = frozenset("biufcSUmM")
"""Kinds of numpy scalars that hold no Python objects."""


@cache
def class_of(name: str) -> type | None:
    """Return a trusted class by its name in a file, None for other names."""
    module, _, attribute = name.rpartition(".")
    if module == OURS:
        found = registered(attribute)
        return found if isinstance(found, type) else None
    listed = [f"sklearn.{each}" for each in SCIKIT_LEARN]
    if not (name in CLASSES or module in listed or module.rpartition(".")[0] in listed):
        return None
    try:
        source = import_module(module)
    except ImportError:
        return None
    found = vars(source).get(attribute)
    in_python = str(source.__file__).endswith(".py")
    is_own = isinstance(found, type) and found.__module__ == module
    return found if in_python and is_own else None


def registered(name: str) -> Any:
    """Return the class or function of the library that a name in a model file stands for.

    None if there is none. Modules of the library are imported until the name is found.
    """
    if name in OUR_FUNCTIONS:
        return OUR_FUNCTIONS[name]
    if name in pairmend.__all__:
        getattr(pairmend, name)  # imports its module, and those of its parts
    found = _classes(len(sys.modules)).get(name)
    if found is None:
        _import_all()
        found = _classes(len(sys.modules)).get(name)
    return found


@lru_cache(maxsize=1)
def _classes(n_modules: int) -> dict[str, type]:
    """Return the classes of imported modules by name; they are `n_modules` modules now."""
    found: dict[str, type] = {}
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith(OURS + ".") and module_name.split(".")[1] in ROOMS:
            public = (value for name, value in vars(module).items() if not name.startswith("_"))
            own = (each for each in public if isinstance(each, type))
            found |= {each.__name__: each for each in own if each.__module__ == module_name}
    return found


@cache
def _import_all() -> None:
    """Import all modules that define classes of model files."""
    for room in ROOMS:
        found = import_module(f"{OURS}.{room}")
        for module in walk_packages(getattr(found, "__path__", ()), f"{found.__name__}."):
            import_module(module.name)


def is_missing(name: str) -> bool:
    """Return whether a name is that of a class of pairmend which this version does not have."""
    return _is_short(name) and registered(name.rpartition(".")[2]) is None


def full_name(name: str) -> str:
    """Return the full name of a type that a model file names."""
    found = registered(name.rpartition(".")[2]) if _is_short(name) else None
    return name if found is None else f"{found.__module__}.{found.__qualname__}"


def _is_short(name: str) -> bool:
    return name.rpartition(".")[0] == OURS


def is_scalar(name: str) -> bool:
    """Return whether a name is that of a numpy scalar type."""
    module, _, attribute = name.rpartition(".")
    found = getattr(np, attribute, None) if module == "numpy" else None
    if not (isinstance(found, type) and issubclass(found, np.generic)):
        return False
    return np.dtype(found).kind in SCALARS


def _is_ufunc(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if not module.startswith(("numpy", "scipy.special")):
        return False
    return isinstance(getattr(sys.modules.get(module), attribute, None), np.ufunc)
