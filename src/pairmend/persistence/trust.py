"""Types that are trusted in a model file; UntrustedTypesError.

Listed are classes of which only attributes are set when an object is created, and whose predictions
stay within their own memory for all values of the attributes: those that compute with numpy, or
whose arrays are checked. All others must be passed to ``load_model`` as trusted.
"""

import sys
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

from pairmend.kernels.rrc import REFERENCES
from pairmend.persistence.container import ModelFileError

MODULES = frozenset(
    {
        "pairmend.naive_bayes.design_matrix",
        "pairmend.array_api.label_groups",
        "pairmend.array_api.logistic",
        "pairmend.array_api.pair_confusion",
        "pairmend.array_api.pair_naive_bayes",
        "pairmend._utils.columns",
        "pairmend._utils.constant_classifier",
        "pairmend._utils.frames",
        "pairmend._utils.per_label",
        "pairmend.pairwise.incremental",
        "pairmend.kernels.pairs",
        "pairmend.naive_bayes.feature_statistics",
        "pairmend.base_classifiers",
        "pairmend.pairwise.calibrated",
        "pairmend.pairwise.corrected",
        "pairmend.pairwise.dense",
        "pairmend.pairwise.family.bradley_terry",
        "pairmend.pairwise.family.corrected_classes",
        "pairmend.pairwise.family.corrected_relevance",
        "pairmend.pairwise.family.four_classes",
        "pairmend.pairwise.family.selective",
        "pairmend.pairwise.family.two_supports",
        "pairmend.pairwise.family.parallel_hyperplanes",
        "pairmend.pairwise.family.perceptrons",
        "pairmend.pairwise.family.problems",
        "pairmend.pairwise.family.qweighted",
        "pairmend.pairwise.family.shared_first",
        "pairmend.pairwise.family.two_stage",
        "pairmend.frames.encoder",
        "pairmend.frames.kinds",
        "pairmend.frames.readers",
        "pairmend.kernels.confusion",
        "pairmend.pairwise.learners.generic",
        "pairmend.pairwise.learners.naive_bayes",
        "pairmend.pairwise.learners.perceptron",
        "pairmend.naive_bayes.scoring",
        "pairmend.naive_bayes.sums",
        "pairmend.forests.estimator",
        "pairmend.forests.trees",
        "pairmend.mended.arrays",
        "pairmend.mended.base",
        "pairmend.mended.calibration",
        "pairmend.mended.estimator",
        "pairmend.mended.kernel_ridge",
        "pairmend.mended.decisions",
        "pairmend.mended.validation_set",
        "pairmend.mended.label_sets",
        "pairmend.mended.local_sets",
        "pairmend.mended.corrector",
        "pairmend.mended.rows",
        "pairmend.mended.distances",
        "pairmend.mended.search",
        "pairmend.naive_bayes.estimator",
        "pairmend.neighbourhoods",
        "pairmend.pairwise.voting",
        "pairmend.baselines.chains",
        "pairmend.baselines.ml_knn",
        "pairmend.baselines.powerset",
        "pairmend.baselines.rakel",
        "pairmend.baselines.relevance",
        "pairmend.thresholds.classifier",
        "pairmend.thresholds.risk_control",
        "pairmend.thresholds.strategies",
    }
)
"""Modules all of whose own classes are trusted: estimators and plain data."""

FUNCTIONS = frozenset(f"{f.__module__}.{f.__qualname__}" for f in REFERENCES.values()) | {
    # Parameters of feature selection, which are called in fit only.
    f"sklearn.feature_selection._{module}.{name}"
    for module, names in (
        ("univariate_selection", ("chi2", "f_classif", "f_regression")),
        ("mutual_info_", ("mutual_info_classif", "mutual_info_regression")),
    )
    for name in names
}
"""Functions that fitted classifiers refer to."""

ESTIMATORS = {
    "calibration": ["CalibratedClassifierCV"],
    "compose": ["ColumnTransformer"],
    "decomposition": ["PCA", "TruncatedSVD"],
    "discriminant_analysis": ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
    "dummy": ["DummyClassifier", "DummyRegressor"],
    "ensemble": [
        "AdaBoostClassifier",
        "BaggingClassifier",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
        "StackingClassifier",
        "VotingClassifier",
    ],
    "feature_extraction.text": [
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ],
    "feature_selection": [
        "RFE",
        "SelectFromModel",
        "SelectKBest",
        "SelectPercentile",
        "VarianceThreshold",
    ],
    "impute": ["MissingIndicator", "SimpleImputer"],
    "isotonic": ["IsotonicRegression"],
    "kernel_approximation": ["Nystroem", "RBFSampler"],
    "linear_model": [
        "ElasticNet",
        "Lasso",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "PassiveAggressiveClassifier",
        "Perceptron",
        "Ridge",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "RidgeCV",
        "SGDClassifier",
        "SGDRegressor",
    ],
    "model_selection": [
        "FixedThresholdClassifier",
        "GridSearchCV",
        "RandomizedSearchCV",
        "TunedThresholdClassifierCV",
    ],
    "multiclass": ["OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier"],
    "multioutput": ["ClassifierChain", "MultiOutputClassifier"],
    "naive_bayes": ["BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB", "MultinomialNB"],
    "neighbors": ["NearestCentroid"],
    "neural_network": ["MLPClassifier", "MLPRegressor"],
    "pipeline": ["FeatureUnion", "Pipeline"],
    "preprocessing": [
        "Binarizer",
        "FunctionTransformer",
        "KBinsDiscretizer",
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "MultiLabelBinarizer",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
        "TargetEncoder",
    ],
    "svm": ["LinearSVC", "LinearSVR"],
    "tree": [
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ],
}
"""Estimators of scikit-learn, by public module.

Not listed, because their compiled code does not check their arrays: support vector machines with
kernels, gradient boosting, everything that searches neighbours or clusters, isolation forests. Not
listed, because a parameter determines how much memory they need: polynomials and splines.
"""

PARTS = frozenset(
    {
        # Plain objects that hold attributes of the estimators above.
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer._RemainderColsList",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.multiclass._ConstantPredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
    }
)

TREE = "sklearn.tree._tree.Tree"

LOADERS: dict[str, frozenset[str]] = {
    "DictNode": frozenset(
        {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
    ),
    "DefaultDictNode": frozenset({"collections.defaultdict"}),
    "ListNode": frozenset({"builtins.list"}),
    "SetNode": frozenset({"builtins.set"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "BytesNode": frozenset({"builtins.bytes"}),
    "BytearrayNode": frozenset({"builtins.bytearray"}),
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
            return name in FUNCTIONS or _is_ufunc(name)
        case "ObjectNode":
            return name in PARTS or name in trusted_estimators() or _is_ours(name)
    return False


BUILTIN_TYPES = frozenset(f"builtins.{name}" for name in ("bool", "float", "int", "str"))
SCALARS = frozenset("biufcSUmM")
"""Kinds of numpy scalars that hold no Python objects."""


@cache
def trusted_estimators() -> dict[str, type]:
    """Return the trusted estimators of scikit-learn by the full names of their classes."""
    found = {}
    for module, names in ESTIMATORS.items():
        for name in names:
            cls = getattr(import_module(f"sklearn.{module}"), name)
            found[f"{cls.__module__}.{cls.__qualname__}"] = cls
    return found


def class_of(name: str) -> type | None:
    """Return a trusted class by its full name, None for other names."""
    if name in trusted_estimators():
        return trusted_estimators()[name]
    module, _, attribute = name.rpartition(".")
    if name in PARTS or _is_ours(name):
        found = getattr(import_module(module), attribute, None)
        return found if isinstance(found, type) else None
    return None


def is_missing(name: str) -> bool:
    """Return whether a name is that of a class of pairmend which this version does not have.

    Only trusted modules are imported: a file may name any module.
    """
    module, _, attribute = name.rpartition(".")
    if module in MODULES:
        return not hasattr(import_module(module), attribute)
    return module.startswith("pairmend.") and module not in _own_modules()


@cache
def _own_modules() -> frozenset[str]:
    """Return the names of all modules and packages of pairmend."""
    root = Path(__file__).parents[2]
    files = (path.relative_to(root).with_suffix("") for path in root.glob("pairmend/**/*.py"))
    return frozenset(".".join(path.parts).removesuffix(".__init__") for path in files)


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


def _is_ours(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if module not in MODULES:
        return False
    found = getattr(import_module(module), attribute, None)
    return isinstance(found, type) and found.__module__ == module
