"""The check of a question. Its source runs as a cell, in the student's kernel and in the solution's.

Therefore each function imports what it needs, and annotations that need an import are strings.
Cases are independent: an exception becomes the error of its case. The call gets copies of the
inputs, which are published after the call, so that in-place changes are detected.
"""

from collections.abc import Callable
from inspect import getsource
from typing import Any

MIME = "application/vnd.minigrad.answer+json"


def __minigrad_decoder() -> "Callable[[dict[str, Any]], object]":
    """Return the function that decodes a value from JSON."""
    import ast
    import base64

    import numpy

    def decoded(value: "dict[str, Any]") -> object:
        if "json" in value:
            return value["json"]
        if "literal" in value:
            return ast.literal_eval(value["literal"])
        if "name" in value:
            return globals()[value["name"]]
        raw = numpy.frombuffer(base64.b64decode(value["data"]), value["dtype"])
        return raw.reshape(value["shape"]).copy()

    return decoded


def __minigrad_encoder() -> "Callable[[Any], dict[str, object]]":
    """Return the function that encodes a value as JSON."""
    import base64

    import numpy

    def plain(value: object, depth: int = 0) -> object:
        if depth > 6:
            raise TypeError("it is nested too deeply")
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, dict):
            return {str(k): plain(v, depth + 1) for k, v in value.items()}
        if isinstance(value, (set, frozenset)):
            return sorted((plain(v, depth + 1) for v in value), key=repr)
        if isinstance(value, (list, tuple)):
            return [plain(v, depth + 1) for v in value]
        if hasattr(value, "tolist"):
            return plain(value.tolist(), depth + 1)
        raise TypeError("an object of type " + type(value).__name__)

    def encoded(value: "Any") -> dict[str, object]:
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
                    return {"error": f"an array of {array.size} numbers"}
                here = array.dtype.newbyteorder("<") if array.dtype.itemsize <= 8 else "<f8"
                array = numpy.ascontiguousarray(array, here).reshape(array.shape)
                data = base64.b64encode(array.tobytes()).decode()
                return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}
        except ValueError:
            pass
        return {"json": plain(value)}

    return encoded


def __minigrad_check(asked: "dict[str, Any]", mime: str, decoded: "Any", encoded: "Any") -> None:
    """Evaluate the call on each case, and publish the results."""
    import traceback

    import numpy
    from IPython.display import display

    def publish(what: str, content: "dict[str, object]") -> None:
        display({mime: {"id": f"{asked['id']}/{what}", **content}}, raw=True)

    helpers: dict[str, Any] = {}
    exec(asked["helpers"], helpers)
    for number, case in enumerate(asked["cases"], 1):
        inputs = {name: decoded(value) for name, value in case.items()}
        before = {n: repr(v) for n, v in inputs.items() if isinstance(v, (list, dict))}
        results = asked["results"]
        error = None
        try:
            value = eval(asked["call"], {**globals(), **helpers, **inputs})
            values = [value] if len(results) == 1 else value
            if len(results) > 1 and not (
                isinstance(value, (tuple, list)) and len(value) == len(results)
            ):
                names = ", ".join(results)
                error = f"{len(results)} results are asked for, {names}; this is not a tuple of that length"
            for name in before if asked["kept"] else ():
                if repr(inputs[name]) != before[name]:
                    error = f"{name} was changed in place; compute with a copy instead"
        except BaseException as caught:
            # its frames may hold nearly all memory, and reporting the error needs some
            traceback.clear_frames(caught.__traceback__)
            error = f"{type(caught).__name__}: {str(caught)[:300]}".rstrip(": ")
            if error == "NotImplementedError":
                error = "not written yet: NotImplementedError"
        for k, result in enumerate(results):
            content: dict[str, object] = {"error": error}
            if error is None:
                try:
                    content = encoded(values[k])
                except BaseException as caught:
                    content = {"error": f"not a result that can be read: {str(caught)[:200]}"}
            publish(f"{number}/{result}", content)
        arrays = {n: v for n, v in inputs.items() if isinstance(v, numpy.ndarray)}
        for name, value in arrays.items():
            publish(f"{number}/input {name}", encoded(value))


def cell_of(asked: dict[str, object]) -> str:
    """The source of the cell. It deletes the helper functions when it is done."""
    functions = (__minigrad_decoder, __minigrad_encoder, __minigrad_check)
    made = "__minigrad_decoder(), __minigrad_encoder()"
    call = f"__minigrad_check({asked!r}, {MIME!r}, {made})"
    forget = f"del {', '.join(function.__name__ for function in functions)}"
    sources = [getsource(function) for function in functions]
    return "\n\n".join([*sources, f"{call}\n{forget}"])
