"""The catalogue of the datasets of studies: properties, files and SHA-256 (catalogue.json)."""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal


@dataclass(frozen=True)
class CatalogueFile:
    """One file of a set.

    Attributes
    ----------
    name : str
        Name of the file.
    sha256 : str
        Its SHA-256, 64 hexadecimal digits.
    bytes : int
        Its size.
    path : str
        Its path in the repository.
    """

    name: str
    sha256: str
    bytes: int
    path: str


@dataclass(frozen=True)
class CatalogueEntry:
    """One set of the catalogue.

    Attributes
    ----------
    name, title : str
        The name to load it by, and its topic.
    status : {"files", "generated", "not found"}
        "files" if its files are public, "generated" if it is made by a function, "not found" if
        no public copy was found.
    paper_numbers : tuple of int
        Number in the paper's tables; empty for a set that is not in the paper.
    rows, features, labels : int or None
        Counts of the set as `load` gives it.
    cardinality : float or None
        Mean number of labels of a row; None for sets drawn or generated at random.
    format : {"mulan", "meka", "multitarget", "matlab bags"} or None
        The kind of its files; None for generated sets.
    targets : int
        How many of the last attributes of a multi-target file are labels; 0 for other kinds.
    repository, commit : str
        The public repository the files come from, and the commit they are pinned to.
    files : tuple of CatalogueFile
        The files.
    folder : str
        Name of the sub-folder of the files: that of the whole set for a random subset, the name
        of the set otherwise.
    seed : int or None
        Seed of a set drawn at random from a larger one; None for others.
    preparation : str
        What `load` does beyond reading the files; empty for nothing.
    notes, licence, citation : str
        Remarks, the licence stated by the source, and the publication to cite.
    aliases : tuple of str
        Further names to load it by.

    Examples
    --------
    >>> from pairmend.datasets import find_entry
    >>> entry = find_entry("yeast")
    >>> entry.rows, entry.format
    (2417, 'mulan')
    """

    name: str
    title: str
    status: Literal["files", "generated", "not found"]
    paper_numbers: tuple[int, ...]
    rows: int
    features: int
    labels: int
    cardinality: float | None
    format: Literal["mulan", "meka", "multitarget", "matlab bags"] | None
    targets: int
    repository: str
    commit: str
    files: tuple[CatalogueFile, ...]
    folder: str
    seed: int | None
    preparation: str
    notes: str
    licence: str
    citation: str
    aliases: tuple[str, ...]


@cache
def catalogue() -> Mapping[str, CatalogueEntry]:
    """Return all sets of the study by name, those of the paper first, in its order.

    Returns
    -------
    mapping of str to CatalogueEntry
        Read-only.

    Examples
    --------
    >>> from pairmend.datasets import catalogue
    >>> yeast = catalogue()["yeast"]
    >>> yeast.rows, yeast.features, yeast.labels
    (2417, 103, 14)
    >>> [file.name for file in yeast.files]
    ['yeast.arff', 'yeast.xml']
    >>> [name for name, entry in catalogue().items() if entry.status == "generated"]
    ['simplehc', 'simplehs']
    """
    text = resources.files("pairmend.datasets").joinpath("catalogue.json").read_text("utf-8")
    facts: dict[str, dict[str, Any]] = json.loads(text)
    return MappingProxyType({name: _entry(name, facts) for name in facts})


def find_entry(name: str) -> CatalogueEntry:
    """Return the entry of a set; case, spaces, - and _ in the name are ignored.

    Parameters
    ----------
    name : str
        A name of the catalogue or an alias.

    Returns
    -------
    CatalogueEntry

    Raises
    ------
    ValueError
        For an unknown name; the message lists names that are close to it.

    Examples
    --------
    >>> from pairmend.datasets import find_entry
    >>> find_entry("Water quality").name, find_entry("IMDB0").name, find_entry("wq").name
    ('water-quality', 'imdb0', 'water-quality')
    >>> find_entry("emotion")
    Traceback (most recent call last):
    ...
    ValueError: no set is named 'emotion'; did you mean 'emotions'?
    """
    names = _names()
    plain = _plain(name)
    if plain in names:
        return catalogue()[names[plain]]
    close = dict.fromkeys(names[match] for match in difflib.get_close_matches(plain, names))
    hint = (
        f"did you mean {' or '.join(map(repr, close))}?"
        if close
        else f"expected one of {', '.join(catalogue())}"
    )
    raise ValueError(f"no set is named {name!r}; {hint}")


@cache
def _names() -> Mapping[str, str]:
    """Map names and aliases in plain form to names of the catalogue."""
    return {
        _plain(alias): name
        for name, entry in catalogue().items()
        for alias in (name, *entry.aliases)
    }


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _entry(name: str, facts: Mapping[str, dict[str, Any]]) -> CatalogueEntry:
    own = facts[name]
    whole = own.get("subset_of")
    # A subset has all facts of the whole set that it does not state itself.
    merged = {**facts[whole], "aliases": [], **own} if whole else own
    return CatalogueEntry(
        name=name,
        title=merged["title"],
        status=merged["status"],
        paper_numbers=tuple(merged["paper_numbers"]),
        rows=merged["rows"],
        features=merged["features"],
        labels=merged["labels"],
        cardinality=merged["cardinality"],
        format=merged.get("format"),
        targets=merged.get("targets", 0),
        repository=merged.get("repository", ""),
        commit=merged.get("commit", ""),
        files=tuple(CatalogueFile(**file) for file in merged.get("files", [])),
        folder=whole or name,
        seed=merged.get("seed"),
        preparation=merged.get("preparation", ""),
        notes=merged.get("notes", ""),
        licence=merged.get("licence", ""),
        citation=merged["citation"],
        aliases=tuple(merged.get("aliases", [])),
    )
