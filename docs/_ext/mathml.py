"""Formulas as MathML: browsers draw it without a script or a network, and screen readers read it."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)
UNKNOWN = {  # commands that docutils does not know, and others that look the same
    r"\\tfrac\s*(\d)\s*(\d)": r"\\frac{\1}{\2}",
    r"\\tfrac(?![a-z])": r"\\frac",
    r"\\dots(?![a-z])": r"\\ldots",
    r"\\iff(?![a-z])": r"\\Longleftrightarrow",
    r"\\[Bb]ig[lr]?(?![a-z])": "",
}


def _render(translator, node, *, as_block):
    code = node.astext()
    for command, known in UNKNOWN.items():
        code = re.sub(command, known, code)
    try:
        markup = tex2mathml(code, as_block=as_block)
    except Exception as error:
        logger.warning("formula %r cannot be drawn: %s", code, error, location=node)
        markup = f"<code>{translator.encode(code)}</code>"
    translator.body.append(f'<div class="formula">{markup}</div>' if as_block else markup)
    raise nodes.SkipNode


def visit_inline(translator, node):
    """A formula in a line."""
    _render(translator, node, as_block=False)


def visit_block(translator, node):
    """A formula on lines of its own."""
    _render(translator, node, as_block=True)


def setup(app):
    """Register the renderer that `html_math_renderer` names."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
