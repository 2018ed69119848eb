"""Description of a dataset on one page of text or HTML."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from pairmend import plots
from pairmend._utils.files import written
from pairmend._utils.text import counted, one_line
from pairmend._utils.typing import IntArray
from pairmend.datasets.characteristics import (
    characteristics,
    label_concurrence,
    label_imbalance,
    missing_per_feature,
)
from pairmend.datasets.data import MultiLabelData
from pairmend.plots.data import ENDS, MOST_BARS

WIDTH = 100
HISTOGRAM_BARS = 16
TOP_PAIRS = 5
GAP = "…"

MEANINGS = {
    "N": "rows",
    "d": "features and labels",
    "L": "labels",
    "LC": "mean labels per row",
    "LD": "label density, LC / L",
    "avIR": "mean label imbalance",
    "CVIR": "variation of label imbalance",
    "AVsc": "mean concurrence, SCUMBLE",
    "label_sets": "distinct label sets",
    "PUniq": "label sets of one row / N",
    "Pmax": "share of the top label set",
    "TCS": "theoretical complexity",
    "min_labels": "fewest labels of a row",
    "max_labels": "most labels of a row",
    "rows_without_labels": "rows without labels",
    "X_density": "share of cells not zero",
    "missing": "missing cells",
}
"""Short descriptions of the characteristics."""


@dataclass(frozen=True)
class LabelSummary:
    """Statistics of one label.

    Attributes
    ----------
    name : str
        Its name.
    count : int
        Number of rows that have it.
    share : float
        The same as a share of all rows.
    imbalance : float
        Count of the most frequent label by its own; 0 if it never occurs.
    concurrence : float
        How far it occurs with labels of other frequencies, 0 to 1 (SCUMBLE of the label).
    """

    name: str
    count: int
    share: float
    imbalance: float
    concurrence: float


@dataclass(frozen=True)
class FeatureSummary:
    """Statistics of the features.

    Attributes
    ----------
    numeric, categorical : int
        How many there are of each kind.
    with_missing : int
        Features with at least one missing cell.
    missing : int
        Missing cells.
    missing_share : float
        The same as a share of all cells.
    sparse : bool
        Whether X is sparse.
    density : float
        Share of the cells of a sparse X that are not zero; 1 for a dense X.
    """

    numeric: int
    categorical: int
    with_missing: int
    missing: int
    missing_share: float
    sparse: bool
    density: float


@dataclass(frozen=True, eq=False)
class Description:
    """A set in numbers, tables and figures.

    Attributes
    ----------
    name : str
        Name of the set.
    characteristics : dict
        See :func:`pairmend.datasets.characteristics`.
    labels : tuple of LabelSummary
        One for each label, in the order of the set.
    co_occurrence : ndarray of int, shape (L, L)
        Number of rows that have both labels; the diagonal holds the counts of single labels.
    labels_per_row : ndarray of int
        Entry k is the number of rows with k labels.
    features : FeatureSummary
        Statistics of the features.

    Examples
    --------
    >>> from pairmend.datasets import describe, make_hypercubes
    >>> page = describe(make_hypercubes(50, n_labels=2, random_state=0))
    >>> page.co_occurrence.tolist()
    [[25, 0], [0, 25]]
    """

    name: str
    characteristics: dict[str, int | float]
    labels: tuple[LabelSummary, ...]
    co_occurrence: IntArray
    labels_per_row: IntArray
    features: FeatureSummary

    def to_text(self) -> str:
        """Write the description as plain text of at most 100 columns.

        Returns
        -------
        str

        Examples
        --------
        >>> from pairmend.datasets import describe, make_hypercubes
        >>> print(describe(make_hypercubes(50, random_state=0)).to_text()[:21])
        hypercubes
        ==========
        """
        return "\n".join(line.rstrip() for line in _text_lines(self)) + "\n"

    def to_html(self) -> str:
        """Write the description as one HTML page without scripts and other files.

        Figures are drawn with matplotlib and included in the page.

        Returns
        -------
        str

        Examples
        --------
        >>> from pairmend.datasets import describe, make_hypercubes
        >>> describe(make_hypercubes(50, random_state=0)).to_html().startswith("<!DOCTYPE html>")
        True
        """
        return _html_page(self)

    def save(self, path: str | Path) -> None:
        """Write the description to a file.

        Parameters
        ----------
        path : path
            The file: ``.txt`` for plain text, ``.html`` for a page with figures. An existing
            file is replaced once the new one is complete.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from pairmend.datasets import describe, make_hypercubes
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "cubes.txt")
        ...     describe(make_hypercubes(50, random_state=0)).save(path)
        ...     path.stat().st_size > 1000
        True
        """
        path = Path(path)
        writers = {".txt": self.to_text, ".html": self.to_html}
        if path.suffix.lower() not in writers:
            raise ValueError(
                f"{path}: a description is written as .txt or .html, not as {path.suffix!r}"
            )
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
        text = writers[path.suffix.lower()]()
        with written(path) as file:
            file.write(text)


def describe(data: MultiLabelData) -> Description:
    """Describe a set on one page.

    Parameters
    ----------
    data : MultiLabelData
        The set.

    Returns
    -------
    Description

    Examples
    --------
    >>> import numpy as np
    >>> from pairmend.datasets import MultiLabelData, describe
    >>> data = MultiLabelData(
    ...     X=np.array([[0.5], [1.5], [2.5]]), Y=np.array([[1, 0], [1, 1], [0, 0]]),
    ...     feature_names=("size",), label_names=("sea", "sun"), categories={}, name="photos",
    ...     source=(),
    ... )
    >>> page = describe(data)
    >>> page.labels[1]
    LabelSummary(name='sun', count=1, share=0.333..., imbalance=2.0, concurrence=0.057...)
    >>> page.to_text().splitlines()[:3]
    ['photos', '======', '3 rows, 1 feature, 2 labels']
    """
    numbers = characteristics(data)
    labels = sparse.csr_array(data.Y, dtype=np.int64)
    # Through sparse matrices: most of Y is zero in sets with many labels.
    together = (labels.T @ labels).toarray()
    counts = data.Y.sum(axis=0)
    missing = missing_per_feature(data.X)
    n_rows, n_features = data.X.shape
    return Description(
        name=data.name,
        characteristics=numbers,
        labels=tuple(
            LabelSummary(
                name, int(count), float(count / n_rows), float(imbalance), float(concurrence)
            )
            for name, count, imbalance, concurrence in zip(
                data.label_names,
                counts,
                label_imbalance(data.Y),
                label_concurrence(data.Y),
                strict=True,
            )
        ),
        co_occurrence=together,
        labels_per_row=np.bincount(data.Y.sum(axis=1)),
        features=FeatureSummary(
            numeric=n_features - len(data.categories),
            categorical=len(data.categories),
            with_missing=int(np.count_nonzero(missing)),
            missing=int(missing.sum()),
            missing_share=float(missing.sum() / max(1, n_rows * n_features)),
            sparse=bool(sparse.issparse(data.X)),
            density=float(numbers["X_density"]),
        ),
    )


# Used by text and HTML.


def _headline(page: Description) -> str:
    n_features = page.features.numeric + page.features.categorical
    rows = counted(int(page.characteristics["N"]), "row")
    return f"{rows}, {counted(n_features, 'feature')}, {counted(len(page.labels), 'label')}"


def _feature_sentence(features: FeatureSummary) -> str:
    kinds = f"{features.numeric:,} numeric, {features.categorical:,} categorical"
    form = f"sparse, {features.density:.2%} of the cells not zero" if features.sparse else "dense"
    missing = (
        f"{counted(features.missing, 'missing cell')} ({features.missing_share:.2%}) in "
        f"{counted(features.with_missing, 'feature')}"
        if features.missing
        else "no missing cells"
    )
    return f"{kinds}; {form}; {missing}"


def _numbers(page: Description) -> list[tuple[str, str, str]]:
    """List name, meaning and value of the characteristics."""
    return [
        (key, MEANINGS[key], _number(page.characteristics[key]))
        for key in MEANINGS
        if key != "X_density" or page.features.sparse
    ]


def _most_frequent_first(page: Description) -> list[LabelSummary]:
    return sorted(page.labels, key=lambda label: -label.count)


def _ends(labels: Sequence[LabelSummary]) -> tuple[list[LabelSummary], list[LabelSummary]]:
    """Split a long list into its first and its last; a short one stays whole."""
    if len(labels) <= MOST_BARS:
        return list(labels), []
    return list(labels[:ENDS]), list(labels[-ENDS:])


def _between(page: Description) -> str:
    return f"{GAP} {len(page.labels) - 2 * ENDS:,} labels between these are left out"


def _label_cells(label: LabelSummary) -> list[str]:
    return [
        f"{label.count:,}",
        f"{label.share:.2%}",
        f"{label.imbalance:,.3f}",
        f"{label.concurrence:.3f}",
    ]


def _top_pairs(page: Description) -> list[tuple[str, str, int]]:
    """Return the pairs of labels that occur together most often."""
    first, second = np.triu_indices(len(page.labels), k=1)
    counts = page.co_occurrence[first, second]
    best = np.argsort(-counts, kind="stable")[:TOP_PAIRS]
    return [
        (page.labels[first[pair]].name, page.labels[second[pair]].name, int(counts[pair]))
        for pair in best
        if counts[pair] > 0
    ]


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


# Plain text.


def _text_lines(page: Description) -> list[str]:
    title = _fit(page.name, WIDTH)
    return [
        title.rstrip(),
        "=" * max(1, _columns(title.rstrip())),
        _headline(page),
        f"Features: {_feature_sentence(page.features)}",
        "",
        *_text_characteristics(page),
        "",
        *_text_labels(page),
        "",
        *_text_pairs(page),
        "",
        *_text_labels_per_row(page),
    ]


def _text_characteristics(page: Description) -> list[str]:
    cells = [
        # A key of several words repeats its meaning.
        f"{value:>13}  {meaning if '_' in key else f'{key} ({meaning})'}"
        for key, meaning, value in _numbers(page)
    ]
    half = (len(cells) + 1) // 2
    left, right = cells[:half], [*cells[half:], ""]
    column = 51
    return [
        *_text_heading("Characteristics"),
        *(f"{a:<{column}}{b}" for a, b in zip(left, right, strict=False)),
    ]


def _text_labels(page: Description) -> list[str]:
    ordered = _most_frequent_first(page)
    first, last = _ends(ordered)
    name_width = min(44, max(5, *(_columns(one_line(label.name)) for label in first + last)))
    highest = max(1, ordered[0].count)

    def line(label: LabelSummary) -> str:
        rows, share, imbalance, concurrence = _label_cells(label)
        bar = "#" * round(14 * label.count / highest)
        name = _fit(label.name, name_width)
        return f"{name} {rows:>9} {share:>7} {imbalance:>10} {concurrence:>11}  {bar}"

    return [
        *_text_heading("Labels, the most frequent first"),
        f"{'label':<{name_width}} {'rows':>9} {'share':>7} {'imbalance':>10} {'concurrence':>11}",
        *map(line, first),
        *([_between(page), *map(line, last)] if last else []),
    ]


def _text_pairs(page: Description) -> list[str]:
    pairs = _top_pairs(page)
    width = 42
    return [
        *_text_heading("Labels that most often occur together"),
        *(
            f"{count:>9,} {'row ' if count == 1 else 'rows'}  "
            f"{_fit(one, width).rstrip()} + {_fit(other, width).rstrip()}"
            for one, other, count in pairs
        ),
        *([] if pairs else ["No row has two labels."]),
    ]


def _text_labels_per_row(page: Description) -> list[str]:
    counts = page.labels_per_row
    step = -(-len(counts) // HISTOGRAM_BARS)
    lines = _text_heading("Labels per row")
    starts = range(0, len(counts), step)
    sums = [int(counts[start : start + step].sum()) for start in starts]
    highest = max(sums)
    for start, rows in zip(starts, sums, strict=True):
        end = min(start + step, len(counts)) - 1
        labels = f"{start}" if start == end else f"{start}-{end}"
        share = rows / page.characteristics["N"]
        bar = "#" * round(60 * rows / highest)
        lines.append(f"{labels:>9} {rows:>9,} {share:>7.2%}  {bar}")
    return lines


def _text_heading(text: str) -> list[str]:
    return [text, "-" * len(text)]


def _columns(text: str) -> int:
    """Count the columns a text takes on a terminal: wide characters take two."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _fit(name: str, width: int) -> str:
    """Pad or shorten a name to a number of columns."""
    line = one_line(name)
    if _columns(line) > width:
        while _columns(line) > width - 1:
            line = line[:-1]
        line += GAP
    return line + " " * (width - _columns(line))


# HTML.

STYLE = """
:root { color-scheme: light dark; --ink: #333; --paper: #fff; --line: #eee; --key: #0072b2; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #181818; --line: #333; --key: #6cb6ea; }
}
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { margin: 0; font-size: 1.7rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 1.8rem 0 .5rem; }
p { margin: .2rem 0; }
.columns { display: flex; flex-wrap: wrap; gap: 1.2rem 1.5rem; align-items: flex-start; }
.numbers { margin: 0; columns: 2 22rem; column-gap: 3rem; }
.numbers div { display: flex; gap: .6rem; break-inside: avoid;
  border-bottom: 1px solid var(--line); }
.numbers dt { flex: 1; }
.numbers dd { margin: 0; font-variant-numeric: tabular-nums; }
code { font-size: .92em; color: var(--key); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .1rem .7rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; overflow-wrap: anywhere; }
td.gap { opacity: .7; font-style: italic; }
figure { margin: 0 0 1rem; max-width: 100%; }
figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { max-width: 100%; height: auto; }
summary { cursor: pointer; margin: .6rem 0; }
@media print { details { display: none; } body { margin: 0; } }
"""


def _html_page(page: Description) -> str:
    ordered = _most_frequent_first(page)
    name = _escaped(page.name)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            f"<h1>{name}</h1>",
            f"<p>{html.escape(_headline(page))}</p>",
            f"<p>Features: {html.escape(_feature_sentence(page.features))}</p>",
            "<h2>Characteristics</h2>",
            _html_numbers(page),
            "<h2>Labels</h2>",
            *_html_figures(page, ordered),
            "<h2>Labels, the most frequent first</h2>",
            *_html_labels(page, ordered),
            "</body>",
            "</html>",
            "",
        ]
    )


def _html_numbers(page: Description) -> str:
    cells = "\n".join(
        f"<div><dt>{html.escape(meaning)} <code>{key}</code></dt><dd>{value}</dd></div>"
        for key, meaning, value in _numbers(page)
    )
    return f'<dl class="numbers">\n{cells}\n</dl>'


def _html_figures(page: Description, ordered: Sequence[LabelSummary]) -> list[str]:
    places = np.argsort([-label.count for label in page.labels], kind="stable")
    names = [label.name for label in ordered]
    counts = [label.count for label in ordered]
    together = page.co_occurrence[np.ix_(places, places)]
    return [
        '<div class="columns">',
        _html_figure(1, "Label frequencies", plots.label_frequencies(names, counts)),
        "<div>",
        _html_figure(2, "Labels per row", plots.labels_per_row(page.labels_per_row)),
        *_html_pairs(page),
        "</div>",
        _html_figure(
            3,
            "Labels that occur together, the most frequent first",
            plots.co_occurrence(names, together),
        ),
        "</div>",
    ]


def _html_figure(number: int, title: str, drawing: Any) -> str:
    svg = plots.to_svg(drawing, prefix=f"figure{number}", title=title)
    return f"<figure><figcaption>{title}</figcaption>\n{svg}\n</figure>"


def _html_pairs(page: Description) -> list[str]:
    pairs = [
        f"<tr><td>{_escaped(one)} + {_escaped(other)}</td><td>{count:,}</td></tr>"
        for one, other, count in _top_pairs(page)
    ]
    if not pairs:
        return ["<p>No row has two labels.</p>"]
    head = "<tr><th>labels that most often occur together</th><th>rows</th></tr>"
    return ["<table>", head, *pairs, "</table>"]


def _html_labels(page: Description, ordered: Sequence[LabelSummary]) -> list[str]:
    first, last = _ends(ordered)
    if not last:
        return _html_table(list(map(_html_row, first)))
    gap = f'<tr><td class="gap" colspan="5">{html.escape(_between(page))}</td></tr>'
    return [
        *_html_table([*map(_html_row, first), gap, *map(_html_row, last)]),
        f"<details><summary>All {len(ordered):,} labels</summary>",
        *_html_table(list(map(_html_row, ordered))),
        "</details>",
    ]


def _html_table(rows: list[str]) -> list[str]:
    head = "".join(f"<th>{t}</th>" for t in ("label", "rows", "share", "imbalance", "concurrence"))
    return ["<table>", f"<tr>{head}</tr>", *rows, "</table>"]


def _html_row(label: LabelSummary) -> str:
    cells = "".join(f"<td>{cell}</td>" for cell in _label_cells(label))
    return f"<tr><td>{_escaped(label.name)}</td>{cells}</tr>"


def _escaped(name: str) -> str:
    """Escape a name of the data, which may hold markup."""
    return html.escape(one_line(name))
