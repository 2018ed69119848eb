"""Input checks, and the one file that meets scikit-learn's less public parts."""

from dataclasses import dataclass, replace
from inspect import Parameter, signature
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, _fit_context, clone, is_classifier
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils._repr_html.estimator import _get_visual_block
from sklearn.utils.metadata_routing import (
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    _num_samples,
    assert_all_finite,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from pairmend._columns import describe_frame
from pairmend._frames import EncodedFrame
from pairmend._products import sum_squares
from pairmend._typing import BoolArray, FloatArray, IntArray, MatrixLike, TargetLike
from pairmend._weights import without_negligible

__all__ = [
    "LARGEST",
    "HasMethods",
    "Interval",
    "KnownParameters",
    "StrOptions",
    "Target",
    "check_base_classifier",
    "check_columns",
    "check_features",
    "check_further_target",
    "check_indicators",
    "check_magnitude",
    "check_params",
    "check_prediction_parameters",
    "check_row_order",
    "check_row_weights",
    "check_rows",
    "check_sample_weight",
    "check_target",
    "check_training_rows",
    "class_probabilities",
    "count_rows",
    "fit_context",
    "fit_with_weights",
    "get_visual_block",
    "is_moderate",
    "is_plain",
    "new_seed",
    "remember_features",
    "route_fit_params",
    "seed_estimator",
    "take_params",
    "take_rows",
]


class KnownParameters:
    """Makes an estimator look up the names of its class' parameters only once.

    scikit-learn reads the signature whenever it checks, clones or shows an estimator, which takes
    as long as some of the work here.
    """

    _parameter_names: ClassVar[tuple[str, ...]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        if "_parameter_names" not in vars(cls):  # a subclass may have others
            cls._parameter_names = tuple(super()._get_param_names())  # type: ignore[misc]
        return list(cls._parameter_names)


count_rows = _num_samples
"""Number of rows of an array, a frame, a CSR matrix or a list."""


def fit_with_weights(estimator: Any, given: tuple[Any, ...], weights: FloatArray | None) -> Any:
    """Fit an estimator, with sample weights if there are any and its fit takes them."""
    if weights is None or not has_fit_parameter(estimator, "sample_weight"):
        return estimator.fit(*given)
    return estimator.fit(*given, sample_weight=weights)


fit_context = _fit_context
"""Decorator of ``fit``: validates the estimator's parameters against its constraints."""

get_visual_block = _get_visual_block
"""How scikit-learn's HTML diagram shows an estimator."""


@dataclass(frozen=True)
class Target:
    """What is to be learnt.

    Attributes
    ----------
    Y : ndarray of bool, shape (n, L)
        Label indicators; for a 1-D target, one true cell a row.
    classes : ndarray of shape (L,)
        Names of the labels.
    multilabel : bool
        False for a 1-D target, of which each row has exactly one class.
    """

    Y: BoolArray
    classes: np.ndarray[Any, Any]
    multilabel: bool

    def as_given(self, rows: IntArray) -> np.ndarray[Any, Any]:
        """Return rows of the target in its own form: 0/1 indicators, or 1-D classes."""
        if self.multilabel:
            return self.Y[rows].astype(np.int64)
        return np.asarray(self.classes[self.Y[rows].argmax(axis=1)])


def check_rows(X: MatrixLike) -> MatrixLike:
    """Make rows of X selectable and leave everything else to whoever reads them.

    The base classifier may be a pipeline that takes texts, frames or missing values, so
    nothing is said here about what the cells hold.
    """
    if sparse.issparse(X):
        X = X.tocsr()
    elif isinstance(X, list | tuple):
        X = _as_rows(X)
    elif not hasattr(X, "__getitem__"):
        X = np.asarray(X)
    if count_rows(X) == 0:
        raise ValueError("X has 0 sample(s), while a minimum of 1 is required.")
    return X


LARGEST = {"float64": 1e100, "float32": 1e15}
"""Largest magnitude of a feature value by precision: products of larger values overflow."""
ROUNDING = 1e-9
"""How far rounding may put a probability outside of [0, 1]."""


def check_training_rows(X: MatrixLike) -> MatrixLike:
    """Check rows as :func:`check_rows` does, and that variances and distances do not overflow."""
    X = check_rows(X)
    check_magnitude(X)
    return X


def check_magnitude(X: MatrixLike, dtype: str = "float64") -> None:
    """Refuse arrays and sparse matrices with finite values too large for a precision.

    Single precision is checked only where it is computed in: elsewhere it is converted.
    """
    values = getattr(X, "data", None) if sparse.issparse(X) else X
    if type(values) is not np.ndarray or values.dtype != dtype:
        return
    limit = LARGEST[dtype]
    if is_moderate(values, limit):
        return
    flat = values.ravel(order="K")
    largest = np.max(np.abs(flat), where=np.isfinite(flat), initial=0.0)
    if largest > limit:
        raise ValueError(
            f"X holds a value of magnitude {largest:.3g}; expected at most {limit:g}, because "
            "products of larger values overflow. Scale the features, for example with "
            "sklearn.preprocessing.MaxAbsScaler, and replace codes of missing values by NaN."
        )


def is_moderate(values: FloatArray, limit: float = LARGEST["float64"]) -> bool:
    """Return whether all values are finite and surely below a limit, in one pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        return sum_squares(values) < limit**2


def class_probabilities(model: Any, X: MatrixLike) -> FloatArray:
    """Return ``predict_proba`` of a base classifier; refuse what are not probabilities."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)
    valid = (found >= -ROUNDING) & (found <= 1 + ROUNDING)
    if found.ndim != 2 or not valid.all():
        raise ValueError(
            f"predict_proba of the base classifier {type(model).__name__} must give a column of "
            f"probabilities in [0, 1] for each class; got an array of shape {found.shape} with "
            f"{np.count_nonzero(np.isnan(found))} values NaN and "
            f"{np.count_nonzero(~valid & ~np.isnan(found))} outside of [0, 1]. Check the scale of "
            "the features, and constant features."
        )
    return np.clip(found, 0, 1)


def _as_rows(X: list[Any] | tuple[Any, ...]) -> Any:
    """Return rows of numbers as an array, anything else, texts for instance, as it is."""
    try:
        array = np.asarray(X)
    except ValueError:  # rows of different lengths, which a pipeline may take
        return X
    return array if array.dtype.kind in "biufc" else X


def check_params(estimator: BaseEstimator, params: dict[str, Any]) -> None:
    """Check values of some of an estimator's parameters against its constraints."""
    validate_parameter_constraints(
        estimator._parameter_constraints, params, caller_name=type(estimator).__name__
    )


def check_prediction_parameters(estimator: Any) -> None:
    """Check the parameters that take effect at prediction: they may have been set after fit."""
    names = estimator.prediction_parameters
    check_params(estimator, {name: getattr(estimator, name) for name in names})


def check_features(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Check X at prediction against the features seen in fit."""
    X = check_rows(X)
    if getattr(X, "ndim", 2) == 1 and hasattr(estimator, "n_features_in_"):
        raise ValueError(
            f"Expected a 2D array, got a 1D array of shape {X.shape}. Reshape your data: "
            "X.reshape(1, -1) if it is a single sample, X.reshape(-1, 1) if it is a single "
            "feature."
        )
    if isinstance(X, list | tuple):  # texts or tokens, not features
        return X
    check_magnitude(X)
    return check_columns(estimator, X)


def check_columns(estimator: BaseEstimator, X: MatrixLike) -> MatrixLike:
    """Check number and names of the columns of X, which may have no rows, at prediction."""
    if isinstance(X, EncodedFrame):  # its encoder has done so
        return X
    return validate_data(estimator, X, reset=False, skip_check_array=True)


def remember_features(estimator: BaseEstimator, X: MatrixLike) -> None:
    """Set ``n_features_in_``, ``feature_names_in_`` and types of columns from the rows of fit."""
    for name in ("n_features_in_", "feature_names_in_", "_frame_columns"):
        if hasattr(estimator, name):
            delattr(estimator, name)
    if isinstance(X, EncodedFrame):
        estimator.n_features_in_ = X.encoder.n_features_in_
        if hasattr(X.encoder, "feature_names_in_"):
            estimator.feature_names_in_ = X.encoder.feature_names_in_
    elif not isinstance(X, list | tuple):
        validate_data(estimator, X, skip_check_array=True)
    if hasattr(estimator, "feature_names_in_") and is_classifier(estimator):
        estimator._frame_columns = describe_frame(X)


def is_plain(X: Any) -> bool:
    """Return whether X is a matrix of finite floats, which needs no further check."""
    plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and X.size > 0
    return plain and is_moderate(X)


def take_rows(X: MatrixLike, rows: IntArray | slice) -> MatrixLike:
    """Select rows of an array, a frame, a CSR matrix or a list."""
    if type(X) not in (np.ndarray, EncodedFrame):
        return _safe_indexing(X, rows)
    if type(X) is EncodedFrame or isinstance(rows, slice) or rows.dtype.kind != "i":
        return X[rows]
    if X.ndim != 2 or X.dtype.kind != "f":
        return X[rows]
    # With mode="raise" numpy would not write to `out` itself.
    return np.take(X, rows, axis=0, mode="wrap")


def check_target(
    estimator: BaseEstimator, X: MatrixLike, y: TargetLike, *, min_labels: int = 2
) -> Target:
    """Read the target: indicators of labels, or a 1-D array of classes.

    Parameters
    ----------
    estimator : estimator
        Named in error messages.
    X : array-like
        The rows the target belongs to.
    y : array-like, frame or sparse matrix
        Indicators of shape (n, L), or classes of shape (n,).
    min_labels : {1, 2}, default=2
        How many labels there must be.

    Returns
    -------
    Target
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the "
            "target y is None."
        )
    names = np.asarray(y.columns) if hasattr(y, "columns") else None
    indicators = _as_array(y)
    check_consistent_length(X, indicators)
    check_row_order(X, y, "y")
    if indicators.ndim == 2 and indicators.shape[1] != 1:
        return Target(_check_indicators(indicators), _label_names(names, indicators), True)
    if indicators.ndim > 2:
        raise ValueError(
            f"y has {indicators.ndim} dimensions, shape {indicators.shape}; expected label "
            "indicators of shape (n_samples, n_labels) or classes of shape (n_samples,)."
        )
    if indicators.ndim == 2 and np.isin(indicators, [0, 1]).all():
        if min_labels == 1:
            return Target(_check_indicators(indicators), _label_names(names, indicators), True)
        raise ValueError(
            "y has one label only, and pairs need at least two. MendedClassifier and "
            "CalibratedLabelRanking take a single label; to learn it as a binary problem here, "
            "pass a 1-D y, for instance numpy.ravel(y)."
        )
    return _check_classes(column_or_1d(indicators, warn=True))


def check_row_order(X: MatrixLike, other: Any, name: str) -> None:
    """Refuse a frame or series whose index has the values of X's index in another order.

    Rows are matched by position, as in scikit-learn. Where the two indices hold different values,
    as after ``reset_index`` of one of them, the order cannot be judged by them.

    Parameters
    ----------
    X : array-like, frame or series
        Rows.
    other : array-like, frame or series
        What belongs to the rows.
    name : str
        Its name in the message.
    """
    ours, theirs = (_row_index(part) for part in (X, other))
    if ours is None or theirs is None or len(ours) != len(theirs) or ours.equals(theirs):
        return
    if not len(ours.symmetric_difference(theirs, sort=False)):
        row = int(np.argmax(np.asarray(ours != theirs)))
        first, second = ours[[row]].tolist()[0], theirs[[row]].tolist()[0]
        unique = ours.is_unique and theirs.is_unique
        by_index = f"pass {name}.loc[X.index]" if unique else "give both an index without repeats"
        raise ValueError(
            f"X and {name} have the same index values in a different order: row {row} is "
            f"{first!r} in X and {second!r} in {name}. Rows are matched by position. If they "
            f"belong together by index, {by_index}; if by position, pass {name}.set_axis(X.index)."
        )


def _row_index(part: Any) -> Any:
    """Return the index of a pandas frame or series, None of anything else."""
    index = getattr(part, "index", None)
    return index if hasattr(index, "symmetric_difference") else None


def check_sample_weight(sample_weight: Any, X: MatrixLike, **options: Any) -> FloatArray:
    """Read sample weights, None gives ones; refuse weights that are all zero.

    Newer versions of scikit-learn refuse them, too, but 1.7 does not.
    """
    check_row_order(X, sample_weight, "sample_weight")
    weights: FloatArray = _check_sample_weight(sample_weight, X, **options)
    if np.all(weights == 0):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def check_row_weights(sample_weight: Any, X: MatrixLike) -> FloatArray:
    """Read sample weights, those below a millionth of the unit of weight as 0; None gives ones."""
    return without_negligible(check_sample_weight(sample_weight, X, ensure_non_negative=True))


def check_further_target(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: TargetLike,
    classes: Any = None,
    *,
    min_labels: int = 2,
) -> Target:
    """Read the target of a ``partial_fit``, of which an earlier call may have told the labels.

    Parameters
    ----------
    estimator : estimator
        If it is fitted, its ``classes_`` and ``multilabel_`` say what labels there are.
    X : array-like
        The rows the target belongs to.
    y : array-like, frame or sparse matrix
        Indicators of shape (n, L), or classes of shape (n,), not all of which need occur.
    classes : array-like of shape (L,), default=None
        All classes, or names of the labels; if None, those of the first call's y.
    min_labels : {1, 2}, default=2
        How many labels there must be.

    Returns
    -------
    Target
    """
    known = getattr(estimator, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes)
        if known is not None and not np.array_equal(np.sort(classes), np.sort(known)):
            raise ValueError(
                f"classes are {classes.tolist()}, but were {known.tolist()} in an earlier call; "
                "leave them out, or start again with a new estimator."
            )
    single = y is not None and _as_array(y).ndim == 1
    if known is not None and single is estimator.multilabel_:
        forms = ["classes of shape (n_samples,)", "indicators of shape (n_samples, n_labels)"]
        raise ValueError(f"y has {forms[not single]}, but an earlier call had {forms[single]}.")
    if single and (known is not None or classes is not None):
        check_consistent_length(X, y)
        return _among_classes(_as_array(y), np.unique(classes) if known is None else known)
    target = check_target(estimator, X, y, min_labels=min_labels)
    names = classes if known is None else known
    if names is None:
        return target
    if len(names) != target.Y.shape[1]:
        raise ValueError(f"y has {target.Y.shape[1]} labels, expected {len(names)}.")
    if hasattr(y, "columns") and not np.array_equal(target.classes, names):
        raise ValueError(f"y has the labels {target.classes.tolist()}, expected {names.tolist()}.")
    return replace(target, classes=names)


def _among_classes(y: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]) -> Target:
    """Read classes of which all are known."""
    if len(classes) < 2:
        raise ValueError(
            f"classes has one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    if unknown := sorted(set(np.unique(y).tolist()) - set(classes.tolist())):
        raise ValueError(
            f"y has classes that are not among those of the first call: {unknown}. Give all that "
            "will ever occur as `classes` in the first call."
        )
    return Target(
        np.searchsorted(classes, y)[:, np.newaxis] == np.arange(len(classes)), classes, False
    )


def check_indicators(Y: TargetLike) -> BoolArray:
    """Read label indicators of shape (n, L)."""
    indicators = _as_array(Y)
    if indicators.ndim != 2:
        raise ValueError(
            f"Y has the shape {indicators.shape}; expected label indicators of shape "
            "(n_samples, n_labels)."
        )
    return _check_indicators(indicators)


def _as_array(y: TargetLike) -> np.ndarray[Any, Any]:
    if sparse.issparse(y):
        return np.asarray(y.toarray())
    try:
        array = np.asarray(y)
    except ValueError as error:
        array = None
        cause: Exception | None = error
    else:
        cause = None
    if array is None or (array.dtype == object and array.ndim == 1 and _has_collections(array)):
        raise ValueError(
            "y holds collections of labels. Turn them into 0/1 indicators first, with "
            "sklearn.preprocessing.MultiLabelBinarizer."
        ) from cause
    return array


def _has_collections(array: np.ndarray[Any, Any]) -> bool:
    return any(isinstance(cell, list | tuple | set | frozenset) for cell in array)


def _label_names(
    names: np.ndarray[Any, Any] | None, indicators: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    return np.arange(indicators.shape[1]) if names is None else names


def _check_indicators(indicators: np.ndarray[Any, Any]) -> BoolArray:
    if indicators.shape[1] == 0:
        raise ValueError("y has no label at all, shape (n_samples, 0); pairs need at least two.")
    if indicators.dtype.kind == "f":
        assert_all_finite(indicators, input_name="y")
    if indicators.dtype == object:  # also what pandas' nullable numbers become
        valid = np.vectorize(_is_indicator, otypes=[bool])(indicators)
    else:
        valid = np.asarray((indicators == 0) | (indicators == 1))
    if not np.all(valid):
        row, column = np.argwhere(~valid)[0]
        found = indicators[row].tolist()[column]
        raise ValueError(
            f"Unknown label type: y must hold 0 and 1 only, but row {row}, column {column} "
            f"is {found!r}. {_remedy(found, indicators)}"
        )
    return np.asarray(indicators == 1)


PRESENT = ("yes", "y", "true", "t", "x", "+", "present", "positive")
"""Texts that stand for a label that is present, in lower case."""


def _remedy(found: Any, indicators: np.ndarray[Any, Any]) -> str:
    """Return what to do about a cell that is no indicator."""
    if isinstance(found, str) and found.strip() in ("0", "1"):
        return "Turn texts into numbers, y.astype(int)."
    if isinstance(found, str):
        return _remedy_of_texts(indicators)
    if isinstance(found, int | float) and found == -1:
        return "Where -1 stands for labels that are absent, pass (y > 0).astype(int)."
    return "For classes instead of label indicators, pass a 1-D y."


def _remedy_of_texts(indicators: np.ndarray[Any, Any]) -> str:
    """Return what to do about a matrix with texts, by how many different ones there are."""
    texts = sorted({cell for cell in indicators.ravel().tolist() if isinstance(cell, str)})
    if len(texts) > 2:
        return (
            "If each row lists the names of its labels, use "
            "sklearn.preprocessing.MultiLabelBinarizer. If each column is a label, compare with "
            "the text that stands for its presence, (y == text).astype(int)."
        )
    present = next((repr(text) for text in texts if text.strip().lower() in PRESENT), "text")
    where = "y" if all(isinstance(cell, str) for cell in indicators.flat) else "y[column]"
    return (
        "Compare with the text that stands for the presence of a label, "
        f"({where} == {present}).astype(int)."
    )


def _is_indicator(cell: Any) -> bool:
    return isinstance(cell, bool | int | float | np.number | np.bool_) and cell in (0, 1)


def _check_classes(y: np.ndarray[Any, Any]) -> Target:
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}; a classifier needs at least two classes."
        )
    return Target(codes[:, np.newaxis] == np.arange(len(classes)), classes, False)


def check_base_classifier(estimator: Any) -> None:
    """Refuse a base classifier that gives no probabilities, and name the cure."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise TypeError(f"The base classifier is the class {name}; pass an instance, {name}().")
    if not hasattr(estimator, "predict_proba"):
        name = type(estimator).__name__
        raise ValueError(
            f"The base classifier {name} has no predict_proba, and supports are made of "
            "probabilities. Wrap it: "
            f"estimator=sklearn.calibration.CalibratedClassifierCV({name}(...))."
        )


def new_seed(rng: np.random.RandomState) -> int:
    """Draw a seed."""
    return int(rng.randint(np.iinfo(np.int32).max))


def seed_estimator(estimator: Any, seed: int) -> Any:
    """Clone an estimator with every ``random_state`` left at None set to one seed.

    All pairs share the seed: which seed a pair gets must not depend on the order of the
    labels or on who computes it. An object that is no scikit-learn estimator is copied.
    """
    estimator = clone(estimator, safe=False)
    if not hasattr(estimator, "get_params"):
        return estimator
    params = estimator.get_params(deep=True)
    unset = {
        name: seed
        for name, value in params.items()
        if (name == "random_state" or name.endswith("__random_state"))
        and value is None
        and not _inside_none(name, params)
    }
    return estimator.set_params(**unset)


def _inside_none(name: str, params: dict[str, Any]) -> bool:
    """Tell whether a nested parameter is one of a default object, which its owner seeds."""
    parts = name.split("__")
    owners = ("__".join(parts[:depth]) for depth in range(1, len(parts)))
    return any(owner in params and params[owner] is None for owner in owners)


def route_fit_params(
    estimator: BaseEstimator, base: Any, X: MatrixLike, params: dict[str, Any]
) -> tuple[dict[str, Any], FloatArray]:
    """Find what of fit's extra parameters goes to the base classifier's fit.

    Returns
    -------
    params : dict
        Parameters of the base classifier's ``fit``.
    sample_weight : ndarray of shape (n,)
        The weights among them, checked; ones if there are none. Those below a millionth of
        the unit of weight are 0, here and in `params`.
    """
    if _routing_enabled():
        routed = dict(process_routing(estimator, "fit", **params).estimator.fit)
    else:
        routed = dict(params)
    weights = routed.get("sample_weight")
    if weights is None:
        routed.pop("sample_weight", None)
        return routed, np.ones(count_rows(X))
    if not _takes_sample_weight(base):
        raise ValueError(
            f"The base classifier {type(base).__name__} takes no sample_weight in fit. Choose "
            "one that does. For a pipeline, enable scikit-learn's metadata routing and let its "
            "steps request sample_weight."
        )
    checked = check_row_weights(weights, X)
    return {**routed, "sample_weight": checked}, checked


def _takes_sample_weight(base: Any) -> bool:
    # A meta-estimator that forwards **params decides for itself.
    parameters = signature(base.fit).parameters.values()
    forwards = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    return forwards or has_fit_parameter(base, "sample_weight") or _routing_enabled()


def take_params(X: MatrixLike, params: dict[str, Any], rows: IntArray) -> dict[str, Any]:
    """Select rows of those fit parameters that have one value a row."""
    selected: dict[str, Any] = _check_method_params(X, params=params, indices=rows)
    return selected
