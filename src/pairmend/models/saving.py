"""Saving and loading fitted classifiers."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED

import numpy as np
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from pairmend.models.container import (
    Container,
    ModelFileError,
    ModelVersionWarning,
    read_container,
    write_container,
)
from pairmend.models.trees import check_trees
from pairmend.models.trust import UntrustedTypesError, trusted_of

PACKAGES = ("pairmend", "scikit-learn", "numpy", "scipy", "skops")
DECIDING = ("pairmend", "scikit-learn")
"""Packages of which another version may predict otherwise."""


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, with what is needed to use it.

    Attributes
    ----------
    estimator : classifier
        The fitted classifier, or a pipeline that ends in one.
    feature_names : tuple of str
        Names of the features, in the order the estimator takes them; empty if not known.
    label_names : tuple of str
        Names of the labels, in the order of the columns it predicts; empty if not known.
    categories : dict
        Values of categorical features by feature number, as in
        :class:`~pairmend.datasets.MultiLabelData`.
    versions : dict
        Versions of the packages that it was saved with.
    sha256 : str
        Identifies the model: no other file has it.
    """

    estimator: Any
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    categories: dict[int, tuple[str, ...]]
    versions: dict[str, str]
    sha256: str


def save_model(
    model: Any,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    categories: Mapping[int, Sequence[str]] | None = None,
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

    Returns
    -------
    str
        The SHA-256 that identifies the model. Whoever gets the file from elsewhere can ask for
        it by ``load_model(path, sha256=...)``.

    Raises
    ------
    ModelFileError
        If the model holds something that cannot be saved without pickle.

    See Also
    --------
    load_model : Loads it again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend import PairwiseClassifier
    >>> from pairmend.models import load_model, save_model
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
    }
    try:
        content = io.dumps(model, compression=ZIP_DEFLATED)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: the model cannot be saved, because something in it is not made of numbers, "
            f"texts and estimators: {error}"
        ) from error
    return write_container(Container(manifest, content), path)


def load_model(
    path: str | Path, trusted: Sequence[str | type] | None = None, *, sha256: str | None = None
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

    Returns
    -------
    SavedModel

    Raises
    ------
    ModelFileError
        If it is no model file, is damaged or changed, or is another than that of `sha256`.
    UntrustedTypesError
        If it holds types that are neither known nor trusted; the message names them.

    Warns
    -----
    ModelVersionWarning
        If it was saved with another version of scikit-learn or pairmend.
    """
    io = require_skops()
    container, digest = read_container(path)
    if sha256 is not None and sha256.strip().lower() != digest:
        raise ModelFileError(f"{path}: another model than expected: its SHA-256 is {digest}")
    facts = _read_manifest(path, container.manifest)
    try:
        found = io.get_untrusted_types(data=container.content)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: holds no model that skops can read: {error}") from error
    allowed = [*trusted_of(found), *(_full_name(each) for each in trusted or ())]
    if refused := sorted(set(found) - set(allowed)):
        raise UntrustedTypesError(
            f"{path}: holds {', '.join(refused)}, which nobody has said to be harmless. If you "
            "know what it is and where the file comes from, name it as trusted.",
            refused,
        )
    _tell_versions(path, facts["versions"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # has been told
            estimator = io.loads(container.content, trusted=allowed)
        check_trees(estimator)
    except Exception as error:
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


def _read_manifest(path: str | Path, manifest: dict[str, Any]) -> dict[str, Any]:
    try:
        facts = {
            "feature_names": tuple(map(_text, manifest["feature_names"])),
            "label_names": tuple(map(_text, manifest["label_names"])),
            "categories": {
                int(f): tuple(map(_text, values)) for f, values in manifest["categories"].items()
            },
            "versions": {_text(key): _text(v) for key, v in manifest["versions"].items()},
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{path}: its manifest lacks a part or holds another: {error}"
        ) from error
    return facts


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r}")
    return value


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
