"""Hashes of the rows that a model was trained on, to recognise them; its column of tags."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from pairmend.datasets import MultiLabelData

MAX_HASHES = 1024
"""Hashes that are stored, the smallest ones: a random sample of the different rows."""

Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class TagColumn:
    """A column that lists tags, and the separator between them."""

    column: str
    separator: str | None


@dataclass(frozen=True)
class TrainingRows:
    """The smallest hashes of the training rows, sorted; all of them if `is_complete`.

    A row is sampled if its hash is at most the largest stored one. Of sampled rows it is known
    whether they are training rows, so that the share of training rows among others can be
    estimated.
    """

    hashes: Hashes
    is_complete: bool

    @classmethod
    def of(cls, data: MultiLabelData) -> "TrainingRows":
        """Hash the features and labels of rows."""
        hashes = np.unique(hash_rows(data))
        return cls(hashes[:MAX_HASHES], len(hashes) <= MAX_HASHES)

    def count(self, data: MultiLabelData) -> tuple[int, int]:
        """Return how many rows are training rows, and of how many this is known."""
        hashes = hash_rows(data)
        if not self.is_complete:
            hashes = hashes[hashes <= self.hashes[-1]]
        return int(np.isin(hashes, self.hashes).sum()), len(hashes)

    def to_json(self) -> dict[str, Any]:
        """Return plain data for a manifest."""
        text = base64.b64encode(self.hashes.astype("<u8").tobytes()).decode("ascii")
        return {"hashes": text, "is_complete": self.is_complete}

    @classmethod
    def from_json(cls, part: Any) -> "TrainingRows | None":
        """Check plain data of a manifest, and return the hashes; None if there are none."""
        if part is None:
            return None
        if not isinstance(part, dict) or not isinstance(part.get("hashes"), str):
            raise TypeError("expected hashes of training rows")
        content = base64.b64decode(part["hashes"], validate=True)
        if not content or len(content) % 8 or len(content) > 8 * MAX_HASHES:
            raise ValueError(f"hashes of training rows in {len(content)} bytes")
        hashes = np.frombuffer(content, dtype="<u8").astype(np.uint64)
        return cls(np.sort(hashes), part.get("is_complete") is True)


def hash_rows(data: MultiLabelData) -> Hashes:
    """Return a hash of the features and labels of each row, the same in any order of columns."""
    features = sparse.csr_array(data.X) if sparse.issparse(data.X) else data.X
    seeds = np.array([_hash_text(name) for name in data.feature_names], dtype=np.uint64)
    if sparse.issparse(features):
        # Zeros, which are not stored, add nothing. Categories of sparse data are hashed by code.
        hashes = _row_sums(_mix(_bits(features.data), seeds[features.indices]), features.indptr)
    else:
        hashes = np.zeros(len(data.Y), dtype=np.uint64)
        for place, seed in enumerate(seeds):
            hashes += _mix(_cells(features[:, place], data.categories.get(place)), seed)
    for label, name in enumerate(data.label_names):
        seed = np.uint64(_hash_text(f"label {name}"))
        hashes += _mix(data.Y[:, label].astype(np.uint64), seed)
    return hashes


def _cells(column: NDArray[Any], values: tuple[str, ...] | None) -> Hashes:
    if values is None:
        return _bits(column)
    of_text = np.array([*map(_hash_text, values), 1], dtype=np.uint64)
    return of_text[np.where(np.isnan(column), len(values), column).astype(int)]


def _bits(numbers: NDArray[Any]) -> Hashes:
    """Return the bits of numbers, the same for 0 and -0, and for all NaN."""
    plain = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    return np.ascontiguousarray(plain).view(np.uint64)


def _mix(values: Hashes, seed: Any) -> Hashes:
    """Hash numbers with a seed, 0 to 0 (the last steps of SplitMix64)."""
    mixed = values ^ seed
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return np.where(values == 0, np.uint64(0), mixed)


def _row_sums(values: Hashes, indptr: NDArray[Any]) -> Hashes:
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    return sums[indptr[1:]] - sums[indptr[:-1]]


def _hash_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
