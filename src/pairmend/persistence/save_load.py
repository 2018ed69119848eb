"""save_model and load_model. skops writes the objects."""

import json
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from pairmend._utils.arrays import with_numpy_arrays
from pairmend._utils.defaults import MAX_MODEL_BYTES
from pairmend._utils.frames import column_kinds, frame_columns, is_frame
from pairmend.persistence.archive import TooLargeError
from pairmend.persistence.audit import audit
from pairmend.persistence.container import (
    Container,
    ModelFileError,
    ModelVersionWarning,
    read_container,
    read_manifest,
    write_container,
)
from pairmend.persistence.packing import describe_contents, pack, unpack
from pairmend.persistence.saved import SavedModel, TagColumn
from pairmend.persistence.structures import check_structures
from pairmend.persistence.trust import UntrustedTypesError

PACKAGES = ("pairmend", "scikit-learn", "numpy", "scipy", "skops")
VERSIONS_COMPARED = ("pairmend", "scikit-learn")
"""Packages of which another version may predict differently."""


def save_model(
    model: Any,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    categories: Mapping[int, Sequence[str]] | None = None,
    X: Any = None,
    trusted: Sequence[str | type] = (),
    updates: bool = False,
) -> tuple[str, str]:
    """Save a fitted classifier in a file that can be loaded without running code from it.

    Parameters
    ----------
    model : estimator
        A fitted classifier of the library or of scikit-learn, or a pipeline.
    path : path
        The file. An existing file is replaced once the new one is complete.
    feature_names : sequence of str, default=None
        Names of the features; None means those of the frame that the model was fitted on.
    label_names : sequence of str, default=None
        Names of the labels; None means ``classes_`` of the model.
    categories : mapping, default=None
        Values of categorical features by feature number.
    X : DataFrame, default=None
        Rows that the model was fitted on, of which the types of the columns are saved. It is
        needed only for pipelines whose first step is not a classifier of the library: without it
        the types of their columns are not saved, and are inferred when rows are read from files.
    trusted : sequence of str or types, default=()
        Further types to save. `load_model` needs the same types as `trusted`.
    updates : bool, default=False
        Whether to save what ``partial_fit`` of the loaded classifier needs: the validation rows of
        a :class:`~pairmend.CorrectedPairwiseClassifier`, as they are.

    Returns
    -------
    sha256 : str
        The SHA-256 that identifies the model, for ``load_model(path, sha256=...)``.
    contents : str
        One line on what the file holds of the training data: rows, names of categories, words.
        Rows are those of neighbourhoods, scaled, or all rows of nearest neighbours as
        :class:`~pairmend.baselines.MLkNN`, as they were given.

    Raises
    ------
    ModelFileError
        If the model holds something that cannot be saved without pickle.
    UntrustedTypesError
        If it holds types that are not on the list of trusted types and not in `trusted`.

    See Also
    --------
    load_model : Loads it again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.persistence import load_model, save_model
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = PairwiseClassifier(random_state=0).fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "pairs.model")
    ...     _, contents = save_model(clf, path, label_names=["sea", "sun", "sand", "surf", "rain"])
    ...     saved = load_model(path)
    >>> contents
    'no rows; 5 names of labels'
    >>> saved.label_names
    ('sea', 'sun', 'sand', 'surf', 'rain')
    >>> bool((saved.estimator.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    return save_with_facts(
        model, path, feature_names, label_names, categories=categories, X=X, trusted=trusted,
        updates=updates,
    )  # fmt: skip


def save_with_facts(
    model: Any,
    path: str | Path,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    *,
    categories: Mapping[int, Sequence[str]] | None = None,
    X: Any = None,
    trusted: Sequence[str | type] = (),
    updates: bool = False,
    tags: TagColumn | None = None,
    left_out: Sequence[str] = (),
) -> tuple[str, str]:
    """Save a model as `save_model`, with facts of the file that it was fitted on."""
    io = require_skops()
    check_is_fitted(model)
    model = with_numpy_arrays(model)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", ())
    if label_names is None:
        label_names = _label_names(model)
    manifest = {
        "feature_names": [str(name) for name in feature_names],
        "label_names": [str(name) for name in label_names],
        "categories": {str(f): list(values) for f, values in (categories or {}).items()},
        "versions": {package: _version(package) for package in PACKAGES},
        "kinds": _kinds_of(model, X, feature_names),
        "tags": None if tags is None else asdict(tags),
        "left_out": list(left_out),
    }
    try:
        content = pack(io.dumps(model), updates=updates)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: the model cannot be saved, because it holds objects other than numbers, "
            f"texts and estimators: {error}"
        ) from error
    read_manifest(path, json.loads(json.dumps(manifest)))
    _check_loads(path, content, trusted)
    digest = write_container(Container(manifest, content), path)
    return digest, describe_contents(model, len(label_names), updates=updates)


def _kinds_of(model: Any, X: Any, feature_names: Sequence[str]) -> Sequence[str] | None:
    """Return the kinds of columns that a model was fitted on; None for an array."""
    if not hasattr(model, "feature_names_in_"):
        return None
    fitted_on = [str(name) for name in model.feature_names_in_]
    if fitted_on != [str(name) for name in feature_names]:
        raise ValueError(
            f"feature_names are {list(feature_names)[:10]}, but the model was fitted on a frame "
            f"with the columns {fitted_on[:10]}; leave feature_names out"
        )
    if X is not None:
        if not is_frame(X):
            raise ValueError(f"X must be a pandas or polars frame, as in fit, got {type(X)}")
        if [str(name) for name in frame_columns(X)] != fitted_on:
            raise ValueError(
                f"X has the columns {frame_columns(X)[:10]}, but the model was fitted on "
                f"{fitted_on[:10]}"
            )
    first = model.steps[0][1] if hasattr(model, "steps") else model
    found = column_kinds(X) or getattr(first, "_column_kinds", None)
    kinds = list(found or len(fitted_on) * ("other",))
    encoder = getattr(first, "frame_encoder_", None)
    for place, column in enumerate(encoder.columns_ if encoder is not None else ()):
        # An encoder reads texts as numbers, and any value as a category.
        if kinds[place] == "text" and column.kind not in ("date", "text"):
            kinds[place] = column.kind if column.kind in ("number", "category") else "other"
    return kinds


def _check_loads(path: str | Path, content: bytes, trusted: Sequence[str | type]) -> None:
    """Raise an error for a model that `load_model` would not load."""
    try:
        found = audit(content, frozenset(map(_full_name, trusted)), sys.maxsize)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(
            f"{path}: the model has not been saved, because it could not be loaded: {error}"
        ) from error
    if untrusted := sorted(found.untrusted):
        raise UntrustedTypesError(
            f"{path}: the model holds {', '.join(untrusted)}, which is not on the list of trusted "
            "types, so it has not been saved. To save it, pass the types to save_model(..., "
            f"trusted={untrusted}), and later to load_model(path, trusted={untrusted}), or --trust "
            "on the command line.",
            untrusted,
        )


def load_model(
    path: str | Path,
    trusted: Sequence[str | type] | None = None,
    *,
    sha256: str | None = None,
    max_bytes: int = MAX_MODEL_BYTES,
) -> SavedModel:
    """Load a model that was saved with `save_model`.

    The file is checked before any object is created: size on disk and checksum
    (``read_container``), then types, contents and unpacked size (``audit``).

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str or types, default=None
        Further types to trust, or their full names. A type may run code when an object of it is
        created: pass only types whose code you trust.
    sha256 : str, default=None
        The value that `save_model` returned, to check that it is that model. The checksum inside
        the file detects damage only: a forged file can have a forged checksum.
    max_bytes : int, default=4 GiB
        Largest size of the model in memory, estimated from the file. A small file may unpack to a
        large model.

    Returns
    -------
    SavedModel

    Raises
    ------
    ModelFileError
        If it is not a model file, is damaged or changed, has another SHA-256 than `sha256`, holds
        arrays with indices out of range, is larger than `max_bytes`, or holds classes of another
        version of pairmend.
    UntrustedTypesError
        If it holds types that are not trusted; the message names them.

    Warns
    -----
    ModelVersionWarning
        If it was saved with another version of scikit-learn or pairmend.

    See Also
    --------
    save_model : Saves a model.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.baselines import BinaryRelevance
    >>> from pairmend.persistence import load_model, save_model
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> clf = BinaryRelevance().fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "labels.model")
    ...     digest, _ = save_model(clf, path)
    ...     saved = load_model(path, sha256=digest)
    >>> bool((saved.predict(X) == clf.predict(X)).all())
    True
    """
    io = require_skops()
    container, digest = read_container(path, max_bytes)
    if sha256 is not None and sha256.strip().lower() != digest:
        raise ModelFileError(
            f"{path}: another model than expected: its SHA-256 is {digest}, expected {sha256}"
        )
    facts = read_manifest(path, container.manifest)
    names = frozenset(map(_full_name, trusted or ()))
    try:
        found = audit(container.content, names, max_bytes)
    except TooLargeError as error:
        raise ModelFileError(
            f"{path}: {error}. If you trust the source of the file, raise max_bytes, or "
            "--max-model-bytes on the command line."
        ) from error
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: the model cannot be read: {error}") from error
    if found.missing:
        raise ModelFileError(
            f"{path}: saved by another version of pairmend: it holds "
            f"{', '.join(sorted(found.missing))}, which this version does not have. Fit and save "
            "the model again."
        )
    if untrusted := sorted(found.untrusted):
        raise UntrustedTypesError(
            f"{path}: holds {', '.join(untrusted)}, which is not on the list of trusted types. If "
            "you trust the type and the source of the file, pass it as trusted.",
            untrusted,
        )
    _warn_of_versions(path, facts["versions"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", InconsistentVersionWarning
            )  # replaced by ModelVersionWarning
            estimator = io.loads(
                unpack(container.content, found.schema), trusted=sorted(found.types)
            )
        check_structures(estimator)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: the model is broken: {error}") from error
    return SavedModel(estimator, **facts, sha256=digest)


def require_skops() -> ModuleType:
    """Return skops.io, or raise an ImportError with the command that installs it."""
    try:
        from skops import io
    except ImportError as error:
        raise ImportError(
            "model files need skops, which is not installed: pip install 'pairmend[models]'"
        ) from error
    return io


def _label_names(model: Any) -> Sequence[Any]:
    classes: Any = getattr(model, "classes_", ())
    last = model[-1] if hasattr(model, "steps") else model
    is_array = isinstance(classes, np.ndarray) and classes.ndim == 1
    return classes.tolist() if is_array and getattr(last, "multilabel_", False) else ()


def _full_name(trusted: str | type) -> str:
    return trusted if isinstance(trusted, str) else f"{trusted.__module__}.{trusted.__qualname__}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a source tree that is not installed
        return "unknown"


def _warn_of_versions(path: str | Path, versions: dict[str, str]) -> None:
    here = {package: _version(package) for package in VERSIONS_COMPARED}
    if others := [
        f"{package} {versions.get(package, 'unknown')} (here {here[package]})"
        for package in VERSIONS_COMPARED
        if versions.get(package) != here[package]
    ]:
        warnings.warn(
            f"{path} was saved with {' and '.join(others)}; predictions may differ.",
            ModelVersionWarning,
            stacklevel=3,
        )
