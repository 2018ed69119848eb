"""Settings of Sphinx for the site; `make docs` builds and checks it."""

import sys
from pathlib import Path

import pairmend

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "_extensions")]

project = "pairmend"
author = "The pairmend developers"
project_copyright = author
version = release = pairmend.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # in _extensions
    "api_pages",
    "mathml",
    "repository_files",
    "study_reports",
]
exclude_patterns = [
    "_build",
    "_templates",
    "_extensions",
    "generated/backreferences",
    "generated/site",
    "generated/studies",
]
templates_path = ["_templates"]
nitpicky = True
# Other projects: their inventories would have to be downloaded.
nitpick_ignore_regex = [
    ("py:.*", r"(sklearn|scipy|numpy|pandas|distributed|datetime)\..*"),
    # in docstrings of scikit-learn's losses
    ("py:obj", "(accuracy|jaccard)_score"),
]
# Text in single backticks in docstrings is code, as in scikit-learn.
default_role = "literal"

# Pages: Markdown, as code hosts read it.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# Mathematics is MathML, made by docutils: MathJax would be loaded from the network, and TeX or
# node.js would be needed to build pictures or KaTeX.
html_math_renderer = "mathml"
myst_update_mathjax = False

# API reference: numpydoc docstrings, which have the types.
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "inherited-members": True}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "auto_examples",
    "subsection_order": [
        f"../examples/gallery/{folder}"
        for folder in ("first_steps", "decisions", "explanations", "large_data")
    ],
    "within_subsection_order": "FileNameSortKey",
    "doc_module": ("pairmend",),
    "backreferences_dir": "generated/backreferences",
    "image_scrapers": ("figures.scrape",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "pairmend"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_extra_path = ["generated/site"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"start": []}
html_theme_options = {
    "logo": {"text": "pairmend"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "icon_links": [
        {
            "name": "Source code and issues",
            "url": "https://github.com/pairmend/pairmend",
            "icon": "fa-brands fa-github",
        }
    ],
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
