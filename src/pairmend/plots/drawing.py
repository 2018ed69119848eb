"""Functions that all plots share: colours, names, axes, legends, SVG.

Names are data: they are never parsed as mathematics, and long ones are shortened.
"""

import io
import re
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from html import escape
from typing import Any, ParamSpec, TypeVar

from pairmend._utils.optional import require
from pairmend._utils.text import one_line

P = ParamSpec("P")
R = TypeVar("R")

INK, FAINT = "#333333", "#D9D9D9"
BLUE, VERMILION = "#0072B2", "#D55E00"

# Okabe and Ito's palette (https://jfly.uni-koeln.de/color), changed so that each colour has a
# contrast of 3 or more on white and on #1e1e1e, as the web content accessibility guidelines 2.1
# require for figures: purple, sky blue and orange are darker, yellow is olive, and black is the
# ink, which depends on the page. The colours that are hardest to distinguish for colour-blind
# readers come last.
PALETTE = (BLUE, VERMILION, "#009E73", "#C863A0", INK, "#4399D6", "#C48A00", "#736B00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "p", "*", "<", ">", "h")
# Five: no common factor with the eight colours, so that a repeated colour has another line.
LINES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)))
# The colours of cells do not depend on the page, so neither does the colour of their text.
CELL_INK = "#222222"
LONGEST_NAME = 28
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "font.size": 9,
    "grid.color": FAINT,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # journals refuse Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "pairmend",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": INK,
    "ytick.color": INK,
}
"""Parameters of matplotlib for all plots."""
PAGE_STYLE = (
    "<style>svg{color:#333;fill:currentColor;stroke-linejoin:round;stroke-linecap:butt}"
    "text{font-family:system-ui,sans-serif!important}"
    "@media(prefers-color-scheme:dark){svg{color:#e3e5e8}}</style>"
)
"""Style of an SVG: its ink is light where the reader prefers dark pages."""


def readable_on(colour: Any) -> str:
    """Return the text colour for a cell of a heat map."""
    red, green, blue = colour[:3]
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else CELL_INK


def style_of(number: int, n_styles: int) -> dict[str, Any]:
    """Return the line and the marker of one of several algorithms.

    Later markers are smaller, so that at one place none is hidden.
    """
    return {
        "color": PALETTE[number % len(PALETTE)],
        "marker": MARKERS[number % len(MARKERS)],
        "ls": LINES[number % len(LINES)],
        "ms": 9.0 - 3.0 * number / max(1, n_styles - 1),
        "lw": 1.4,
        "mew": 0,
    }


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """Shorten a name to one line of at most `longest` characters."""
    line = one_line(str(name))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw with the style of all plots; names are never parsed as mathematics."""

    @wraps(draw)
    def drawn(*args: P.args, **kwargs: P.kwargs) -> R:
        require("drawing", "matplotlib")
        import matplotlib

        with matplotlib.rc_context(STYLE), warnings.catch_warnings():
            # The reader's fonts draw the text of an SVG.
            warnings.filterwarnings("ignore", message="Glyph .* missing from font")
            return draw(*args, **kwargs)

    return drawn


@styled
def to_svg(ax: Any, *, title: str) -> str:
    """Convert the figure of a plot to an SVG image.

    Text stays text. The image loads no other files, has no date, and is reproducible. It has no
    background, and its ink is dark or light as the reader prefers.

    Parameters
    ----------
    ax : matplotlib Axes
        The plot.
    title : str
        Title of the image for screen readers.

    Returns
    -------
    str

    Examples
    --------
    >>> from pairmend import plots
    >>> svg = plots.to_svg(plots.critical_difference({"LPW": 1.8, "FCM": 1.2}, 0.8), title="Ranks")
    >>> svg[:4], svg.strip()[-6:]
    ('<svg', '</svg>')
    """
    figure: Any = ax.figure
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r" <metadata>.*?</metadata>\n", "", svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"<style.*?</style>", PAGE_STYLE, svg, count=1, flags=re.DOTALL)
    svg = re.sub(r"\b(fill|stroke): #(?:333333|000000)\b", r"\1: currentColor", svg)
    svg = re.sub(rf"\b(fill|stroke): {FAINT.lower()}\b", r"\1: currentColor; \1-opacity: 0.22", svg)
    name = escape(one_line(title))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def new_figure(width: float, height: float) -> Any:
    """Return a new figure without pyplot, which has global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """Return the axes, or those of a new figure."""
    return new_figure(width, height).subplots() if ax is None else ax


def name_rows(ax: Any, names: Sequence[str]) -> None:
    """Name the rows of a plot, the first on top."""
    ax.set_yticks(range(len(names)), [short(name) for name in names])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.5, -0.5)


def add_legend(on: Any, handles: Sequence[Any], names: Sequence[str], **place: Any) -> None:
    """Add a legend to axes, on their right, or to a figure."""
    beside = {} if "loc" in place else {"loc": "center left", "bbox_to_anchor": (1.02, 0.5)}
    legend = on.legend(handles, ["name"] * len(handles), alignment="left", **beside, **place)
    # Names are set afterwards: matplotlib hides those that begin with an underscore.
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(short(name))
