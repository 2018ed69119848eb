"""Saving and loading fitted classifiers."""

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

from pairmend._utils.columns import FrameColumns, describe_frame
from pairmend.persistence.archive import TooLargeError
from pairmend.persistence.audit import audit
from pairmend.persistence.container import (
    Container,
    ModelFileError,
    ModelVersionWarning,
    read_container,
    write_container,
)
from pairmend.persistence.manifest import read_manifest
from pairmend.persistence.packing import pack
from pairmend.persistence.saved import SavedModel
from pairmend.persistence.structures import check_structures
from pairmend.persistence.trust import UntrustedTypesError

PACKAGES = ("pairmend", "scikit-learn", "numpy", "scipy", "skops")
DECIDING = ("pairmend", "scikit-learn")
"""Packages of which another version may predict otherwise."""
MAX_BYTES = 4 * 2**30


def save_model(
    model: Any,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    categories: Mapping[int, Sequence[str]] | None = None,
    X: Any = None,
    trusted: Sequence[str | type] = (),
) -> str:
    """Save a fitted classifier in a file that can be loaded without running code from it.

    Parameters
    ----------
    model : estimator
        A fitted classifier of the library or of scikit-learn, or a pipeline.
    path : path
        The file. It is there whole or, if anything goes wrong, as it was before.
    feature_names : sequence of str, default=None
        Names of the features; those that the model knows from a frame if None.
    label_names : sequence of str, default=None
        Names of the labels; those that the model knows if None.
    categories : mapping, default=None
        Values of categorical features by feature number.
    X : DataFrame, default=None
        Rows that the model was fitted on, of which the types of columns are noted. Classifiers of
        the library know these themselves; pipelines that begin with other steps do not, and then
        columns of files are read as what they look like.
    trusted : sequence of str or types, default=()
        Types to save, although `load_model` trusts them only if it is given them, too.

    Returns
    -------
    str
        The SHA-256 that identifies the model. Whoever gets the file from elsewhere can ask for
        it by ``load_model(path, sha256=...)``. Equal models have equal files: two fits with the
        same data and seed give the same.

    Raises
    ------
    ModelFileError
        If the model holds something that cannot be saved without pickle.
    UntrustedTypesError
        If it holds types that `load_model` would refuse and `trusted` does not name.

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
    ...     _ = save_model(clf, path, label_names=["sea", "sun", "sand", "surf", "rain"])
    ...     saved = load_model(path)
    >>> saved.label_names
    ('sea', 'sun', 'sand', 'surf', 'rain')
    >>> bool((saved.estimator.predict_proba(X) == clf.predict_proba(X)).all())
    True
    """
    io = require_skops()
    check_is_fitted(model)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", ())
    if label_names is None:
        label_names = _known_labels(model)
    manifest = {
        "feature_names": [str(name) for name in feature_names],
        "label_names": [str(name) for name in label_names],
        "categories": {str(f): list(values) for f, values in (categories or {}).items()},
        "versions": {package: _version(package) for package in PACKAGES},
        "frame": _frame_of(model, X, feature_names),
    }
    try:
        content = pack(io.dumps(model))
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: the model cannot be saved, because something in it is not made of numbers, "
            f"texts and estimators: {error}"
        ) from error
    read_manifest(path, json.loads(json.dumps(manifest)))
    _check_loads(path, content, trusted)
    return write_container(Container(manifest, content), path)


def _frame_of(model: Any, X: Any, feature_names: Sequence[str]) -> dict[str, Any] | None:
    """Return what is noted of the frame that a model was fitted on; None of an array."""
    if not hasattr(model, "feature_names_in_"):
        return None
    fitted_on = [str(name) for name in model.feature_names_in_]
    if fitted_on != [str(name) for name in feature_names]:
        raise ValueError(
            f"feature_names are {list(feature_names)[:10]}, but the model was fitted on a frame "
            f"with the columns {fitted_on[:10]}; leave feature_names out"
        )
    described = describe_frame(X)
    if X is not None:
        if described is None:
            raise ValueError(f"X must be a frame as the model was fitted on, got {type(X)}")
        if [str(name) for name in X.columns] != fitted_on:
            raise ValueError(
                f"X has the columns {list(X.columns)[:10]}, but the model was fitted on "
                f"{fitted_on[:10]}"
            )
    if described is None:
        steps = [step for _, step in getattr(model, "steps", [("", model)])]
        described = getattr(steps[0], "_frame_columns", None)
    if described is None:
        unknown = len(fitted_on) * ("other",)
        described = FrameColumns("pandas", unknown, len(fitted_on) * (None,))
    return asdict(described)


def _check_loads(path: str | Path, content: bytes, trusted: Sequence[str | type]) -> None:
    """Refuse to save what `load_model` would refuse."""
    try:
        found = audit(content, frozenset(map(_full_name, trusted)), sys.maxsize)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(
            f"{path}: the model has not been saved, because load_model would refuse it: {error}"
        ) from error
    if refused := sorted(found.refused):
        raise UntrustedTypesError(
            f"{path}: the model holds {', '.join(refused)}, which load_model does not trust, so "
            "it has not been saved. To save it all the same: save_model(..., "
            f"trusted={refused}); whoever loads it must trust these types, too: "
            f"load_model(path, trusted={refused}), or --trust on the command line.",
            refused,
        )


def load_model(
    path: str | Path,
    trusted: Sequence[str | type] | None = None,
    *,
    sha256: str | None = None,
    max_bytes: int = MAX_BYTES,
) -> SavedModel:
    """Load a model that was saved with `save_model`.

    The file is checked before anything is made of it: it must be as it was written, and all types
    in it must be known to be harmless, or trusted by you.

    Parameters
    ----------
    path : path
        The file.
    trusted : sequence of str or types, default=None
        Further types to trust, by their full names. Name only what you know: a type may run
        code when it is made.
    sha256 : str, default=None
        What `save_model` returned, to be sure that it is that model and no other. The checksum
        inside the file finds damage; who forges a file can forge that, too.
    max_bytes : int, default=4 GiB
        Bytes that the model may take, estimated from what the file describes. A small file may
        unpack to a large model.

    Returns
    -------
    SavedModel

    Raises
    ------
    ModelFileError
        If it is no model file, is damaged or changed, is another than that of `sha256`, holds
        arrays that lead out of themselves, or is larger than `max_bytes`.
    UntrustedTypesError
        If it holds types that are neither known nor trusted; the message names them.

    Warns
    -----
    ModelVersionWarning
        If it was saved with another version of scikit-learn or pairmend.
    """
    io = require_skops()
    container, digest = read_container(path, max_bytes)
    if sha256 is not None and sha256.strip().lower() != digest:
        raise ModelFileError(f"{path}: another model than expected: its SHA-256 is {digest}")
    facts = read_manifest(path, container.manifest)
    names = frozenset(map(_full_name, trusted or ()))
    try:
        found = audit(container.content, names, max_bytes)
    except TooLargeError as error:
        raise ModelFileError(
            f"{path}: {error}. If you know where the file comes from, allow more by max_bytes, or "
            "--max-model-bytes on the command line."
        ) from error
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: holds no model that can be read: {error}") from error
    if found.refused:
        refused = sorted(found.refused)
        raise UntrustedTypesError(
            f"{path}: holds {', '.join(refused)}, which is not known to be harmless. If you know "
            "what it is and where the file comes from, name it as trusted.",
            refused,
        )
    _tell_versions(path, facts["versions"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # has been told
            estimator = io.loads(container.content, trusted=sorted(found.types))
        check_structures(estimator)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: the model in it is broken: {error}") from error
    return SavedModel(estimator, **facts, sha256=digest)


def require_skops() -> ModuleType:
    """Return skops' reader and writer, or name the cure."""
    try:
        from skops import io
    except ImportError as error:
        raise ImportError(
            "model files need skops, which is not installed: pip install 'pairmend[models]'"
        ) from error
    return io


def _known_labels(model: Any) -> Sequence[Any]:
    classes: Any = getattr(model, "classes_", ())
    last = model[-1] if hasattr(model, "steps") else model
    named = isinstance(classes, np.ndarray) and classes.ndim == 1
    return classes.tolist() if named and getattr(last, "multilabel_", False) else ()


def _full_name(trusted: str | type) -> str:
    return trusted if isinstance(trusted, str) else f"{trusted.__module__}.{trusted.__qualname__}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a source tree that is not installed
        return "unknown"


def _tell_versions(path: str | Path, versions: dict[str, str]) -> None:
    here = {package: _version(package) for package in DECIDING}
    if others := [
        f"{package} {versions.get(package, 'unknown')} (here {here[package]})"
        for package in DECIDING
        if versions.get(package) != here[package]
    ]:
        warnings.warn(
            f"{path} was saved with {' and '.join(others)}; predictions may differ.",
            ModelVersionWarning,
            stacklevel=3,
        )
