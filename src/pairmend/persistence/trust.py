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
    "_utils", "base_classifiers", "baselines", "forests", "frames", "kernels", "mended",
    "naive_bayes", "neighbourhoods", "pairwise", "thresholds",
)  # fmt: skip
"""Modules and packages of the library whose classes model files may hold: estimators and parts of
them, of which only attributes are set when an object is created."""

FUNCTIONS: dict[str, Any] = {function.__name__: function for function in REFERENCES.values()}
"""The functions that fitted classifiers refer to."""

OURS = "pairmend"
"""Stands in a file in place of the module of a class of the library: a file names classes only, so
that it can be loaded after a module was renamed or moved."""

SCIKIT_LEARN = (
    "calibration", "compose", "decomposition._pca", "decomposition._truncated_svd",
    "discriminant_analysis", "dummy", "ensemble._bagging", "ensemble._forest",
    "ensemble._stacking", "ensemble._voting", "ensemble._weight_boosting",
    "feature_extraction.text.CountVectorizer", "feature_extraction.text.TfidfTransformer",
    "feature_extraction.text.TfidfVectorizer", "feature_selection", "frozen", "impute._base",
    "isotonic", "kernel_approximation", "linear_model", "metrics._scorer._PassthroughScorer",
    "model_selection", "multiclass", "multioutput", "naive_bayes", "neighbors._nearest_centroid",
    "neural_network", "pipeline", "preprocessing._data", "preprocessing._discretization",
    "preprocessing._encoders", "preprocessing._function_transformer", "preprocessing._label",
    "preprocessing._target_encoder", "svm._classes.LinearSVC", "svm._classes.LinearSVR",
    "tree._classes", "utils._metadata_requests",
)  # fmt: skip
"""Packages, modules and classes of scikit-learn that are trusted, if written in Python.

Not listed, because their compiled code does not check their arrays: support vector machines with
kernels, gradient boosting, everything that searches neighbours or clusters, isolation forests. Not
listed, because a parameter determines how much memory they need: polynomials and splines.
"""

LOSSES = (
    *map("linear_model._sgd_fast.{}".format, (
        "EpsilonInsensitive", "Hinge", "ModifiedHuber", "SquaredHinge", "SquaredEpsilonInsensitive",
    )),
    *map("_loss._loss.{}".format, ("CyHalfBinomialLoss", "CyHalfSquaredError", "CyHuberLoss")),
)  # fmt: skip
SELECTIONS = ("_mutual_info.mutual_info_classif", "_univariate_selection.chi2",
              "_univariate_selection.f_classif")  # fmt: skip

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
    "TreeNode": ("sklearn.tree._tree.Tree",),
    "LossNode": tuple(f"sklearn.{name}" for name in LOSSES),
    # Parameters of feature selection, which are called in fit only.
    "FunctionNode": tuple(f"sklearn.feature_selection.{name}" for name in SELECTIONS),
}
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
        case "TypeNode" | "NdArrayNode" if module == "numpy":  # scalars without Python objects
            found = getattr(np, attribute, None)
            is_scalar = isinstance(found, type) and issubclass(found, np.generic)
            return is_scalar and np.dtype(found).kind in "biufcSUmM"
        case "FunctionNode" if module == OURS:
            return attribute in FUNCTIONS
        case "FunctionNode" if module.startswith(("numpy", "scipy.special")):
            return isinstance(getattr(sys.modules.get(module), attribute, None), np.ufunc)
    return False


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
    if (found := _imported(name)) is not None:
        return found
    for room in ROOMS:
        package = import_module(f"{OURS}.{room}")
        for module in walk_packages(getattr(package, "__path__", ()), f"{package.__name__}."):
            import_module(module.name)
    return _imported(name)


def _imported(name: str) -> Any:
    """Return a class of the imported modules, or a function."""
    for path, module in list(sys.modules.items()):
        found = vars(module).get(name) if path.startswith(f"{OURS}.") else None
        is_own = isinstance(found, type) and found.__module__ == path and name[0] != "_"
        if is_own and path.split(".")[1] in ROOMS:
            return found
    return FUNCTIONS.get(name)


def full_name(name: str) -> str:
    """Return the full name of a type that a model file names; of an unknown one, the same name."""
    module, _, attribute = name.rpartition(".")
    found = registered(attribute) if module == OURS else None
    return name if found is None else f"{found.__module__}.{found.__qualname__}"
