"""Saves the figures of an example, for sphinx-gallery."""

from typing import Any
from weakref import WeakSet

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst, matplotlib_scraper

_SAVED: WeakSet[Figure] = WeakSet()
"""Figures that the page of an example already has."""


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of pyplot, and those in variables: `pairmend.plots` does not use pyplot."""
    _SAVED.update(plt.figure(number) for number in plt.get_fignums())
    found = matplotlib_scraper(block, block_vars, gallery_conf)
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and value not in _SAVED:
            _SAVED.add(value)
            path = block_vars["image_path_iterator"].next()
            value.savefig(path, dpi=100, facecolor="white")
            paths.append(path)
    return found + figure_rst(paths, gallery_conf["src_dir"])
