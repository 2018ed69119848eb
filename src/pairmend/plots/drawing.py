"""Functions that all plots share: colours of lines and heat maps, names, axes, legends, SVG.

Names are data: they are never parsed as mathematics, and long ones are shortened.
"""

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from pairmend._utils.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FAINT = "#333333", "#D9D9D9"
BLUE, VERMILION = "#0072B2", "#D55E00"

# Okabe and Ito's palette (https://jfly.uni-koeln.de/color), changed so that each colour has a
# contrast of 3 or more on white and on #1e1e1e, as the web content accessibility guidelines 2.1
# require for figures: purple, sky blue and orange are darker, yellow is olive, and black is the
# ink, which becomes the page's text colour. The colours that are hardest to distinguish for
# colour-blind readers come last.
PALETTE = (BLUE, VERMILION, "#009E73", "#C863A0", INK, "#4399D6", "#C48A00", "#736B00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "*", "<", ">", "h")
# Five: no common factor with the eight colours, so that a repeated colour has another line.
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
CO_OCCURRENCE_COLOURS, CONFUSION_COLOURS = "YlGnBu", "Blues"
"""Colour maps of heat maps."""
# The colours of cells do not depend on the page, so neither does the colour of their text.
CELL_INK = "#222222"
LONGEST_NAME = 28
LETTER = 0.078  # inches, the width of a letter of a legend

# Ink and faint ink become the text colour of the page.
PAGE_COLOURS = {
    "#000000": "{0}: currentColor",
    INK.lower(): "{0}: currentColor",
    FAINT.lower(): "{0}: currentColor; {0}-opacity: 0.22",
}


def readable_on(colour: Any) -> str:
    """Return the text colour for a cell of a heat map."""
    red, green, blue = colour[:3]
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else CELL_INK


class Style(NamedTuple):
    """Colour, marker, line and marker size of one of several algorithms."""

    colour: str
    marker: str
    line: Any
    size: float


def style_of(number: int, n_styles: int) -> Style:
    """Return the style of one of several algorithms.

    Later markers are smaller, so that at one place none is hidden.
    """
    return Style(
        PALETTE[number % len(PALETTE)],
        MARKERS[number % len(MARKERS)],
        LINES[number % len(LINES)],
        9.0 - 3.0 * number / max(1, n_styles - 1),
    )


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a name to one line of at most `longest` characters."""
    line = one_line(name)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def to_svg(ax: "Axes", *, prefix: str, title: str) -> str:
    """Convert the figure of a plot to an SVG element for an HTML page.

    Text stays text. The element loads no other files, has no metadata, and is reproducible. It
    has no background, and its ink is the text colour of the page, so that it is readable on light
    and dark pages.

    Parameters
    ----------
    ax : matplotlib Axes
        The plot.
    prefix : str
        Prefix of the ids in the element; it must differ between the figures of a page.
    title : str
        Title of the figure for screen readers.

    Returns
    -------
    str

    Examples
    --------
    >>> from pairmend import plots
    >>> svg = plots.to_svg(plots.labels_per_row([1, 7]), prefix="per-row", title="Labels per row")
    >>> svg[:4], svg[-6:]
    ('<svg', '</svg>')
    """
    matplotlib = import_matplotlib()
    figure: Any = ax.figure
    file = io.StringIO()
    with (
        matplotlib.rc_context({"svg.hashsalt": prefix, "svg.fonttype": "none"}),
        without_glyph_warnings(),
    ):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    root = ElementTree.fromstring(file.getvalue())
    for parent in root.iter():
        for child in list(parent):
            # A style element would apply to the whole page; its two settings are inherited, so
            # they are set at the root.
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        # Inside HTML, elements and attributes of an SVG have no namespaces.
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {
            key.rpartition("}")[2]: _for_page(key.rpartition("}")[2], value, prefix)
            for key, value in element.attrib.items()
        }
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"],
        "height": root.attrib["height"],
        # Elements without a fill are black; with this they have the page's text colour.
        "style": "stroke-linejoin: round; stroke-linecap: butt; fill: currentColor",
        "role": "img",
        "aria-label": title,
    }
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False).strip()


def _for_page(key: str, value: str, prefix: str) -> str:
    """Add the prefix to ids and references, and replace ink by the page's text colour."""
    if key == "id":
        return f"{prefix}-{value}"
    if key == "href" and value.startswith("#"):
        return f"#{prefix}-{value[1:]}"
    if key == "style":
        value = re.sub(r"\b(fill|stroke): (#[0-9a-f]{6})\b", _page_colour, value)
    return value.replace("url(#", f"url(#{prefix}-")


def _page_colour(match: re.Match[str]) -> str:
    return PAGE_COLOURS.get(match[2], match[0]).format(match[1])


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Ignore glyphs that matplotlib's font lacks: the reader's fonts draw the text of an SVG."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def import_matplotlib() -> Any:
    """Import matplotlib, or raise an ImportError with the command that installs it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'pairmend[plots]'"
        ) from error
    return matplotlib


def axes_or_new(ax: "Axes | None", *, width: float, height: float) -> "Axes":
    """Return the axes, or those of a new figure without pyplot, which has global state."""
    import_matplotlib()
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def make_plain(ax: "Axes") -> None:
    """Hide the spines on top and right, and draw the others faintly."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", colors=INK, length=3)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)


def write(
    ax: "Axes", x: float, y: float, text: str, *, offset: tuple[float, float], **style: Any
) -> None:
    """Write text at an offset, in points, from a position in data coordinates."""
    ax.annotate(
        text, (x, y), xytext=offset, textcoords="offset points", parse_math=False,
        **{"fontsize": 8, "color": INK, **style},
    )  # fmt: skip


def add_legend(ax: "Axes", handles: Sequence[Any], names: Sequence[str], **place: Any) -> None:
    """Add a legend; names are neither parsed as mathematics nor hidden."""
    # Names are set afterwards: matplotlib hides those that begin with an underscore.
    legend = ax.legend(
        handles, ["name"] * len(handles), frameon=False, fontsize=9, alignment="left",
        title_fontsize=9, labelcolor=INK, **place,
    )  # fmt: skip
    legend.get_title().set_color(INK)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
