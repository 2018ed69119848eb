"""save_model and load_model. skops writes the objects.

A model file has three lines of text, then an archive:

1. ``pairmend-model`` and the version of the format;
2. the SHA-256 of everything after this line, in hexadecimal;
3. the manifest, as JSON: versions, names of features and labels, kinds of columns.

The archive is that of skops, except that it names classes of the library without their modules,
that an object is written once, and that it holds nothing that is computed again.
"""

import hashlib
import json
import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

import pairmend
from pairmend._utils.arrays import frame_columns, is_frame, with_numpy_arrays
from pairmend._utils.defaults import MAX_MODEL_BYTES
from pairmend._utils.files import replaced
from pairmend._utils.text import counted
from pairmend.frames.columns import column_kinds
from pairmend.persistence.audit import (
    DESCRIPTION,
    SCHEMA,
    Audit,
    Node,
    TooLargeError,
    check_values,
    is_computed,
    open_archive,
    reachable,
    type_name,
)
from pairmend.persistence.rows import KINDS
from pairmend.persistence.saved import SavedModel, TagColumn
from pairmend.persistence.trust import (
    OURS,
    ModelFileError,
    UntrustedTypesError,
    class_of,
    full_name,
)

MAGIC = b"pairmend-model"
FORMAT = 4
VERSIONS = {
    "pairmend": pairmend.__version__,
    "scikit-learn": sklearn.__version__,
    "numpy": np.__version__,
    "scipy": scipy.__version__,
}


class ModelVersionWarning(UserWarning):
    """A model was saved with another version of a library."""


def save_model(
    model: Any,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    X: Any = None,
    trusted: Sequence[str | type] = (),
    updates: bool = False,
    tags: TagColumn | None = None,
    left_out: Sequence[str] = (),
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
    X : DataFrame, default=None
        Rows that the model was fitted on, of which the types of the columns are saved. It is
        needed only for pipelines whose first step is not a classifier of the library: without it
        the types of their columns are not saved, and are inferred when rows are read from files.
    trusted : sequence of str or types, default=()
        Further types to save. `load_model` needs the same types as `trusted`.
    updates : bool, default=False
        Whether to save what ``partial_fit`` of the loaded classifier needs: the validation rows of
        a :class:`~pairmend.CorrectedPairwiseClassifier`, as they are.
    tags : TagColumn, default=None
        The column of a file that the labels were read from, for ``pairmend predict``.
    left_out : sequence of str, default=()
        Further columns of that file, which ``pairmend predict`` does not use.

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
        "versions": VERSIONS,
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
    body = json.dumps(manifest).encode("ascii") + b"\n" + content
    _read_manifest(path, body.partition(b"\n")[0])
    try:
        _load(path, content, _full_names(trusted), sys.maxsize)
    except ModelFileError as error:
        error.args = (f"{error} The model has not been saved.",)
        raise
    digest = write_file(path, body)
    return digest, _describe_contents(model, len(label_names), updates=updates)


def write_file(path: str | Path, body: bytes) -> str:
    """Write a model file of a manifest and an archive, and return its SHA-256."""
    digest = hashlib.sha256(body).hexdigest()
    with replaced(path) as temporary:
        temporary.write_bytes(b"%s %d\n%s\n" % (MAGIC, FORMAT, digest.encode("ascii")) + body)
    return digest


def _label_names(model: Any) -> Sequence[Any]:
    classes: Any = getattr(model, "classes_", ())
    last = model[-1] if hasattr(model, "steps") else model
    is_array = isinstance(classes, np.ndarray) and classes.ndim == 1
    return classes.tolist() if is_array and getattr(last, "multilabel_", False) else ()


def _kinds_of(model: Any, X: Any, feature_names: Sequence[str]) -> Sequence[str] | None:
    """Return the kinds of columns that a model was fitted on; None for an array."""
    if not hasattr(model, "feature_names_in_"):
        return None
    fitted_on = [str(name) for name in model.feature_names_in_]
    if X is not None and not is_frame(X):
        raise ValueError(f"X must be a pandas or polars frame, as in fit, got {type(X)}")
    for source, found in (
        ("feature_names", feature_names),
        ("the columns of X", fitted_on if X is None else frame_columns(X)),
    ):
        if [str(name) for name in found] != fitted_on:
            raise ValueError(
                f"{source} are {list(found)[:10]}, but the model was fitted on a frame with the "
                f"columns {fitted_on[:10]}"
            )
    first = model.steps[0][1] if hasattr(model, "steps") else model
    known = column_kinds(X) or getattr(first, "_column_kinds", None)
    kinds = list(known or len(fitted_on) * ("other",))
    encoder = getattr(first, "frame_encoder_", None)
    for place, column in enumerate(encoder.columns_ if encoder is not None else ()):
        # An encoder reads texts as numbers, and any value as a category.
        if kinds[place] == "text" and column.kind not in ("date", "text"):
            kinds[place] = column.kind if column.kind in ("number", "category") else "other"
    return kinds


def pack(content: bytes, *, updates: bool = False) -> bytes:
    """Return an archive of skops in the form of model files.

    It holds no numbers of training rows, and what ``partial_fit`` needs with `updates` only.
    """
    packed, files = BytesIO(), set[str]()
    with ZipFile(BytesIO(content)) as old, ZipFile(packed, "w", ZIP_DEFLATED) as new:
        root = json.loads(old.read(SCHEMA))
        _shorten(root, set(), files, updates)
        new.writestr(DESCRIPTION, json.dumps(root, separators=(",", ":")))
        for name in files:
            new.writestr(name, old.read(name))
    return packed.getvalue()


def _shorten(part: Any, written: set[int], files: set[str], updates: bool) -> None:
    """Shorten names of classes, write each object once, and collect the files that are needed."""
    if isinstance(part, dict) and "__loader__" in part:
        if full_name(f"{OURS}.{part['__class__']}") == type_name(part):
            part["__module__"] = OURS
        if part["__loader__"] == "ObjectNode":
            _leave_out(part, updates)
        if part["__loader__"] in ("JsonNode", "TypeNode", "FunctionNode"):  # immutable
            part.pop("__id__", None)
        else:
            written.add(part["__id__"])
        if "file" in part:
            files.add(part["file"])
    for key, member in list(part.items()) if isinstance(part, dict) else enumerate(part):
        if isinstance(member, dict) and member.get("__id__") in written:
            part[key] = {"__id__": member["__id__"]}
        elif isinstance(member, dict | list):
            _shorten(member, written, files, updates)


def _leave_out(node: Node, updates: bool) -> None:
    """Remove attributes that are computed again, or not needed to predict."""
    state = node.get("content")
    if state is None or state["__loader__"] != "DictNode":
        return
    own, cls = state["content"], class_of(type_name(node))
    unneeded = {*getattr(cls, "_row_numbers", ())}
    unneeded |= set() if updates else {*getattr(cls, "_update_state", ())}
    for name in list(own):
        if name in unneeded or is_computed(cls, name):
            del state["key_types"]["content"][list(own).index(name)], own[name]
    if type_name(node) == "sklearn.pipeline.Pipeline" and "memory" in own:  # a folder of fits
        own["memory"] = {
            "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
            "content": "null", "is_json": True,
        }  # fmt: skip


HELD_ROWS = {
    "scaled": ("points_", "rows_"),
    "as they were given": ("_fit_X", "X_fit_", "X_train_", "support_vectors_"),
}
"""Attributes with rows: of neighbourhoods and the kernel ridge; of nearest neighbours, kernels."""


def _describe_contents(model: Any, n_labels: int, *, updates: bool) -> str:
    """Return how many rows, names of categories and words the file of a model holds.

    Parameters and sums of base classifiers, which every model holds, are not listed.
    """
    rows: dict[tuple[int, str], int] = {}
    categories: set[str] = set()
    words: set[str] = set()
    state: list[str] = []
    for value in reachable(model):
        own = getattr(value, "__dict__", {})
        for how, name in ((how, name) for how, names in HELD_ROWS.items() for name in names):
            held: Any = own.get(name)
            if sparse.issparse(held) or (isinstance(held, np.ndarray) and held.ndim == 2):
                n_rows, n_columns = held.shape
                rows[n_rows, how] = max(n_columns, rows.get((n_rows, how), 0))
        if updates and type(value).__name__ == "IncrementalState":
            state.append(f"{counted(len(value.Y), 'row')} as given for partial_fit")
        words |= set(own.get("vocabulary_", ()))
        for listed in (own.get("keys"), *own.get("categories_", ())):
            named = listed if isinstance(listed, np.ndarray | list | tuple) else ()
            categories |= {str(each) for each in named if isinstance(each, str)}
    found = [
        f"{counted(n_rows, 'row')} of {counted(n_columns, 'feature')} {how}, with labels"
        for (n_rows, how), n_columns in rows.items()
    ]
    found = found + state or ["no rows"]
    found += [f"{counted(len(categories), 'name')} of categories"] if categories else []
    found += [counted(len(words), "word")] if words else []
    return "; ".join([*found, f"{counted(n_labels, 'name')} of labels"])


def load_model(
    path: str | Path,
    trusted: Sequence[str | type] | None = None,
    *,
    sha256: str | None = None,
    max_bytes: int = MAX_MODEL_BYTES,
) -> SavedModel:
    """Load a model that was saved with `save_model`.

    The file is checked before any object is created: size on disk and checksum, then types, arrays
    and unpacked size. Values of the objects are checked before they are returned.

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
    digest, body = _read_file(path, max_bytes)
    if sha256 is not None and sha256.strip().lower() != digest:
        raise ModelFileError(
            f"{path}: another model than expected: its SHA-256 is {digest}, expected {sha256}"
        )
    manifest, _, content = body.partition(b"\n")
    facts = _read_manifest(path, manifest)
    estimator = _load(path, content, _full_names(trusted or ()), max_bytes)
    others = [
        f"{package} {found} (here {VERSIONS[package]})"
        for package in ("pairmend", "scikit-learn")
        if (found := facts["versions"].get(package)) != VERSIONS[package]
    ]
    if others:
        warnings.warn(
            f"{path} was saved with {' and '.join(others)}; predictions may differ.",
            ModelVersionWarning,
            stacklevel=2,
        )
    return SavedModel(estimator, **facts, sha256=digest)


def _read_file(path: str | Path, max_bytes: int) -> tuple[str, bytes]:
    """Return the SHA-256 of a file, and what it is computed from."""
    size = Path(path).stat().st_size
    if size > max_bytes:
        raise ModelFileError(f"{path}: has {size} bytes, more than max_bytes={max_bytes}")
    name, *rest = Path(path).read_bytes().split(b"\n", 2)
    magic, _, found = name.partition(b" ")
    if magic != MAGIC or len(rest) != 2:
        raise ModelFileError(f"{path}: not a model file of pairmend")
    stored, body = rest
    if found != b"%d" % FORMAT:
        writer = re.search(rb'"pairmend": "([\w.+]{1,40})"', body[:100_000])
        raise ModelFileError(
            f"{path}: a model file of format {found.decode('ascii', 'replace')[:20]!r}; this "
            f"version of pairmend reads format {FORMAT}. Load it with the version that wrote it, "
            f"pairmend {writer[1].decode() if writer else '?'}, or fit and save the model again."
        )
    digest = hashlib.sha256(body).hexdigest()
    if stored != digest.encode("ascii"):
        raise ModelFileError(
            f"{path}: damaged or changed since it was saved: its SHA-256 is {digest}, expected "
            f"{stored.decode('ascii', 'replace')[:64]}. Copy the file or fit the model again."
        )
    return digest, body


def _read_manifest(path: str | Path, line: bytes) -> dict[str, Any]:
    """Check all parts of a manifest and return them as arguments of SavedModel."""
    try:
        manifest = json.loads(line)
        names, labels, left_out = (
            _unique(manifest[part]) for part in ("feature_names", "label_names", "left_out")
        )
        kinds, tags, versions = (manifest[part] for part in ("kinds", "tags", "versions"))
        if kinds is not None and (len(_texts(kinds)) != len(names) or not KINDS.keys() >= {*kinds}):
            raise ValueError("kinds of other columns, or unknown ones")
        _texts(list(versions.values()))
        if tags is not None:
            tags = TagColumn(*_texts([tags["column"], tags["separator"] or ""]))
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(
            f"{path}: a part of its manifest is missing or invalid: {error}"
        ) from error
    return {
        "feature_names": names,
        "label_names": labels,
        "versions": versions,
        "kinds": None if kinds is None else tuple(kinds),
        "tags": tags,
        "left_out": left_out,
    }


def _texts(part: Any) -> tuple[str, ...]:
    if not isinstance(part, list) or not all(isinstance(each, str) for each in part):
        raise TypeError("expected a list of texts")
    return tuple(part)


def _unique(part: Any) -> tuple[str, ...]:
    names = _texts(part)
    if len(set(names)) != len(names):
        raise ValueError(f"a name occurs twice, of {list(names[:10])}")
    return names


def _load(path: str | Path, content: bytes, trusted: frozenset[str], max_bytes: int) -> Any:
    """Check the archive of a model file, and return the estimator."""
    io = require_skops()
    try:
        with open_archive(content) as archive:
            found = Audit(archive, trusted, max_bytes)
            schema = found.schema()
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
            "you trust the type and the source of the file, pass it as trusted, or after --trust "
            "on the command line.",
            untrusted,
        )
    whole = BytesIO(content)
    with ZipFile(whole, "a", ZIP_DEFLATED) as archive:
        archive.writestr(SCHEMA, json.dumps(schema))
    try:
        with warnings.catch_warnings():
            # ModelVersionWarning replaces it.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            estimator = io.loads(whole.getvalue(), trusted=sorted(found.types))
        check_values(estimator, trusted)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: the model is broken: {error}") from error
    return estimator


def require_skops() -> ModuleType:
    """Return skops.io, or raise an ImportError with the command that installs it."""
    try:
        from skops import io
    except ImportError as error:
        raise ImportError(
            "model files need skops, which is not installed: pip install 'pairmend[models]'"
        ) from error
    return io


def _full_names(trusted: Sequence[str | type]) -> frozenset[str]:
    return frozenset(
        each if isinstance(each, str) else f"{each.__module__}.{each.__qualname__}"
        for each in trusted
    )
