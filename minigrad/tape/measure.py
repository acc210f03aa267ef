"""The width of a text, the same on every machine: it does not use installed fonts."""

import unicodedata

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
