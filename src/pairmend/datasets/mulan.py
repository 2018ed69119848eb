"""Mulan's pairs of files: ARFF for the data, XML for the names of the labels."""

import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

import numpy as np

from pairmend._utils.files import written
from pairmend.datasets.arff import read_arff, write_arff
from pairmend.datasets.arff.text import Progress
from pairmend.datasets.assembly import assemble, join, label_indicator, set_name
from pairmend.datasets.data import MultiLabelData
from pairmend.datasets.export import as_arff
from pairmend.datasets.files import opened
from pairmend.datasets.limits import DEFAULT_LIMITS, ReadLimits

_NAMESPACE = "http://mulan.sourceforge.net/labels"


def load_mulan(
    arff: str | Path | Sequence[str | Path],
    xml: str | Path,
    *,
    name: str | None = None,
    encoding: str | None = None,
    progress: Progress | None = None,
    limits: ReadLimits = DEFAULT_LIMITS,
) -> MultiLabelData:
    """Read a Mulan data set.

    Parameters
    ----------
    arff : path or list of paths
        The ARFF file, plain or compressed; a list of parts with the same header is joined.
    xml : path
        The file that names the labels, plain or compressed.
    name : str, default=None
        Name of the set; that of the first file if None.
    encoding : str, default=None
        Encoding of the ARFF files; as for `read_arff` if None.
    progress : callable, default=None
        Called with the share of a file that has been read, from 0 to 1.
    limits : ReadLimits, default=ReadLimits()
        How much of each file is read at most.

    Returns
    -------
    MultiLabelData
        Labels in the order of the XML file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import load_mulan, make_hypercubes, save_mulan
    >>> data = make_hypercubes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     arff, xml = pathlib.Path(folder, "cubes.arff"), pathlib.Path(folder, "cubes.xml")
    ...     save_mulan(data, arff, xml)
    ...     again = load_mulan(arff, xml)
    >>> bool((again.X == data.X).all())
    True
    """
    paths = [Path(arff)] if isinstance(arff, str | Path) else [Path(part) for part in arff]
    if not paths:
        raise ValueError("load_mulan needs at least one ARFF file, got an empty list")
    label_names = read_label_names(Path(xml))
    parts = [read_arff(path, encoding=encoding, progress=progress, limits=limits) for path in paths]
    content = join(parts, paths)
    places = {attribute.name: place for place, attribute in enumerate(content.attributes)}
    if missing := [label for label in label_names if label not in places]:
        raise ValueError(f"{xml}: names labels that {paths[0]} lacks: {missing[:10]}")
    limits.check_cells(paths[0], content.cells.shape[0] * len(label_names))
    labels = [places[label] for label in label_names]
    indicators = np.column_stack([label_indicator(content, place, paths[0]) for place in labels])
    return assemble(
        content,
        labels,
        indicators,
        name=name or set_name(paths[0]),
        source=(*paths, Path(xml)),
    )


def save_mulan(data: MultiLabelData, arff: str | Path, xml: str | Path) -> None:
    """Write a data set as Mulan's pair of files.

    Parameters
    ----------
    data : MultiLabelData
        The set; sparse X gives a sparse file.
    arff, xml : path
        The files; compressed by their suffix gz, bz2 or xz.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pairmend.datasets import make_hypercubes, save_mulan
    >>> data = make_hypercubes(10, n_labels=2, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     xml = pathlib.Path(folder, "cubes.xml")
    ...     save_mulan(data, pathlib.Path(folder, "cubes.arff"), xml)
    ...     print(xml.read_text().splitlines()[2])
    <label name="label_0"/>
    """
    if Path(arff) == Path(xml):
        raise ValueError(f"{arff}: cannot hold both the data and the names of the labels")
    for label in data.label_names:
        if _NOT_XML.search(label):
            raise ValueError(f"{data.name}: an XML file cannot hold the label name {label!r}")
    with written(xml) as file:
        file.write(f'<?xml version="1.0" encoding="utf-8"?>\n<labels xmlns="{_NAMESPACE}">\n')
        for label in data.label_names:
            file.write(f"<label name={quoteattr(label)}/>\n")
        file.write("</labels>\n")
        write_arff(arff, as_arff(data))  # before the XML file is renamed: both files or none


def read_label_names(path: Path) -> list[str]:
    """Read the names of the labels from Mulan's XML file, plain or compressed."""
    with opened(path, DEFAULT_LIMITS) as file:
        text = file.read(_MAX_XML + 1)
    if len(text) > _MAX_XML:
        raise ValueError(f"{path}: more than {_MAX_XML} bytes, too much for a list of labels")
    try:
        root = ElementTree.XML(text, parser=ElementTree.XMLParser(target=_NoDoctype()))
    except (
        ElementTree.ParseError,
        LookupError,
        ValueError,
    ) as error:  # a LookupError for unknown encodings
        raise ValueError(f"{path}: not an XML file: {error}") from error
    except _DoctypeFound:
        raise ValueError(
            f"{path}: declares a document type or entities, which a list of labels must not"
        ) from None
    if root.tag.split("}")[-1] != "labels":
        raise ValueError(f"{path}: expected a <labels> element, got <{root.tag}>")
    names = [
        element.get("name") for element in root.iter() if element.tag.split("}")[-1] == "label"
    ]
    if not names or None in names:
        raise ValueError(f"{path}: expected <label name=...> elements, each with a name")
    found = [name for name in names if name is not None]
    if len(set(found)) != len(found):
        raise ValueError(f"{path}: a label is named twice")
    return found


_MAX_XML = 2**24
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class _DoctypeFound(Exception):
    pass


class _NoDoctype(ElementTree.TreeBuilder):
    """A tree builder that raises an error for a document type."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        raise _DoctypeFound
