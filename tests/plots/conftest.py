"""What tests of drawings share: texts on their final places."""

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


def shown_ticks(axis):
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [label for label in labels if label.get_visible()]


@pytest.fixture
def cut_off():
    """Return the texts of a plot that are outside of its figure, after its layout."""

    def outside(ax):
        texts = [*ax.texts, ax.xaxis.label, ax.yaxis.label, ax.title]
        if ax.axison:
            texts += [*shown_ticks(ax.xaxis), *shown_ticks(ax.yaxis)]
        if legend := ax.get_legend():
            texts += [*legend.get_texts(), legend.get_title()]
        page = ax.figure.bbox.padded(1)
        boxes = [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text()]
        return [name for name, box in boxes if not all(page.contains(*p) for p in box.corners())]

    return outside
