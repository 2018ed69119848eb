"""Files of figures: SVG as on the page, and PDF."""

import io
from collections.abc import Iterable

from pairmend.plots.drawing import INK, import_matplotlib, without_glyph_warnings
from pairmend.report.figures import Figure


def figure_files(figures: Iterable[Figure]) -> dict[str, bytes]:
    """Return the contents of an SVG and a PDF file for each figure, by file name."""
    files = {}
    for figure in figures:
        files[f"{figure.id}.svg"] = _svg(figure)
        files[f"{figure.id}.pdf"] = _pdf(figure)
    return files


def _svg(figure: Figure) -> bytes:
    # On its own, the drawing has no page whose text colour it could take.
    start = f'<svg xmlns="http://www.w3.org/2000/svg" color="{INK}" '
    return (start + figure.svg.removeprefix("<svg ") + "\n").encode()


def _pdf(figure: Figure) -> bytes:
    matplotlib = import_matplotlib()
    file = io.BytesIO()
    # Type 42: journals refuse Type 3. Without dates the same study has the same files.
    with matplotlib.rc_context({"pdf.fonttype": 42}), without_glyph_warnings():
        figure.drawing.figure.savefig(file, format="pdf", metadata={"CreationDate": None})
    return file.getvalue()
