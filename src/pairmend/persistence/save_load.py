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
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

import pairmend
from pairmend._utils.arrays import frame_columns, is_frame, with_numpy_arrays
from pairmend._utils.defaults import MAX_MODEL_BYTES
from pairmend._utils.files import replaced
from pairmend._utils.optional import require
from pairmend.frames.columns import column_kinds
from pairmend.persistence import audit, trust
from pairmend.persistence.rows import KINDS
from pairmend.persistence.saved import SavedModel
from pairmend.persistence.trust import ModelFileError, UntrustedTypesError

MAGIC = b"pairmend-model"
FORMAT = 6
VERSIONS = {"pairmend": pairmend.__version__, "scikit-learn": sklearn.__version__}


class ModelVersionWarning(UserWarning):
    """A model was saved with another version of a library."""


def save_model(
    model: Any,
    path: str | Path,
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    X: Any = None,
    trusted: Sequence[str] = (),
    updates: bool = False,
    tags: tuple[str, str] | None = None,
    left_out: Sequence[str] = (),
) -> str:
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
    trusted : sequence of str, default=()
        Full names of further types to save. `load_model` needs the same types as `trusted`.
    updates : bool, default=False
        Whether to save what ``partial_fit`` of the loaded classifier needs: the validation rows of
        a :class:`~pairmend.CorrectedPairwiseClassifier`, as they are.
    tags : tuple of str, default=None
        The column of a file that the labels were read from, and the separator of its tags or "",
        for ``pairmend predict``.
    left_out : sequence of str, default=()
        Further columns of that file, which ``pairmend predict`` does not use.

    Returns
    -------
    str
        The SHA-256 that identifies the model, for ``load_model(path, sha256=...)``.

    Raises
    ------
    ModelFileError
        If the model holds something that cannot be saved without pickle.
    UntrustedTypesError
        If it holds types that are not on the list of trusted types and not in `trusted`.

    See Also
    --------
    load_model : Loads it again.

    Notes
    -----
    The file of a classifier with neighbourhoods holds rows of the training data, scaled; that of
    nearest neighbours, as :class:`~pairmend.baselines.MLkNN`, all of them, as they were given.

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
    require("a model file", "skops")
    from skops import io

    check_is_fitted(model)
    model = with_numpy_arrays(model)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", ())
    if label_names is None:
        last = model[-1] if hasattr(model, "steps") else model
        label_names = last.classes_ if getattr(last, "multilabel_", False) else ()
    manifest = {
        "feature_names": [str(name) for name in feature_names],
        "label_names": [str(name) for name in label_names],
        "versions": VERSIONS,
        "kinds": _kinds_of(model, X, feature_names),
        "tags": tags,
        "left_out": list(left_out),
    }
    try:
        content = pack(io.dumps(model), updates=updates)
    except (TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{path}: the model cannot be saved, because it holds objects other than numbers, "
            f"texts and estimators: {error}"
        ) from error
    head = json.dumps(manifest).encode("ascii")
    _read_manifest(path, head)
    try:
        _load(path, content, frozenset(trusted), sys.maxsize)
    except ModelFileError as error:
        error.args = (f"{error} The model has not been saved.",)
        raise
    body = head + b"\n" + content
    digest = hashlib.sha256(body).hexdigest()
    with replaced(path) as temporary:
        temporary.write_bytes(b"%s %d\n%s\n" % (MAGIC, FORMAT, digest.encode("ascii")) + body)
    return digest


def _kinds_of(model: Any, X: Any, feature_names: Sequence[str]) -> Sequence[str] | None:
    """Return the kinds of columns that a model was fitted on; None for an array."""
    if not hasattr(model, "feature_names_in_"):
        return None
    if X is not None and not is_frame(X):
        raise ValueError(f"X must be a pandas or polars frame, as in fit, got {type(X)}")
    fitted_on = list(map(str, model.feature_names_in_))
    given = [feature_names, feature_names if X is None else frame_columns(X)]
    if any(list(map(str, names)) != fitted_on for names in given):
        raise ValueError(
            f"feature_names and the columns of X are {given}; expected those that the model was "
            f"fitted on, {fitted_on[:10]}"
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

    It holds the row numbers of stored rows only, and with `updates` what ``partial_fit`` needs.
    """
    packed, files = BytesIO(), set[str]()
    with ZipFile(BytesIO(content)) as old, ZipFile(packed, "w", ZIP_DEFLATED) as new:
        root = json.loads(old.read(audit.SCHEMA))
        _shorten(root, set(), files, updates)
        new.writestr(audit.DESCRIPTION, json.dumps(root, separators=(",", ":")))
        for name in files:
            new.writestr(name, old.read(name))
    return packed.getvalue()


def _shorten(part: Any, written: set[int], files: set[str], updates: bool) -> None:
    """Shorten names of classes, write each object once, and collect the files that are needed."""
    if isinstance(part, dict) and "__loader__" in part:
        if trust.full_name(f"{trust.OURS}.{part['__class__']}") == audit.type_name(part):
            part["__module__"] = trust.OURS
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


def _leave_out(node: audit.Node, updates: bool) -> None:
    """Remove attributes that are computed again, or not needed to predict."""
    state, cls = node.get("content"), trust.class_of(audit.type_name(node))
    if state is None or state["__loader__"] != "DictNode":
        return
    own, kinds = state["content"], state["key_types"]["content"]
    unneeded = {*getattr(cls, "_row_numbers", ())}
    unneeded |= set() if updates else {*getattr(cls, "_update_state", ())}
    for name in list(own):
        if name in unneeded or audit.is_computed(cls, name):
            del kinds[list(own).index(name)], own[name]
    if node["__class__"] == "Pipeline":
        own["memory"] = own["verbose"] | {"content": "null"}  # a cache of fits


def load_model(
    path: str | Path,
    trusted: Sequence[str] = (),
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
    trusted : sequence of str, default=()
        Full names of further types to trust. A type may run code when an object of it is
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
    ...     digest = save_model(clf, path)
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
    estimator = _load(path, content, frozenset(trusted), max_bytes)
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
        given = json.loads(line)
        found = {part: given[part] and _texts(given[part]) for part in ("kinds", "tags")}
        for part in ("feature_names", "label_names", "left_out"):
            found[part] = _texts(given[part])
            if len(set(found[part])) != len(found[part]):
                raise ValueError(f"a name occurs twice in {part}")
        kinds = found["kinds"] or ("number",) * len(found["feature_names"])
        if len(kinds) != len(found["feature_names"]) or not KINDS.keys() >= {*kinds}:
            raise ValueError("kinds of other columns, or unknown ones")
        _texts(list(given["versions"].values()))
        if found["tags"] and len(found["tags"]) != 2:
            raise ValueError("tags have a column and a separator")
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(
            f"{path}: a part of its manifest is missing or invalid: {error}"
        ) from error
    return {**found, "versions": given["versions"]}


def _texts(part: Any) -> tuple[str, ...]:
    """Return a list of texts as a tuple; anything else is an error."""
    if not isinstance(part, list) or not all(isinstance(each, str) for each in part):
        raise TypeError("expected a list of texts")
    return tuple(part)


def _load(path: str | Path, content: bytes, trusted: frozenset[str], max_bytes: int) -> Any:
    """Check the archive of a model file, and return the estimator."""
    require("a model file", "skops")
    from skops import io

    try:
        with audit.open_archive(content) as archive:
            found = audit.Audit(archive, trusted, max_bytes)
            schema = found.schema()
    except audit.TooLargeError as error:
        raise ModelFileError(
            f"{path}: {error}. If you trust the source of the file, raise max_bytes, or "
            "--max-model-bytes on the command line."
        ) from error
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: the model cannot be read: {error}") from error
    if untrusted := sorted(found.untrusted):
        raise UntrustedTypesError(
            f"{path}: holds {', '.join(untrusted)}, which is not on the list of trusted types. A "
            f"class {trust.OURS}.NAME is one of another version of the library. If you trust the "
            "type and the source of the file, pass it as trusted, or on the command line: --trust "
            + " ".join(untrusted),
            untrusted,
        )
    whole = BytesIO(content)
    with ZipFile(whole, "a", ZIP_DEFLATED) as archive:
        archive.writestr(audit.SCHEMA, json.dumps(schema))
    try:
        with warnings.catch_warnings():
            # ModelVersionWarning replaces it.
            warnings.simplefilter("ignore", InconsistentVersionWarning)
            estimator = io.loads(whole.getvalue(), trusted=sorted(found.types))
        audit.check_values(estimator, trusted)
    except Exception as error:  # a forged file may fail in any way
        raise ModelFileError(f"{path}: the model is broken: {error}") from error
    return estimator
