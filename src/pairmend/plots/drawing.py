"""What the drawings share: colours, names, axes, legends, and the way to SVG.

Names are data: they are drawn as they are, never read as mathematics, and shortened where they
are long.
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

# Okabe and Ito's palette (https://jfly.uni-koeln.de/color), bent so that each colour has a
# contrast of 3 or more on white as well as on #1e1e1e, which is what the web content
# accessibility guidelines 2.1 ask of figures: purple, sky blue and orange are darker, yellow is
# olive, and black is the ink, which follows the page. The ones that colour-blind readers confuse
# most come last.
PALETTE = (BLUE, VERMILION, "#009E73", "#C863A0", INK, "#4399D6", "#C48A00", "#736B00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "*", "<", ">", "h")
# As many as share no factor with the colours: so what repeats a colour has another line.
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
LONGEST_NAME = 28
LETTER = 0.078  # inches, the width of a letter of a legend

# Ink and faint ink as a page sees them: its text colour, whatever that is.
PAGE_COLOURS = {
    "#000000": "{0}: currentColor",
    INK.lower(): "{0}: currentColor",
    FAINT.lower(): "{0}: currentColor; {0}-opacity: 0.22",
}


class Style(NamedTuple):
    """How one of several algorithms looks: told apart by colour, and without it."""

    colour: str
    marker: str
    line: Any
    size: float


def style_of(number: int, n_styles: int) -> Style:
    """Choose the looks of one of several algorithms.

    Later ones are smaller, so that of several at one place none is hidden.
    """
    return Style(
        PALETTE[number % len(PALETTE)],
        MARKERS[number % len(MARKERS)],
        LINES[number % len(LINES)],
        9.0 - 3.0 * number / max(1, n_styles - 1),
    )


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Bring a name to one line of at most so many characters."""
    line = one_line(name)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def to_svg(ax: "Axes", *, prefix: str, title: str) -> str:
    """Turn the figure of a drawing into an SVG element that can stand inside an HTML page.

    Text stays text. The element loads nothing, has no metadata, and is the same each time. It
    has no background, and its ink is the text colour of the page, so that it can be read on a
    light page as on a dark one.

    Parameters
    ----------
    ax : matplotlib Axes
        The drawing.
    prefix : str
        What the ids in the element begin with; ids of several figures of a page must differ.
    title : str
        What a screen reader says of the figure.

    Returns
    -------
    str

    Examples
    --------
    >>> from pairmend import plots
    >>> svg = to_svg(plots.labels_per_row([1, 7]), prefix="per-row", title="Labels per row")
    >>> svg[:4], svg[-6:]
    ('<svg', '</svg>')
    """
    matplotlib = matplotlib_or_advice()
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
            # A style element would rule the whole page it stands in; its two settings are
            # inherited, so the root can hold them as well.
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        # Inside HTML, elements of an SVG carry no namespaces, and "href" is plain.
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {
            key.rpartition("}")[2]: _for_page(key.rpartition("}")[2], value, prefix)
            for key, value in element.attrib.items()
        }
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"],
        "height": root.attrib["height"],
        # What has no fill of its own is black to matplotlib: here it is the page's ink.
        "style": "stroke-linejoin: round; stroke-linecap: butt; fill: currentColor",
        "role": "img",
        "aria-label": title,
    }
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=False).strip()


def _for_page(key: str, value: str, prefix: str) -> str:
    """Rename an id or what refers to one, and take ink from the page."""
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
    """Let the reader's own fonts write the text: what matplotlib's font lacks is no matter."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def matplotlib_or_advice() -> Any:
    """Import matplotlib, or say how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'pairmend[plots]'"
        ) from error
    return matplotlib


def axes_or_new(ax: "Axes | None", *, width: float, height: float) -> "Axes":
    """Make a figure if there is none, outside pyplot: nothing global, nothing to close."""
    matplotlib_or_advice()
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def make_plain(ax: "Axes") -> None:
    """Leave of the frame what is needed."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(which="both", colors=INK, length=3)
    ax.xaxis.label.set_color(INK)
    ax.yaxis.label.set_color(INK)


def write(
    ax: "Axes", x: float, y: float, text: str, *, offset: tuple[float, float], **style: Any
) -> None:
    """Write beside a point, at a distance in points whatever the scale of the axes."""
    ax.annotate(
        text, (x, y), xytext=offset, textcoords="offset points", parse_math=False,
        **{"fontsize": 8, "color": INK, **style},
    )  # fmt: skip


def add_legend(ax: "Axes", handles: Sequence[Any], names: Sequence[str], **place: Any) -> None:
    """Explain what is drawn; the names may begin or look like anything."""
    # Names that begin with an underscore would be left out: so they are set afterwards.
    legend = ax.legend(
        handles, ["name"] * len(handles), frameon=False, fontsize=9, alignment="left",
        title_fontsize=9, labelcolor=INK, **place,
    )  # fmt: skip
    legend.get_title().set_color(INK)
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
