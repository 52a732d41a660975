"""Rows of benchmarks/RESULTS.md on a page, so that its figures are those of the last measurement.

    ```{measured}
    usps_grid: USPS grid of 240 fits
    mnist_10k: dual objective => SVC on 10,000 rows of MNIST: dual objective
    ```

A line names a section and how the name of its row begins; after =>, what to call it on the page.
"""

from benchmark_pages import family_of
from benchmark_tables import RESULTS, find_row, read_sections
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective


def as_table(lines, root=""):
    """The rows as a table in Markdown; `root` leads from the page to docs/."""
    sections = dict(read_sections(RESULTS.read_text(encoding="utf-8")))
    table = ["| task | separatrix | peer | ratio |", "|---|---|---|---|"]
    for line in lines:
        section, (what, ours, peer, ratio, _) = find_row(sections, line)
        name = f"[{what}]({root}benchmarks/{family_of(section)}.md#{section.replace('_', '-')})"
        table.append(f"| {name} | {ours} | {peer} | {ratio} |")
    return table


class Measured(SphinxDirective):
    """A table of the rows that the content names."""

    has_content = True

    def run(self):
        """Parse the table as Markdown."""
        self.env.note_dependency(str(RESULTS))
        root = "../" * self.env.docname.count("/")
        lines = [line for line in self.content if line.strip()]
        try:
            table = as_table(lines, root)
        except ValueError as error:
            raise self.error(str(error)) from None
        return self.parse_content_to_nodes_of(table)

    def parse_content_to_nodes_of(self, table):
        """Nodes of lines of Markdown."""
        self.content = StringList(table, source=self.env.docname)
        return self.parse_content_to_nodes()


def setup(app):
    """Register the directive."""
    app.add_directive("measured", Measured)
    return {"parallel_read_safe": True}
