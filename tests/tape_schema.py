"""The JSON schema of a tape's document, from the dataclasses in minigrad/tape/document.py.

python -m tests.tape_schema      write minigrad/tape/schema.json
"""

import json
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

import minigrad
from minigrad.tape import document

PATH = Path(minigrad.__file__).parent / "tape" / "schema.json"
BASIC = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def schema():
    """The whole schema."""
    known = {}
    root = described(document.Document, known)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": document.SCHEMA,
        **root,
        "$defs": dict(sorted(known.items())),
    }


def schema_of(kind, known):
    """The schema of a type; those of classes are added to `known`."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in BASIC:
        return {"type": BASIC[kind]}
    if origin is Annotated:
        return schema_of(args[0], known) | dict(args[1:])
    if origin is NotRequired:
        return schema_of(args[0], known)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (UnionType, Union):
        return {"anyOf": [schema_of(a, known) for a in args]}
    if origin is list:
        return {"type": "array", "items": schema_of(args[0], known)}
    if origin is dict:
        keys = {key: v for key, v in schema_of(args[0], known).items() if key != "type"}
        names = {"propertyNames": keys} if keys else {}
        return {"type": "object", **names, "additionalProperties": schema_of(args[1], known)}
    if origin is tuple or hasattr(kind, "_fields"):  # of numbers
        size = len(args or kind._fields)
        return {"type": "array", "items": {"type": "number"}, "minItems": size, "maxItems": size}
    if kind.__name__ not in known:
        known[kind.__name__] = {}  # a class may refer to itself
        known[kind.__name__] = described(kind, known)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def described(kind, known):
    """The schema of a class: a dataclass or a TypedDict."""
    hints = get_type_hints(kind, include_extras=True)
    fields = getattr(kind, "__dataclass_fields__", None)
    if fields is None:
        required = [name for name, hint in hints.items() if get_origin(hint) is not NotRequired]
    else:
        required = [name for name, f in fields.items() if "optional" not in f.metadata]
    return {
        "description": kind.__doc__.partition("\n")[0],
        "type": "object",
        "required": [name.rstrip("_") for name in required],
        "additionalProperties": False,
        "properties": {name.rstrip("_"): schema_of(t, known) for name, t in hints.items()},
    }


def written():
    """The text of schema.json."""
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(written(), encoding="utf-8")
