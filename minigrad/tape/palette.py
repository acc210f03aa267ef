"""The colors of pictures. The meaning of each color is also shown by a shape or a text."""

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
