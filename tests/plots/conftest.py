"""What tests of drawings share: a check that texts can be read on their final places."""

import pytest


def shown_ticks(axis):
    low, high = sorted(axis.get_view_interval())
    ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
    labels = [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [label for label in labels if label.get_visible() and label.get_text()]


@pytest.fixture
def check_readable():
    """Check that no texts of a figure overlap or are cut off, after its layout."""

    def check(figure):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.text import Text

        FigureCanvasAgg(figure).draw()
        page = figure.bbox.padded(1)
        for ax in [*figure.axes, figure]:
            legends = [*figure.legends] if ax is figure else [ax.get_legend()]
            groups = [legend.get_texts() for legend in legends if legend]
            if ax is not figure:
                rows = shown_ticks(ax.yaxis) if ax.axison and ax.name != "polar" else []
                groups.append([*[text for text in ax.texts if text.get_text()], *rows])
                groups += [[ax.xaxis.label], [ax.yaxis.label], [ax.title]]
                groups += [[label] for label in (shown_ticks(ax.xaxis) if ax.axison else [])]
            for texts in groups:
                # Of the text itself: annotations would count their leaders.
                boxes = [Text.get_window_extent(text) for text in texts]
                assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
                whole = [text.get_window_extent() for text in texts if text.get_text()]
                assert all(page.contains(*place) for box in whole for place in box.corners())

    return check
