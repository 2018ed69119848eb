"""Types that are trusted in a model file; ModelFileError, UntrustedTypesError.

Trusted are classes of which only attributes are set when an object is created, whose predictions
stay within their own memory for all values of the attributes: those that compute with numpy, or
whose arrays are checked. All others must be passed to ``load_model`` as trusted.
"""

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import numpy as np

import pairmend
from pairmend.kernels.rrc import REFERENCES

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

SCIKIT_LEARN = (
    "calibration", "compose", "decomposition._pca", "decomposition._truncated_svd",
    "discriminant_analysis", "dummy", "ensemble._bagging", "ensemble._forest",
    "ensemble._stacking", "ensemble._voting", "ensemble._weight_boosting",
    "feature_extraction.text.CountVectorizer", "feature_extraction.text.TfidfTransformer",
    "feature_extraction.text.TfidfVectorizer", "feature_selection", "impute._base", "isotonic",
    "kernel_approximation", "linear_model", "metrics._scorer._PassthroughScorer",
    "model_selection", "multiclass", "multioutput", "naive_bayes",
    "neighbors._nearest_centroid", "neural_network", "pipeline", "preprocessing._data",
    "preprocessing._discretization", "preprocessing._encoders",
    "preprocessing._function_transformer", "preprocessing._label",
    "preprocessing._target_encoder", "svm._classes.LinearSVC", "svm._classes.LinearSVR",
    "tree._classes", "utils._metadata_requests",
)  # fmt: skip
"""Packages, modules and classes of scikit-learn that are trusted, if written in Python.

Not listed, because their compiled code does not check their arrays: support vector machines with
kernels, gradient boosting, everything that searches neighbours or clusters, isolation forests. Not
listed, because a parameter determines how much memory they need: polynomials and splines.
"""

TREE = "sklearn.tree._tree.Tree"

NAMES: dict[str, tuple[str, ...]] = {
    "DictNode": ("builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"),
    "ListNode": ("builtins.list",),
    "SetNode": ("builtins.set",),
    "TupleNode": ("builtins.tuple",),
    "SliceNode": ("builtins.slice",),
    "TypeNode": ("builtins.bool", "builtins.float", "builtins.int", "builtins.str"),
    "NdArrayNode": ("numpy.ndarray",),
    "MaskedArrayNode": (f"{np.ma.MaskedArray.__module__}.MaskedArray",),
    "RandomStateNode": (f"{np.random.RandomState.__module__}.RandomState",),
    "DTypeNode": ("numpy.dtype",),
    # Their indices are checked.
    "SparseMatrixNode": ("scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix"),
    "TreeNode": (TREE,),
    # Losses of linear models.
    "LossNode": tuple(
        f"sklearn.{name}"
        for name in (
            "linear_model._sgd_fast.EpsilonInsensitive", "linear_model._sgd_fast.Hinge",
            "linear_model._sgd_fast.ModifiedHuber", "linear_model._sgd_fast.SquaredHinge",
            "linear_model._sgd_fast.SquaredEpsilonInsensitive", "_loss._loss.CyHalfBinomialLoss",
            "_loss._loss.CyHalfSquaredError", "_loss._loss.CyHuberLoss",
        )
    ),
    # Parameters of feature selection, which are called in fit only.
    "FunctionNode": (
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
    ),
}  # fmt: skip
"""Types that each loader of skops may create; for further ones see :func:`is_trusted`."""

BY_USER = (
    "ObjectNode", "ConstructorFromReduceNode", "TypeNode", "FunctionNode", "DictNode", "ListNode",
    "SetNode", "TupleNode", "LossNode", "RandomGeneratorNode",
)  # fmt: skip
"""Loaders of types that a user may trust."""


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or has invalid content."""


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
    if loader == "JsonNode" or name in NAMES.get(loader, ()):  # numbers and texts
        return True
    module, _, attribute = name.rpartition(".")
    match loader:
        case "ObjectNode":
            return class_of(name) is not None
        case "TypeNode" | "NdArrayNode":
            return module == "numpy" and _is_scalar(getattr(np, attribute, None))
        case "FunctionNode":
            if module.startswith(("numpy", "scipy.special")):
                return isinstance(getattr(sys.modules.get(module), attribute, None), np.ufunc)
            return module == OURS and callable(registered(attribute)) and class_of(name) is None
    return False


def _is_scalar(found: Any) -> bool:
    """Return whether a type is that of numpy's scalars without Python objects."""
    is_generic = isinstance(found, type) and issubclass(found, np.generic)
    return is_generic and np.dtype(found).kind in "biufcSUmM"


@cache
def class_of(name: str) -> type | None:
    """Return a trusted class by its name in a file, None for other names."""
    module, _, attribute = name.rpartition(".")
    if module == OURS:
        found = registered(attribute)
        return found if isinstance(found, type) else None
    listed = {f"sklearn.{each}" for each in SCIKIT_LEARN}
    if listed.isdisjoint((name, module, module.rpartition(".")[0])):
        return None
    try:
        source = import_module(module)
    except ImportError:
        return None
    found = vars(source).get(attribute)
    in_python = str(source.__file__).endswith(".py")
    is_own = isinstance(found, type) and found.__module__ == module
    return found if in_python and is_own else None


@cache
def registered(name: str) -> Any:
    """Return the class or function of the library that a name in a model file stands for.

    None if there is none. Modules of the library are imported until the name is found.
    """
    if name in pairmend.__all__:
        getattr(pairmend, name)  # imports its module, and those of its parts
    found = _imported(name)
    if found is None:
        _import_all()
        found = _imported(name)
    return found


def _imported(name: str) -> Any:
    """Return a class of the imported modules, or a function that fitted classifiers refer to."""
    functions = {function.__name__: function for function in REFERENCES.values()}
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith(f"{OURS}.") and module_name.split(".")[1] in ROOMS:
            found = vars(module).get(name)
            if isinstance(found, type) and found.__module__ == module_name and name[0] != "_":
                return found
    return functions.get(name)


@cache
def _import_all() -> None:
    """Import all modules that define classes of model files."""
    for room in ROOMS:
        found = import_module(f"{OURS}.{room}")
        for module in walk_packages(getattr(found, "__path__", ()), f"{found.__name__}."):
            import_module(module.name)


def full_name(name: str) -> str:
    """Return the full name of a type that a model file names; of an unknown one, the same name."""
    module, _, attribute = name.rpartition(".")
    found = registered(attribute) if module == OURS else None
    return name if found is None else f"{found.__module__}.{found.__qualname__}"
