"""A figure as one SVG element of a page: small, the same bytes every time, in the page's colours and font."""

import io
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def element(
    figure: "Figure",
    label: str,
    name: str,
    style: dict[Any, Any],
    colours: Mapping[str, str],
    attributes: Mapping[str, str] | None = None,
) -> str:
    """A figure as an SVG element, drawn with settings of matplotlib, its text in the page's font.

    `label` describes it to those who cannot see it; identifiers begin with `name`, different for every picture of a
    page; `colours` has what stands in the page for a colour of the figure, such as ``currentColor``.
    """
    import matplotlib as mpl

    content = io.BytesIO()
    with mpl.rc_context({**style, "svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(content, format="svg")
    root = ElementTree.fromstring(content.getvalue())
    used = set(re.findall(r"""["(]#([\w-]+)""", content.getvalue().decode()))
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.endswith(("}metadata", "}style")):  # who made it and when; rules for the whole page
                parent.remove(child)
    for part in root.iter():
        _simplify(part, name, used, colours)
    view = {"viewBox": root.get("viewBox", ""), "role": "img", "aria-label": label}
    root.attrib.clear()
    root.attrib |= view | {"stroke-linejoin": "round"} | dict(attributes or {})
    return ElementTree.tostring(root, encoding="unicode")


def _simplify(element: ElementTree.Element, name: str, used: set[str], colours: Mapping[str, str]) -> None:
    """Drop namespaces, unused identifiers, fonts and digits too many, and put the page's colours."""
    element.tag = element.tag.rpartition("}")[2]
    element.text, element.tail = (element.text or "").strip() or None, None
    attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    if attributes.get("id") in used:
        attributes["id"] = f"{name}-{attributes['id']}"
    else:
        attributes.pop("id", None)
    for key, value in attributes.items():
        if key == "style":
            value = ";".join(filter(None, (_declaration(part, colours) for part in value.split(";"))))
        elif key in ("d", "x", "y", "width", "height", "transform"):
            value = " ".join(re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.2f}", value).split())
        attributes[key] = re.sub(r"^#|(?<=url\()#", f"#{name}-", value)
    element.attrib.clear()
    element.attrib |= attributes


def _declaration(text: str, colours: Mapping[str, str]) -> str:
    """One declaration of a style: the page's word for a colour, the size only of a font."""
    key, _, value = (part.strip() for part in text.partition(":"))
    if key in ("font", "font-family"):
        return "".join(f"font-size:{size}" for size in re.findall(r"[\d.]+px", value)[:1])
    return f"{key}:{colours.get(value.lower(), value)}" if key else ""
