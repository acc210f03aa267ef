"""The style of pictures: their colors, and the width of text.

The meaning of each color is also shown by a shape or a text. Widths are the same on every machine,
because no installed font is used.
"""

import unicodedata

# Okabe and Ito, Color universal design (2008), each with a tint and a text color.
FORWARD, FORWARD_TINT = "#E69F00", "#FFF6E0"
BACKWARD, BACKWARD_TINT, BACKWARD_INK = "#56B4E9", "#E6F4FC", "#0B5A8A"
LEAF = "#0072B2"
SECOND, SECOND_TINT = "#CC79A7", "#FAEEF4"  # computed by a backward pass, under create_graph
ERROR, ERROR_TINT = "#D55E00", "#FDEBDD"
INK, FAINT, LINE = "#1A1A1A", "#5F6670", "#8A929C"


def _mixed(color: str, share: float) -> str:
    """A color mixed with white."""
    parts = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(255 + (part - 255) * share):02X}" for part in parts)


# The colors of a heat map, by its characters (thumbnail.py): 0 to 9, and -1 to -9 as A to I.
HEAT = {str(k): _mixed(FORWARD, k / 9) for k in range(10)}
HEAT |= {chr(ord("@") + k): _mixed(LEAF, k / 9) for k in range(1, 10)}


# ---------------------------------------------------------------------- the width of text

# Widths of DejaVu Sans, in thousandths of the font size. It is the widest of the
# common sans-serif fonts, so text in another font also fits in its box.
_WIDTHS = {
    278: "ijl", 295: "IJ", 318: " ,.", 337: ":;/\\|", 352: "f", 361: "-", 392: "t()[]", 411: "r",
    500: "_*'\"!", 521: "s", 525: "z", 550: "c", 580: "kL", 592: "vxyF", 615: "aeoT",
    636: "bdghnpqu0123456789$#?E{}", 690: "PVXYZSRBKA", 770: "CDHGNU", 800: "OQ", 838: "w+<>=~^&",
    870: "M", 980: "mW@%",
}  # fmt: skip
_WIDTH_OF = {c: width for width, characters in _WIDTHS.items() for c in characters}
MONOSPACE = 602


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """The width of a text in pixels, the same on every machine.

    size     the font size in pixels
    mono     for a fixed-width font

    >>> text_width("mm", 10)
    19.6
    """
    total = 0
    for c in text:
        if unicodedata.combining(c):
            continue
        if unicodedata.east_asian_width(c) in "WF":
            total += 1000
        else:
            total += MONOSPACE if mono else _WIDTH_OF.get(c, 690)
    if bold and not mono:
        total = total * 11 // 10
    return round(total * size / 1000, 1)
