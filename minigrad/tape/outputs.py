"""Recognizes notebook outputs in which a widget was drawn."""

from typing import Any

ELEMENT = '<minigrad-live key="'  # the start of an output in which a widget is drawn
VIEW = "application/vnd.jupyter.widget-view+json"


def is_element(output: Any) -> bool:
    """Is this stored output the empty element in which a widget was drawn?"""
    return "".join(output.get("data", {}).get("text/html", "")).startswith(ELEMENT)
