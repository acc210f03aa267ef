"""What a check cell runs in a kernel: evaluate the call on each case, and publish the results.

check_cell.py sends this source to the student's kernel and to the solution's, where it runs in a namespace
of its own. It uses only NumPy, IPython and the standard library. Cases are independent: an exception becomes
the error of its case. The call gets copies of the inputs, which are published after the call, so that
in-place changes are detected.
"""

import ast
import base64
import traceback
from collections.abc import Collection
from typing import Any

import numpy
from IPython.display import display


def publish_results(spec: dict[str, Any], mime: str, names: dict[str, Any]) -> None:
    """Evaluate the call on each case, with these global names, and publish the results."""

    def publish(what: str, content: dict[str, object]) -> None:
        display({mime: {"id": f"{spec['id']}/{what}", **content}}, raw=True)

    helpers: dict[str, Any] = {}
    exec(spec["helpers"], helpers)
    for number, case in enumerate(spec["cases"], 1):
        inputs = {name: _decoded(value, names) for name, value in case.items()}
        for name, value in inputs.items():
            if isinstance(value, numpy.ndarray) and value.ndim == 0 and not spec["kept"]:
                inputs[name] = value[()]  # a number: f"{x:.2f}" works
        before = {n: repr(v) for n, v in inputs.items() if isinstance(v, list | dict)}
        results = spec["results"]
        error = None
        try:
            value = eval(spec["call"], {**names, **helpers, **inputs})
            values = [value] if len(results) == 1 else value
            error = _misfit(value, results, spec["kept"]) if len(results) > 1 else None
            for name in before if spec["kept"] else ():
                if repr(inputs[name]) != before[name]:
                    error = f"{name} was changed in place; compute with a copy instead"
        except BaseException as caught:
            # its frames may hold nearly all memory, and reporting the error needs some
            traceback.clear_frames(caught.__traceback__)
            error = f"{type(caught).__name__}: {str(caught)[:480]}".rstrip(": ")
            if error == "NotImplementedError":
                error = "not written yet: NotImplementedError"
        for k, result in enumerate(results):
            content: dict[str, object] = {"error": error}
            if error is None:
                try:
                    content = _encoded(values[k])
                except BaseException as caught:
                    content = {"error": f"not a result that can be read: {str(caught)[:200]}"}
            publish(f"{number}/{result}", content)
        for name, value in inputs.items():
            if isinstance(value, numpy.ndarray | numpy.generic):
                publish(f"{number}/input {name}", _encoded(value))


def _misfit(value: Any, results: list[str], strict: bool) -> str | None:
    """Why the value cannot be unpacked into these results; None if it can.

    strict    count an array as one result, as exercises do; an author's own check unpacks its rows
    """
    if value is None:
        return "None instead of an answer: does the function end with a return?"
    rows = not strict and isinstance(value, numpy.ndarray) and value.ndim > 0
    n = len(value) if rows or isinstance(value, tuple | list) else 1
    if n != len(results):
        return f"{n} value{'s' * (n != 1)} instead of {len(results)}: {', '.join(results)}"
    return None


def _decoded(value: dict[str, Any], names: dict[str, Any]) -> object:
    """Decode a value from JSON. A function is looked up among the names."""
    if "json" in value:
        return value["json"]
    if "literal" in value:
        return ast.literal_eval(value["literal"])
    if "name" in value:
        return names[value["name"]]
    raw = numpy.frombuffer(base64.b64decode(value["data"]), value["dtype"])
    return raw.reshape(value["shape"]).copy()


def _encoded(value: Any) -> dict[str, object]:
    """Encode a value as JSON."""
    if hasattr(value, "detach"):
        value = value.detach().numpy()
    if value is None:
        return {"json": None}
    if value is ...:
        return {"error": "not written yet"}
    try:
        array = numpy.asarray(value)
        if array.dtype.kind in "fiub":
            if array.size > 20000:
                return {"error": f"an array of {array.size} numbers; the most is 20000"}
            here = array.dtype.newbyteorder("<") if array.dtype.itemsize <= 8 else "<f8"
            array = numpy.ascontiguousarray(array, here).reshape(array.shape)
            data = base64.b64encode(array.tobytes()).decode()
            return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}
    except ValueError:
        pass
    return {"json": _plain(value)}


def _plain(value: object, depth: int = 0) -> object:
    """The value, made of JSON's types."""
    if depth > 6:
        raise TypeError("it is nested too deeply")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, str):  # numpy.str_, which would be taken for a list of letters
        return str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(v, depth + 1) for v in value), key=repr)
    if isinstance(value, Collection):
        return [_plain(v, depth + 1) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), depth + 1)
    raise TypeError("an object of type " + type(value).__name__)
