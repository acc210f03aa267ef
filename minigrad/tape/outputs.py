"""Outputs of a notebook in which a widget was drawn: how they are told from pictures."""

from typing import Any

ELEMENT = '<minigrad-live key="'  # how an output begins in which a widget is drawn
VIEW = "application/vnd.jupyter.widget-view+json"


def is_element(output: Any) -> bool:
    """Is this stored output the empty one in which a widget was drawn?"""
    return "".join(output.get("data", {}).get("text/html", "")).startswith(ELEMENT)
