"""What may come out of a model file.

skops names every type in a file before it makes any object, and knows scikit-learn's estimators
and numpy's arrays. Here stands what else is harmless: objects of which only attributes are set.
"""

from collections.abc import Iterable
from importlib import import_module

from pairmend.kernels.rrc import REFERENCES
from pairmend.models.container import ModelFileError

MODULES = frozenset(
    {
        "pairmend._basis",
        "pairmend._columns",
        "pairmend._frames",
        "pairmend._growing",
        "pairmend._pairs",
        "pairmend._survey",
        "pairmend.bases",
        "pairmend.calibrated",
        "pairmend.corrected",
        "pairmend.family.bradley_terry",
        "pairmend.family.corrected_classes",
        "pairmend.family.corrected_relevance",
        "pairmend.family.four_classes",
        "pairmend.family.frugal",
        "pairmend.family.overlap",
        "pairmend.family.parallel_hyperplanes",
        "pairmend.family.perceptrons",
        "pairmend.family.problems",
        "pairmend.family.qweighted",
        "pairmend.family.shared_first",
        "pairmend.family.two_stage",
        "pairmend.frames.encoder",
        "pairmend.frames.kinds",
        "pairmend.kernels.confusion",
        "pairmend.learners.generic",
        "pairmend.learners.naive_bayes",
        "pairmend.learners.perceptron",
        "pairmend.learners.scoring",
        "pairmend.learners.sums",
        "pairmend.mended",
        "pairmend.mending.decisions",
        "pairmend.mending.evidence",
        "pairmend.mending.label_sets",
        "pairmend.mending.mender",
        "pairmend.mending.rows",
        "pairmend.mending.scalings",
        "pairmend.mending.search",
        "pairmend.naive_bayes",
        "pairmend.neighbourhoods",
        "pairmend.pairwise",
        "pairmend.rivals.chains",
        "pairmend.rivals.ml_knn",
        "pairmend.rivals.powerset",
        "pairmend.rivals.rakel",
        "pairmend.rivals.relevance",
        "pairmend.thresholded",
        "pairmend.thresholds",
    }
)
"""Modules all of whose own classes are trusted: estimators and plain data."""

FUNCTIONS = frozenset(f"{f.__module__}.{f.__qualname__}" for f in REFERENCES.values())
"""Functions that fitted classifiers refer to."""

TREE = "sklearn.tree._tree.Tree"

OTHERS = frozenset(
    {
        # Made of the head of an array that numpy reads without pickle.
        "numpy.dtype",
        # Read by scipy, which reads no pickle.
        "scipy.sparse._csr.csr_array",
        "scipy.sparse._csr.csr_matrix",
        # Could lead outside of memory; `check_trees` looks at each that was read.
        TREE,
    }
)
"""Types of other libraries that are harmless here."""


class UntrustedTypesError(ModelFileError):
    """A model file holds types that nobody has said to be harmless.

    Parameters
    ----------
    message : str
        What to tell.
    types : sequence of str
        Their full names.
    """

    def __init__(self, message: str, types: Iterable[str]):
        super().__init__(message)
        self.types = tuple(types)


def trusted_of(found: Iterable[str]) -> list[str]:
    """Return those of a file's types that are known to be harmless.

    Parameters
    ----------
    found : iterable of str
        Full names of types that skops does not know.

    Returns
    -------
    list of str
    """
    return [name for name in found if name in FUNCTIONS or name in OTHERS or _is_ours(name)]


def _is_ours(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if module not in MODULES:
        return False
    found = getattr(import_module(module), attribute, None)
    return isinstance(found, type) and found.__module__ == module
