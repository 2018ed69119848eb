"""Mulan's XML files, which name the labels of an ARFF file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from pairmend.datasets.limits import opened

_MAX_XML = 2**24
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read_label_names(path: Path) -> list[str]:
    """Read the names of the labels from Mulan's XML file, plain or compressed."""
    with opened(path) as file:
        text = file.read(_MAX_XML + 1)
    if len(text) > _MAX_XML:
        raise ValueError(f"{path}: more than {_MAX_XML} bytes, too much for a list of labels")
    try:
        root = ElementTree.XML(text, parser=ElementTree.XMLParser(target=_NoDoctype()))
    except (ElementTree.ParseError, LookupError, ValueError) as error:
        raise ValueError(f"{path}: not an XML file: {error}") from error
    except _DoctypeFound:
        raise ValueError(
            f"{path}: declares a document type or entities, which a list of labels must not"
        ) from None
    elements = [each for each in root.iter() if each.tag.split("}")[-1] == "label"]
    names = [name for each in elements if (name := each.get("name")) is not None]
    if root.tag.split("}")[-1] != "labels" or not names or len(names) != len(elements):
        raise ValueError(
            f"{path}: expected a <labels> element with <label name=...> elements, got <{root.tag}>"
        )
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: a label is named twice")
    return names


def write_label_names(file: IO[str], names: Sequence[str]) -> None:
    """Write Mulan's XML file."""
    for name in names:
        if _NOT_XML.search(name):
            raise ValueError(f"an XML file cannot hold the label name {name!r}")
    file.write('<?xml version="1.0" encoding="utf-8"?>\n')
    file.write('<labels xmlns="http://mulan.sourceforge.net/labels">\n')
    file.writelines(f"<label name={quoteattr(name)}/>\n" for name in names)
    file.write("</labels>\n")


class _DoctypeFound(Exception):
    pass


class _NoDoctype(ElementTree.TreeBuilder):
    """A tree builder that raises an error for a document type."""

    def doctype(self, name: str, pubid: str, system: str) -> None:
        raise _DoctypeFound
