"""Label columns: which they are, and their cells as 0 and 1 (yes and no, x and empty cells)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pairmend._utils.text import counted
from pairmend._utils.typing import FloatArray
from pairmend.datasets.mulan import read_label_names

ChosenLabels = Sequence[str] | int | str | Path
"""Names of label columns, how many of the last columns, or an XML file that names them."""

PRESENT = (
    "1", "1.0", "yes", "y", "true", "t", "on", "x", "+", "✓", "✔", "☑", "present", "positive",
    "ja", "j", "wahr", "oui", "vrai", "sí", "si", "sim",
)  # fmt: skip
ABSENT = (
    "0", "0.0", "no", "n", "false", "f", "off", "-", "✗", "✘", "☐", "absent", "negative",
    "nein", "nee", "falsch", "non", "faux", "não",
)  # fmt: skip
INDICATOR_OF = {**dict.fromkeys(PRESENT, 1.0), **dict.fromkeys(ABSENT, 0.0)}
"""1 and 0 by the texts that stand for them, in lower case."""
_UNKNOWN = ("na", "n/a", "nan", "?", "null", "none", "unknown")


def find_labels(path: Path, names: Sequence[str], labels: ChosenLabels) -> tuple[str, ...]:
    """Return the names of the label columns among the columns of a table."""
    if isinstance(labels, int):
        if not 0 < labels < len(names):
            raise ValueError(
                f"{path}: cannot take the last {labels} of {counted(len(names), 'column')} as "
                "labels; if the cells of a text file are cut wrongly, give the delimiter"
            )
        return tuple(names[-labels:])
    if isinstance(labels, str | Path):
        return tuple(read_label_names(Path(labels)))
    return tuple(labels)


def indicators(
    codes: FloatArray, values: tuple[str, ...], source: str, label: str
) -> tuple[FloatArray, bool]:
    """Return a label column of texts as 0 and 1, and whether empty cells are 0.

    They are if all other cells stand for a label that is present; else the label is not known.
    """
    missing = np.isnan(codes)
    meaning = np.array([*(INDICATOR_OF.get(v.strip().lower(), np.nan) for v in values), np.nan])
    numbers = meaning[np.where(missing, len(values), codes).astype(int)]
    blank_is_absent = bool(missing.any() and (numbers[~missing] == 1).all() and not missing.all())
    if blank_is_absent:
        numbers[missing] = 0.0
    wrong = np.flatnonzero(np.isnan(numbers))
    if len(wrong):
        texts = [value for value in values if value.strip().lower() not in INDICATOR_OF]
        raise ValueError(label_error(source, label, codes, values, int(wrong[0]), texts))
    return numbers, blank_is_absent


def label_error(
    source: str,
    label: str,
    cells: FloatArray,
    values: tuple[str, ...] | None,
    row: int,
    texts: Sequence[str] = (),
) -> str:
    """Return the message for a cell of a label that is neither 0 nor 1."""
    cell = cells[row]
    found = "missing"
    if not np.isnan(cell):
        found = repr(f"{cell:g}" if values is None else values[int(cell)])
    message = f"{source}: label {label!r} must be 0 or 1, but is {found} in row {row}."
    if found == "missing" or found.strip("'").lower() in _UNKNOWN:
        if np.isnan(cells).all():
            return f"{message} It is missing in every row: leave the label out."
        return f"{message} Write 0 or 1 in these cells, or remove the rows."
    if found == "'-1'":
        return f"{message} If -1 stands for labels that are absent, write 0 in its place."
    if len(texts) > 2:
        return (
            f"{message} If the column lists the tags of each row, read it as tags: --tags "
            f"{label}, in Python tags={label!r}. If it is one of several classes, give each class "
            "a column of 0 and 1."
        )
    return (
        f"{message} Write 0 and 1, or other texts that are accepted: yes and no, true and false, "
        "ja and nein, oui and non, on and off, x or ✓ and empty cells, + and -."
    )
