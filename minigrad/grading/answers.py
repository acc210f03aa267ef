"""Values as JSON, and what a student's process has sent, checked before it is used.

An answer is JSON of one of three forms,

    {"id": ..., "dtype": "<f8", "shape": [2, 3], "data": base64}
    {"id": ..., "json": ...}
    {"id": ..., "error": "ValueError: ..."}

and nothing else is one. It is never unpickled, evaluated or imported. Exactly one answer counts
for each id: more than one are worth nothing, and a note says so. No answer gives no points.
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from minigrad.grading.documents import EncodedValue

DTYPES = {f"<{kind}{size}" for kind in "fiu" for size in (2, 4, 8)} | {"|i1", "|u1", "|b1", "<f2"}
MOST_AXES, MOST_NUMBERS, MOST_JSON, MOST_DEPTH = 8, 20_000, 600_000, 8


class BadAnswer(ValueError):
    """Something that is no answer, and what is wrong with it."""


def encoded(value: object) -> EncodedValue:
    """An array as its bytes, a function as its name, other values as JSON or as a literal.

    >>> encoded(np.array([1], dtype="int8"))
    {'dtype': '|i1', 'shape': [1], 'data': 'AQ=='}
    """
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}
    if callable(value):
        return {"name": cast(Callable[..., object], value).__name__}
    if json.loads(json.dumps(value)) == value:  # not so of tuples, nor of keys that are no text
        return {"json": value}
    return {"literal": repr(value)}


def checked_answer(content: object) -> EncodedValue:
    """The answer, if it is one. Raises BadAnswer, which says what is wrong."""
    if not isinstance(content, dict) or not isinstance(content.get("id"), str):
        raise BadAnswer("it has no id")
    keys = set(content) - {"id"}
    if keys == {"error"} and isinstance(content["error"], str):
        return {"error": _clean(content["error"])}
    if keys == {"json"}:
        _small(content["json"])
        return {"json": content["json"]}
    if keys == {"dtype", "shape", "data"}:
        array_in(content)
        return {key: content[key] for key in ("dtype", "shape", "data")}  # type: ignore[return-value]
    raise BadAnswer("it has not the form of an answer")


def array_in(answer: Mapping[str, object]) -> NDArray[Any]:
    """The array that an answer holds. Raises BadAnswer if it holds none."""
    dtype, shape, data = (answer.get(key) for key in ("dtype", "shape", "data"))
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise BadAnswer("its dtype is not one of real numbers")
    if not isinstance(shape, list) or len(shape) > MOST_AXES:
        raise BadAnswer("its shape is no list of a few numbers")
    if not all(type(n) is int and 0 <= n <= MOST_NUMBERS for n in shape):
        raise BadAnswer("its shape is no list of small numbers")
    size = math.prod(shape)
    if size > MOST_NUMBERS:
        raise BadAnswer(f"it has {size} numbers; the most is {MOST_NUMBERS}")
    if not isinstance(data, str) or len(data) > 12 * MOST_NUMBERS:
        raise BadAnswer("its data are no text of that length")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise BadAnswer("its data are not base64") from None
    if len(raw) != size * np.dtype(dtype).itemsize:
        raise BadAnswer("its data do not fill its shape")
    return np.frombuffer(raw, dtype).reshape(shape)


def collect(
    contents: list[object], expected: list[str]
) -> tuple[dict[str, EncodedValue], list[str]]:
    """For each expected id its one answer, or an error; and notes on what else was said."""
    said: dict[object, list[object]] = {identity: [] for identity in expected}
    unasked = 0
    for content in contents:
        identity = content.get("id") if isinstance(content, dict) else None
        if isinstance(identity, str) and identity in said:
            said[identity].append(content)
        else:
            unasked += 1
    answers: dict[str, EncodedValue] = {}
    for identity in expected:
        of_it = said[identity]
        if len(of_it) > 1:
            answers[identity] = {"error": f"{len(of_it)} answers were given where one is asked for"}
        elif of_it:
            try:
                answers[identity] = checked_answer(of_it[0])
            except (BadAnswer, RecursionError) as error:
                answers[identity] = {"error": f"the answer cannot be used: {error}"}
    return answers, [f"{unasked} answers came that nobody asked for"] if unasked else []


def _small(value: object) -> None:
    """Refuse what is nested too deeply for a recursive function, or too long."""
    level = [value]
    for _ in range(MOST_DEPTH):
        inner = [
            v.values() if isinstance(v, dict) else v for v in level if isinstance(v, dict | list)
        ]
        level = [v for values in inner for v in values]
    if level:
        raise BadAnswer("it is nested too deeply")
    text = json.dumps(value)
    if len(text) > MOST_JSON:
        raise BadAnswer(f"it has {len(text)} characters; the most is {MOST_JSON}")


def _clean(text: str) -> str:
    """Text without control characters or halves of surrogate pairs, of a sensible length."""
    kept = "".join(c if c == "\n" or c.isprintable() else "\ufffd" for c in text[:500])
    return kept.encode("utf-8", "replace").decode()
