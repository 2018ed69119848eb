"""Mathematics as MathML, which browsers show without scripts; docutils converts it."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _to_mathml(node: nodes.Element, *, as_block: bool) -> str:
    """Return MathML; what docutils cannot convert is a warning, which fails the build."""
    try:
        return str(tex2mathml(node.astext(), as_block=as_block))
    except MathError as error:
        logger.warning("%s: %s", error, node.astext(), location=node)
        return ""


def inline(translator: Any, node: nodes.math) -> None:
    """Write mathematics in a line of text."""
    translator.body.append(_to_mathml(node, as_block=False))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write mathematics between paragraphs."""
    translator.body.append(f'<div class="formula">{_to_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer `mathml`, for the setting html_math_renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
