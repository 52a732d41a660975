"""A matplotlib figure as inline SVG for a page: small, the same each time, light and dark.

Ink becomes the colour of the page's text and white its ground, so that a picture can be read on a dark
page. What lies on an image keeps its colours: an image is the same on every page, so what is
written on it is too. Texts stay texts, in the page's font: the reader's system shapes and finds them.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

from separatrix.errors import missing_package

INKS = {"#000000": "currentColor", "#333333": "currentColor", "#ffffff": "var(--ground)"}
DARK = {"#0072b2": "var(--blue)", "#882255": "var(--wine)", "#332288": "var(--indigo)"}
FEW_PIXELS = 256  # images up to this are kept as they are, and enlarged by the reader
LEAST_SHARE, LEAST_WIDTH = 0.72, 480  # a narrow screen shrinks a picture to this, then scrolls it
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_FAMILY = re.compile(r"font-family: [^;]*;? ?")
_FONT = re.compile(r"font: ([^;]*?[\d.]+px) [^;]*")  # as matplotlib up to 3.10 writes it
_GAPS = re.compile(r"\s+")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
_STILL = re.compile(r" ?rotate\(-?0 [^)]*\)")
_ON_PAPER = "on-paper"


def clean_text(text: str) -> str:
    """The text without characters that no page may hold: each becomes a replacement character."""
    return _ILLEGAL.sub("\ufffd", text)


def draw_svg(figure: Any, name: str, *, caption: str) -> Any:
    """The figure as markup; `name` keeps its ids apart from those of other pictures of the page."""
    from markupsafe import Markup

    # a legend beside paper must have the colours that are on it
    colours = INKS if any(map(_is_paper, figure.axes)) else INKS | DARK
    root = ElementTree.fromstring(_save_svg(figure))
    _drop_what_is_not_drawn(root)
    _unpick_style(root, colours)
    _rename(root, name)
    width, height = (
        float(root.get("viewBox", "").split()[position]) * 4 / 3 for position in (2, 3)
    )
    root.attrib.pop("version", None)
    root.set("width", f"{width:.0f}")
    root.set("height", f"{height:.0f}")
    root.set("style", f"--least:{min(LEAST_SHARE * width, LEAST_WIDTH):.0f}px")
    root.set("role", "img")
    root.set("aria-label", clean_text(caption))
    return Markup(_markup(root))  # every text of it is escaped there


def _save_svg(figure: Any) -> str:
    try:
        import matplotlib
    except ImportError:
        raise missing_package("matplotlib", "report") from None
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": "separatrix",
        "image.composite_image": False,
    }
    buffer = io.StringIO()
    with matplotlib.rc_context(settings), _prepared(figure), warnings.catch_warnings():
        # the reader's system has the glyph, not the font that measures here
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        _settle(figure)
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", metadata=nothing)
    return _ILLEGAL.sub("\ufffd", buffer.getvalue())


def _settle(figure: Any) -> None:
    """Lay the figure out once for all: an engine that starts from its own result moves a little."""
    if figure.get_layout_engine() is not None:
        figure.draw_without_rendering()
        figure.set_layout_engine("none")


@contextmanager
def _prepared(figure: Any) -> Iterator[None]:
    """The figure without its ground, marked where it must keep its colours; as it was, afterwards."""
    undo: list[Any] = []

    def change(artist: Any, what: str, value: Any) -> None:
        before = getattr(artist, f"get_{what}")()
        undo.append(lambda: getattr(artist, f"set_{what}")(before))
        getattr(artist, f"set_{what}")(value)

    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if clean_text(text.get_text()) != text.get_text():
            change(text, "text", clean_text(text.get_text()))
        if not _can_be_set(text):
            change(text, "parse_math", False)
    change(figure.patch, "visible", False)
    for axes in figure.axes:
        for image in axes.images:
            if max(image.get_array().shape[:2]) <= FEW_PIXELS:
                change(image, "interpolation", "none")
        if not _is_paper(axes):
            change(axes.patch, "visible", False)
            continue
        around = {axes.xaxis, axes.yaxis, axes.title, axes._left_title, axes._right_title}
        around |= set(axes.spines.values())
        for position, artist in enumerate(axes.get_children()):
            if artist not in around:
                change(artist, "gid", f"{_ON_PAPER}{position}")
    try:
        yield
    finally:
        for step in reversed(undo):
            step()


def _can_be_set(text: Any) -> bool:
    """Whether a text is not a formula, or a valid one: a name may hold two dollars."""
    if not text.get_parse_math():
        return True
    from matplotlib.mathtext import MathTextParser

    for line in text.get_text().split("\n"):
        if line.count("$") > 1:
            try:
                MathTextParser("path").parse(line)
            except ValueError:
                return False
    return True


def _is_paper(axes: Any) -> bool:
    """Whether the ground of axes has colours of its own."""
    from matplotlib.collections import QuadMesh
    from matplotlib.contour import ContourSet

    filled = (one for one in axes.collections if isinstance(one, QuadMesh))
    contours = (one for one in axes.collections if isinstance(one, ContourSet) and one.filled)
    return bool(axes.images) or any(filled) or any(contours)


def _drop_what_is_not_drawn(root: ElementTree.Element) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if _tag(child) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        if element.text and not element.text.strip() and _tag(element) not in ("text", "tspan"):
            element.text = None
        element.tail = element.tail if element.tail and element.tail.strip() else None


def _unpick_style(element: ElementTree.Element, colours: Mapping[str, str]) -> None:
    """Colours and fonts of the page where they are not to be kept, and shorter numbers."""
    if element.get("id", "").startswith(_ON_PAPER):
        colours = {}
        element.set("fill", "#000")  # what has no colour is black there, not the page's ink
    if "style" in element.attrib:
        element.set("style", _restyle(element.attrib["style"], colours))
    for name in ("d", "x", "y", "width", "height"):
        if name in element.attrib:
            element.set(name, _LONG.sub(_shorten_number, element.attrib[name]))
    if "d" in element.attrib:
        element.set("d", _GAPS.sub(" ", element.attrib["d"]).strip())
    moved = _STILL.sub("", element.attrib.pop("transform", ""))
    if moved:
        element.set("transform", moved)
    for child in element:
        _unpick_style(child, colours)


def _restyle(style: str, colours: Mapping[str, str]) -> str:
    """A style in the page's font and colours.

    >>> _restyle("font-size: 8px; font-family: 'DejaVu Sans', serif; fill: #333333", INKS)
    'font-size: 8px; fill: currentColor'
    >>> _restyle("font: 700 8px 'DejaVu Sans', sans-serif; stroke: #ffffff", {})
    'font: 700 8px var(--font); stroke: #ffffff'
    """
    style = _FONT.sub(r"font: \1 var(--font)", _FAMILY.sub("", style))
    return _COLOUR.sub(lambda found: f"{found[1]}: {colours.get(found[2], found[2])}", style)


def _shorten_number(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")


def _rename(root: ElementTree.Element, name: str) -> None:
    """Short ids that no other picture has, and none that nothing refers to."""
    used: dict[str, str] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            targets = _REFERENCE.findall(value)
            if key.endswith("href") and value.startswith("#"):
                targets.append(value[1:])
            for target in targets:
                used.setdefault(target, f"{name}-{len(used)}")
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":
                del element.attrib["id"]
                if value in used:
                    element.set("id", used[value])
            elif key.endswith("href") and value.startswith("#"):
                element.set(key, f"#{used[value[1:]]}")
            else:
                element.set(key, _REFERENCE.sub(lambda found: f"url(#{used[found[1]]})", value))


def _markup(element: ElementTree.Element) -> str:
    """The element as HTML, without namespaces, every text escaped."""
    from markupsafe import escape

    tag = _tag(element)
    words = [tag] + [f'{_local(key)}="{escape(value)}"' for key, value in element.attrib.items()]
    inside = str(escape(element.text or "")) + "".join(_markup(child) for child in element)
    return f"<{' '.join(words)}>{inside}</{tag}>" + str(escape(element.tail or ""))


def _tag(element: ElementTree.Element) -> str:
    return _local(str(element.tag))


def _local(name: str) -> str:
    return name.rpartition("}")[2]
