"""Every relative link and image of the built site leads to a file, and every fragment to an element."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Identifiers and references of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.targets = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, _tag, attributes):
        """Collect `id`, `name`, `href` and `src`."""
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets += [found[key] for key in ("href", "src") if found.get(key)]


def broken_links(folder):
    """(page, target) of links that lead nowhere; addresses with a scheme are not followed."""
    pages = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    for path, page in pages.items():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            lost = file not in pages and not file.exists()
            known = pages[file].ids if file in pages else None
            if lost or (
                parts.fragment and known is not None and unquote(parts.fragment) not in known
            ):
                yield path.name, target


def main():
    """Print the broken links of a folder and exit with 1 if there are any."""
    folder = Path(sys.argv[1])
    broken = sorted(set(broken_links(folder)))
    for page, target in broken:
        sys.stdout.write(f"{page}: {target}\n")
    sys.stdout.write(f"{len(broken)} broken links\n")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
