"""load_file, load_table, save_file: the reader or writer by the suffix of the file."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pairmend._utils.files import OPENERS
from pairmend.datasets.arff import read_arff
from pairmend.datasets.arff.text import Progress
from pairmend.datasets.assembly import assemble, set_name
from pairmend.datasets.bags import MultiInstanceData
from pairmend.datasets.csv import load_csv, read_csv_table, save_csv
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.limits import COLUMN_CELLS, DEFAULT_LIMITS, ReadLimits
from pairmend.datasets.meka import load_meka, save_meka
from pairmend.datasets.miml import load_miml
from pairmend.datasets.mulan import load_mulan, read_label_names, save_mulan
from pairmend.datasets.multitarget import load_multitarget
from pairmend.datasets.parquet import read_parquet_table
from pairmend.datasets.preparation import take_labels


def load_file(
    path: str | Path,
    *,
    xml: str | Path | None = None,
    labels: Sequence[str] | None = None,
    targets: int | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a data set from an ARFF, CSV, Parquet or MATLAB file.

    Parameters
    ----------
    path : path
        An ARFF, CSV, Parquet or MATLAB file, plain or compressed where the kind allows.
    xml : path, default=None
        The file that names the labels of a Mulan ARFF file. None means the XML file of the same
        name in the same folder; without one, the ARFF file is read as Meka's.
    labels : sequence of str, default=None
        Columns of a CSV or Parquet file that are labels.
    targets : int, default=None
        How many of the last attributes of an ARFF file are regression targets; above 0 they
        are labels.
    progress : callable, default=None
        Called with the share of an ARFF file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData
        Bags of one size are flattened, others embedded.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size,sea,sun\n2.5,1,0\n0.5,0,1\n")
    ...     photos = load_file(path, labels=["sea", "sun"])
    >>> photos.X.tolist(), photos.Y.tolist()
    ([[2.5], [0.5]], [[1, 0], [0, 1]])
    """
    path = Path(path)
    match _kind(path):
        case ".arff" if targets is not None:
            return load_multitarget(path, targets, progress=progress, limits=limits)
        case ".arff":
            names = Path(xml) if xml is not None else _xml_beside(path)
            if names is not None:
                return load_mulan(path, names, progress=progress, limits=limits)
            return load_meka(path, progress=progress, limits=limits)
        case ".csv" if labels:
            return load_csv(path, labels, limits=limits)
        case ".parquet" if labels:
            return take_labels(read_parquet_table(path, limits=limits), labels)
        case ".csv" | ".parquet" as kind:
            name = "CSV" if kind == ".csv" else "Parquet"
            raise ValueError(
                f"{path}: labels must name the columns of a {name} file that are labels"
            )
        case ".mat":
            return _as_rows(load_miml(path, limits=limits), path, limits)
        case kind:
            raise ValueError(
                f"{path}: cannot read {kind or 'a file without suffix'}; expected "
                ".arff, .csv, .parquet or .mat, the first two also with .gz, .bz2 or .xz"
            )


def load_table(
    path: str | Path,
    labels: Sequence[str] | int | str | Path = (),
    *,
    categorical: Sequence[str] = (),
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    r"""Read a table, of which some columns may be labels.

    Parameters
    ----------
    path : path
        An ARFF, CSV or Parquet file, the first two plain or compressed. CSV cells may be
        separated by commas, semicolons or tabs.
    labels : sequence of str, int or path, default=()
        Columns that are labels: their names, how many of the last columns, or a Mulan XML file
        that names them. By default all columns are features.
    categorical : sequence of str, default=()
        Names of columns whose numbers are codes; names that the file lacks are ignored.
    progress : callable, default=None
        Called with the share of an ARFF file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much is read at most.

    Returns
    -------
    MultiLabelData

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "photos.csv")
    ...     _ = path.write_text("size;hue;sea;sun\n2.5;red;1;0\n;blue;0;1\n")
    ...     photos = load_table(path, labels=2)
    >>> photos.feature_names, photos.label_names
    (('size', 'hue'), ('sea', 'sun'))
    """
    path = Path(path)
    match _kind(path):
        case ".arff":
            content = read_arff(path, progress=progress, limits=limits)
            nothing = np.empty((content.cells.shape[0], 0), dtype=np.int64)
            data = assemble(content, [], nothing, name=set_name(path), source=(path,))
        case ".csv":
            data = read_csv_table(path, categorical=categorical, limits=limits)
        case ".parquet":
            data = read_parquet_table(path, categorical=categorical, limits=limits)
        case kind:
            raise ValueError(
                f"{path}: cannot read {kind or 'a file without suffix'}; expected .arff, .csv or "
                ".parquet, the first two also with .gz, .bz2 or .xz"
            )
    if isinstance(labels, int):
        if not 0 < labels < len(data.feature_names):
            raise ValueError(
                f"{path}: cannot take the last {labels} of {len(data.feature_names)} columns as "
                "labels"
            )
        labels = data.feature_names[-labels:]
    elif isinstance(labels, str | Path):
        labels = read_label_names(Path(labels))
    limits.check_cells(path, data.X.shape[0] * len(labels))
    return take_labels(data, labels) if labels else data


def save_file(data: MultiLabelData, path: str | Path, *, xml: str | Path | None = None) -> None:
    """Write a data set in the format of the file's suffix.

    Parameters
    ----------
    data : MultiLabelData
        The set.
    path : path
        An ARFF or CSV file; compressed with a further suffix gz, bz2 or xz.
    xml : path, default=None
        File to write the names of the labels to, for Mulan; None writes a Meka file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_file, make_hypercubes, save_file
    >>> data = make_hypercubes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cubes.arff")
    ...     save_file(data, path)
    ...     again = load_file(path)
    >>> bool((again.X == data.X).all())
    True
    """
    path = Path(path)
    match _kind(path):
        case ".arff" if xml is not None:
            save_mulan(data, path, xml)
        case ".arff":
            save_meka(data, path)
        case ".csv" if xml is not None:
            raise ValueError(f"{path}: a CSV file has no label file beside it, but got {xml}")
        case ".csv":
            save_csv(data, path)
        case kind:
            raise ValueError(
                f"{path}: cannot write {kind or 'a file without suffix'}; expected "
                ".arff or .csv, which may be followed by .gz, .bz2 or .xz"
            )


def _as_rows(data: MultiInstanceData, path: Path, limits: ReadLimits) -> MultiLabelData:
    if len({bag.shape for bag in data.bags}) == 1:
        limits.check_cells(path, data.bags[0].size * COLUMN_CELLS)
        return data.flatten()
    limits.check_cells(path, len(data.bags) ** 2)  # the distances between the bags
    return data.embed()


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _xml_beside(path: Path) -> Path | None:
    stem = path.name.lower().split(".arff")[0]
    for candidate in sorted(path.parent.glob("*.xml*")):
        if _kind(candidate) == ".xml" and candidate.name.lower().split(".xml")[0] == stem:
            return candidate
    return None
