"""A compact form of the document for the inspector's script, without default values."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

MANY_STEPS = 400  # in a longer tape, a step's sentence replaces those of its details
SAID_ANYWAY = ("hook", "accumulate", "error", "seed", "failed")


def packed(found: Document) -> Document:
    """The document for the inspector's script, without empty and default entries."""
    brief = len(found["steps"]) > MANY_STEPS
    slim = dict(found)
    slim["nodes"] = [_packed_node(n) for n in found["nodes"]]
    slim["edges"] = [_packed(e, {"version": 0, "output": 0}) for e in found["edges"]]
    slim["values"] = [_packed(v, {"nan": 0, "inf": 0}) for v in found["values"]]
    slim["steps"] = []
    for step in found["steps"]:
        details = []
        for d in step["details"]:
            if d["event"] == "op" or (brief and d["event"] not in SAID_ANYWAY):
                d = d | {"text": ""}
            details.append(_packed(d, {"node": step.get("node")}))
        slim["steps"].append(_packed(step) | {"details": details})
    return slim


def _packed(item: dict[str, Any], usual: dict[str, Any] | None = None) -> dict[str, Any]:
    """The item without its empty and default entries."""

    def says_nothing(k: str, v: Any) -> bool:
        if k == "shape":  # the empty shape of a number is information
            return v is None
        if v is None or v is False or (isinstance(v, list | dict | str) and not v):
            return True
        return usual is not None and k in usual and usual[k] == v

    return {k: v for k, v in item.items() if not says_nothing(k, v)}


def _packed_node(node: dict[str, Any]) -> dict[str, Any]:
    slim = _packed(node, {"version": 0, "versions": 1, "hooks": 0})
    slim["inputs"] = [_packed(i, {"output": 0, "version": 0}) for i in node["inputs"]]
    slim["saved"] = [_packed(s) for s in node["saved"]]
    return slim
