"""What tests of drawings share: texts on their final places, and contrasts."""

import numpy as np
import pytest


@pytest.fixture
def drawn():
    """Lay out a figure with a renderer that measures texts."""

    def draw(ax):
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        FigureCanvasAgg(ax.figure).draw()
        return ax

    return draw


@pytest.fixture
def texts_overlap():
    """Return whether any two texts of a plot overlap, after its layout."""

    def overlap(texts):
        from matplotlib.text import Text

        # Of the text itself: annotations would count their leaders.
        boxes = [Text.get_window_extent(text) for text in texts if text.get_text()]
        return any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])

    return overlap


@pytest.fixture
def cut_off():
    """Return the texts of a plot that are outside of its figure, after its layout."""

    def shown_ticks(axis):
        low, high = sorted(axis.get_view_interval())
        ticks = axis.get_major_ticks()
        return [label for t in ticks if low <= t.get_loc() <= high for label in (t.label1, t.label2)
                if label.get_visible()]  # fmt: skip

    def outside(ax):
        legend = ax.get_legend()
        texts = [
            *ax.texts, ax.xaxis.label, ax.yaxis.label, ax.title,
            *(tick for axis in (ax.xaxis, ax.yaxis) if ax.axison for tick in shown_ticks(axis)),
            *((*legend.get_texts(), legend.get_title()) if legend else []),
        ]  # fmt: skip
        width, height = ax.figure.bbox.size
        found = []
        for text in texts:
            box = text.get_window_extent()
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
            if text.get_text() and not inside:
                found.append(text.get_text())
        return found

    return outside


@pytest.fixture
def contrast():
    """Contrast ratio as the web content accessibility guidelines 2.1 define it."""

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return np.dot((0.2126, 0.7152, 0.0722), linear)

    def ratio(one, other):
        dark, light = sorted([luminance(one), luminance(other)])
        return (light + 0.05) / (dark + 0.05)

    return ratio
