"""The datasets of studies: the catalogue (catalogue.json), and loading them by name."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import quote

import numpy as np

from pairmend._utils.optional import require
from pairmend.datasets.bags import MultiInstanceData, load_miml
from pairmend.datasets.data import MultiLabelData, drop_features, one_hot, subset
from pairmend.datasets.files import load_file
from pairmend.datasets.generated import make_shapes


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
    files : dict
        SHA-256 of each file by its path in the repository.
    packaged : dict
        Where the same table is in the wheel of river, and how its columns are named in the files.
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
    >>> from pairmend.datasets import catalogue
    >>> entry = catalogue()["yeast"]
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
    citation: str
    folder: str
    format: Literal["mulan", "meka", "multitarget", "matlab bags"] | None = None
    targets: int = 0
    repository: str = ""
    commit: str = ""
    files: dict[str, str] = field(default_factory=dict)
    packaged: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None
    preparation: str = ""
    notes: str = ""
    licence: str = ""
    aliases: tuple[str, ...] = ()


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
    >>> list(yeast.files)
    ['data/multi-label/yeast/yeast.arff', 'data/multi-label/yeast/yeast.xml']
    >>> [name for name, entry in catalogue().items() if entry.status == "generated"]
    ['simplehc', 'simplehs']
    """
    text = resources.files("pairmend.datasets").joinpath("catalogue.json").read_text("utf-8")
    facts: dict[str, dict[str, Any]] = json.loads(text)
    found = {}
    for name, own in facts.items():
        # A subset has all facts of the whole set that it does not state itself.
        whole = own.pop("subset_of", name)
        merged = {**facts[whole], "aliases": (), **own}
        plain: dict[str, Any]
        plain = {key: tuple(v) if isinstance(v, list) else v for key, v in merged.items()}
        found[name] = CatalogueEntry(name=name, folder=whole, **plain)
    return MappingProxyType(found)


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
        For an unknown name; the message lists the known ones.

    Examples
    --------
    >>> from pairmend.datasets.named_sets import find_entry
    >>> find_entry("Water quality").name, find_entry("IMDB0").name, find_entry("wq").name
    ('water-quality', 'imdb0', 'water-quality')
    """
    plain = _plain(name)
    for entry in catalogue().values():
        if plain in map(_plain, (entry.name, *entry.aliases)):
            return entry
    raise ValueError(f"no set is named {name!r}; expected one of {', '.join(catalogue())}")


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def load(
    name: str, data_dir: str | Path | None = None, *, raw: bool = False, download: bool = True
) -> Any:
    """Load a set of the study by name, prepared as in the paper.

    Its files are searched in this order:

    1. the user's own folder, `data_dir` or that of the environment variable PAIRMEND_DATA, and
       its sub-folder named after the set. A file there whose SHA-256 is not that of the catalogue
       is an error. Read files of your own with `load_file`;
    2. the cache: the folder of the environment variable PAIRMEND_CACHE, or else
       ``~/.cache/pairmend``; each set has a sub-folder;
    3. for yeast and flare2, the wheel of river if it is installed;
    4. the network: the file is downloaded by pooch, and stored in the cache if its SHA-256 is that
       of the catalogue. PAIRMEND_MIRROR is an address to use in place of
       https://raw.githubusercontent.com.

    Parameters
    ----------
    name : str
        Name of the set in `catalogue`, in any case.
    data_dir : path, default=None
        The user's own folder; None means that of PAIRMEND_DATA, if it is set.
    raw : bool, default=False
        Return the set as in its files: with nominal attributes, identifiers and bags unchanged,
        and the whole set in place of a random subset. Targets of multi-target files become labels
        in any case.
    download : bool, default=True
        Whether to download files that are not found elsewhere.

    Returns
    -------
    MultiLabelData, or MultiInstanceData for bags with raw=True
        The attribute `preparation` of the catalogue entry describes how each set is prepared.
        haloarcula is embedded with all its bags at once, as in the paper; for an evaluation with
        separate test bags, load it with raw=True and put `BagEmbedding` into a pipeline.

    Raises
    ------
    ValueError
        For an unknown name, a set without a public copy, or another file in the user's folder.
    OSError
        If the files are not found, and cannot or must not be downloaded. The message names the
        files and the folder to copy them to by hand.

    Examples
    --------
    >>> from pairmend.datasets import load
    >>> data = load("SimpleHC")
    >>> data.X.shape, data.Y.shape
    ((3000, 30), (3000, 10))
    """
    entry = find_entry(name)
    if entry.status == "generated":
        return replace(_GENERATED[entry.name](), name=entry.name)
    data = replace(_read(entry, data_dir, download), name=entry.name)
    if raw:
        return data
    prepared = _PREPARATIONS[entry.name](data) if entry.name in _PREPARATIONS else data
    return prepared if entry.seed is None else subset(prepared, entry.rows, seed=entry.seed)


def _read(entry: CatalogueEntry, data_dir: str | Path | None, download: bool) -> Any:
    found = _find_files(entry, data_dir)
    if None in found and (data := _load_packaged(entry)) is not None:
        return data
    if None in found and not download:
        raise FileNotFoundError(
            f"{entry.name}: {', '.join(entry.files)} are neither in a folder of yours nor in the "
            "cache; pass download=True to download them"
        )
    paths = [
        path or _fetch_file(entry, file) for path, file in zip(found, entry.files, strict=True)
    ]
    if entry.format == "matlab bags":
        return load_miml(paths[0])
    # Mulan's last file names the labels; Meka's files name them themselves.
    labels = paths[-1] if entry.format == "mulan" else entry.targets or None
    threshold = 0.0 if entry.targets else None
    parts = paths[:-1] if entry.format == "mulan" else paths
    sets = [load_file(part, labels, threshold=threshold) for part in parts]
    X = sets[0].X if len(sets) == 1 else np.vstack([data.X for data in sets])
    return replace(sets[0], X=X, Y=np.vstack([data.Y for data in sets]), source=tuple(paths))


def is_available(name: str, data_dir: str | Path | None = None) -> bool:
    """Return whether `load` can load a set without the network."""
    entry = find_entry(name)
    if entry.status != "files":
        return entry.status == "generated"
    return None not in _find_files(entry, data_dir) or _load_packaged(entry) is not None


def _find_files(entry: CatalogueEntry, data_dir: str | Path | None) -> list[Path | None]:
    """Return the path of each file in the user's folder or the cache, checked."""
    if entry.status == "not found":
        raise ValueError(f"{entry.name}: {entry.notes}")
    folders, found = [cache_folder() / entry.folder], []
    if named := data_dir or os.environ.get("PAIRMEND_DATA"):
        own = Path(named).expanduser()
        if not own.is_dir():
            raise NotADirectoryError(
                f"data_dir, or else the environment variable PAIRMEND_DATA, names {own}, which is "
                "not a folder"
            )
        folders = [own, own / entry.folder, *folders]
    for file, sha256 in entry.files.items():
        places = (folder / Path(file).name for folder in folders)
        path = next((place for place in places if place.is_file()), None)
        if path is not None and hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise ValueError(
                f"{path} is not the file of the set {entry.name!r}, whose SHA-256 is {sha256}. "
                "Remove it from the folder to download the right one, or read it with load_file."
            )
        found.append(path)
    return found


def _fetch_file(entry: CatalogueEntry, file: str) -> Path:
    server = os.environ.get("PAIRMEND_MIRROR") or "https://raw.githubusercontent.com"
    repository = entry.repository.removeprefix("https://github.com/")
    url = f"{server.rstrip('/')}/{repository}/{entry.commit}/{quote(file)}"
    by_hand = (
        f"To work without the network, get {' and '.join(entry.files)} from "
        f"{entry.repository}/tree/{entry.commit} on another machine and put them into a folder of "
        "yours that data_dir or the environment variable PAIRMEND_DATA names."
    )
    require(f"{by_hand} A download", "pooch")
    import pooch

    try:
        pooch.get_logger().setLevel("WARNING")
        path = pooch.retrieve(
            url,
            known_hash=f"sha256:{entry.files[file]}",
            fname=Path(file).name,
            path=cache_folder() / entry.folder,
        )
    except (OSError, ValueError) as error:  # a wrong hash is a ValueError
        raise OSError(f"cannot fetch {url}: {error}. {by_hand}") from error
    return Path(path)


def cache_folder() -> Path:
    """Return the folder of the cache: PAIRMEND_CACHE, or .cache/pairmend in the user's folder."""
    return Path(os.environ.get("PAIRMEND_CACHE") or "~/.cache/pairmend").expanduser()


def _load_packaged(entry: CatalogueEntry) -> MultiLabelData | None:
    """Return a set as in Mulan's files, from the wheel of river; None if it is not there.

    Its tables equal Mulan's files except for the names and the order of the columns.
    """
    if not entry.packaged:
        return None
    import pandas as pd

    try:
        path = Path(str(distribution("river").locate_file(entry.packaged["path"])))
        frame = pd.read_csv(path, dtype=str)  # pandas changes the last digit of some numbers
    except (PackageNotFoundError, FileNotFoundError):
        return None
    frame.columns = entry.packaged.get("columns", frame.columns)
    labels, values = entry.packaged["labels"], entry.packaged.get("values", {})
    features = [name for name in frame if name not in labels]
    for name in features:
        frame[name] = (
            pd.Categorical(frame[name], [*values[name]]).codes if name in values else frame[name]
        )
    Y = (frame[labels].to_numpy(float) > 0).astype(np.int64)
    categories = {features.index(name): tuple(values[name]) for name in values}
    X = frame[features].to_numpy(float)
    return MultiLabelData(X, Y, tuple(features), tuple(labels), categories, entry.name, (path,))


def _embedded(data: MultiInstanceData) -> MultiLabelData:
    # The paper leaves out labels with fewer rows; its d of 33 less 13 labels gives 20 components.
    rows = data.embed(n_components=20)
    kept = np.flatnonzero(rows.Y.sum(axis=0) >= 16)
    names = tuple(rows.label_names[label] for label in kept)
    return replace(rows, Y=rows.Y[:, kept], label_names=names)


_PREPARATIONS: dict[str, Callable[[Any], MultiLabelData]] = {
    "flags": one_hot,
    "flare1": partial(one_hot, values="occurring"),
    "flare2": partial(one_hot, values="occurring"),
    "genbase": lambda data: drop_features(data, data.feature_names[:1]),  # an identifier
    "haloarcula": _embedded,
    "mimlimg": MultiInstanceData.flatten,
}
"""How each set is prepared; `preparation` in the catalogue describes it in words."""

_GENERATED: dict[str, Callable[[], MultiLabelData]] = {
    "simplehc": partial(make_shapes, noise=0.1, random_state=4080),
    "simplehs": partial(make_shapes, shape="sphere", noise=0.1, random_state=718),
}
"""The paper prints characteristics of its sets, not how they were made: 3,000 rows, 30 features,
10 labels, LC 1.900 and 2.307. The seeds are those of the first 6,000 whose LC, avIR and AVsc are
closest to the printed ones (1.902, 1.138 and 0.001; 2.307, 2.622 and 0.050)."""
