"""Names in the text of Markdown pages become links to their reference; code ends with its last line."""

import importlib
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

LINKS = (nodes.title, nodes.reference, addnodes.pending_xref)
PACKAGES = ("separatrix", "separatrix.kernels", "separatrix.plots")
OTHERS = ("sklearn.", "numpy.")
OF_SKLEARN = {"accel"}  # pages whose `SVC` is scikit-learn's
OTHER_NAMES = {
    name.rpartition(".")[2]: name
    for name in (
        "separatrix.kernels.gram.make_gram",
        "separatrix.kernels.gram.SharedProducts",
        "separatrix.data.read_table.read_table",
        "separatrix.data.deformed.DeformedDigits",
    )
}


def public_names():
    """Full name of every public name, by its short name."""
    found = {}
    for package in PACKAGES:
        for name in importlib.import_module(package).__all__:
            found.setdefault(name, f"{package}.{name}")
    return found | OTHER_NAMES


def _is_inside(node, kinds):
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


class LinkNames(SphinxTransform):
    """Replace `SVC` by a link to its page, outside of headings and links."""

    default_priority = 400

    def apply(self, **_options):
        page = Path(self.env.doc2path(self.env.docname))
        if page.suffix != ".md" or page.stem in OF_SKLEARN:
            return
        names = public_names()
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            target = text if text.startswith(OTHERS) else names.get(text)
            if target is None or _is_inside(literal, LINKS):
                continue
            link = addnodes.pending_xref(
                "", refdomain="py", reftype="obj", reftarget=target, refdoc=self.env.docname
            )
            literal.replace_self(link)
            link += literal


class TrimCode(SphinxTransform):
    """Remove the empty line that ends an example for the doctests."""

    default_priority = 400

    def apply(self, **_options):
        for block in self.document.findall(nodes.literal_block):
            text = block.astext()
            if text != text.rstrip("\n"):
                block.children = []
                block += nodes.Text(text.rstrip("\n"))
                block.rawsource = text.rstrip("\n")


def setup(app):
    """Register the transforms."""
    app.add_transform(LinkNames)
    app.add_transform(TrimCode)
    return {"parallel_read_safe": True}
