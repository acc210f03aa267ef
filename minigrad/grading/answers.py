"""Encode values as JSON, and validate the answers that a student's process sends.

An answer is a JSON object in one of three forms,

    {"id": ..., "dtype": "<f8", "shape": [2, 3], "data": base64}
    {"id": ..., "json": ...}
    {"id": ..., "error": "ValueError: ..."}

and anything else is rejected. It is never unpickled, evaluated or imported. Each id must be
answered exactly once: an id with several answers gets no points and a note, an id without an
answer gets no points.
"""

import base64
import binascii
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from minigrad.grading.documents import Answers, EncodedValue
from minigrad.grading.files import clean_text

DTYPES = {f"<{kind}{size}" for kind in "fiu" for size in (2, 4, 8)} | {"|i1", "|u1", "|b1"}
MAX_AXES, MAX_NUMBERS, MAX_JSON, MAX_DEPTH = 8, 20_000, 600_000, 8


class BadAnswer(ValueError):
    """A document that is not a valid answer; the message says why."""


def encoded(value: object) -> EncodedValue:
    """Encode an array by its bytes, a function by its name, other values as JSON or a literal.

    >>> encoded(np.array([1], dtype="int8"))
    {'dtype': '|i1', 'shape': [1], 'data': 'AQ=='}
    """
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
        return {"dtype": array.dtype.str, "shape": list(array.shape), "data": data}
    if callable(value):
        return {"name": cast(Callable[..., object], value).__name__}
    if json.loads(json.dumps(value)) == value:  # false for tuples and non-string keys
        return {"json": value}
    return {"literal": repr(value)}


def checked_answer(content: object) -> EncodedValue:
    """Validate an answer and return it without its id. Raises BadAnswer if it is not valid."""
    if not isinstance(content, dict) or not isinstance(content.get("id"), str):
        raise BadAnswer("it has no id")
    keys = set(content) - {"id"}
    if keys == {"error"} and isinstance(content["error"], str):
        return {"error": clean_text(content["error"], 500)}
    if keys == {"json"}:
        _check_size(content["json"])
        return {"json": content["json"]}
    if keys == {"dtype", "shape", "data"}:
        array_in(content)
        return {key: content[key] for key in ("dtype", "shape", "data")}  # type: ignore[return-value]
    raise BadAnswer("it does not have the form of an answer")


def array_in(answer: Mapping[str, object]) -> NDArray[Any]:
    """Decode the array in an answer. Raises BadAnswer if there is none."""
    dtype, shape, data = (answer.get(key) for key in ("dtype", "shape", "data"))
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise BadAnswer("its dtype is not a real dtype")
    if not isinstance(shape, list) or len(shape) > MAX_AXES:
        raise BadAnswer(f"its shape is not a list of at most {MAX_AXES} numbers")
    if not all(type(n) is int and 0 <= n <= MAX_NUMBERS for n in shape):
        raise BadAnswer(f"its shape is not a list of integers from 0 to {MAX_NUMBERS}")
    size = math.prod(shape)
    if size > MAX_NUMBERS:
        raise BadAnswer(f"it has {size} numbers; the most is {MAX_NUMBERS}")
    if not isinstance(data, str) or len(data) > 12 * MAX_NUMBERS:
        raise BadAnswer("its data are not a string of a plausible length")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise BadAnswer("its data are not base64") from None
    if len(raw) != size * np.dtype(dtype).itemsize:
        raise BadAnswer("its data do not match its shape")
    return np.frombuffer(raw, dtype).reshape(shape)


def collect(contents: list[object], expected: list[str]) -> tuple[Answers, list[str]]:
    """Map each expected id to its answer or an error; also return notes on unexpected answers."""
    by_id: dict[object, list[object]] = {identity: [] for identity in expected}
    unasked = 0
    for content in contents:
        identity = content.get("id") if isinstance(content, dict) else None
        if isinstance(identity, str) and identity in by_id:
            by_id[identity].append(content)
        else:
            unasked += 1
    answers: Answers = {}
    for identity in expected:
        same_id = by_id[identity]
        if len(same_id) > 1:
            answers[identity] = {"error": f"{len(same_id)} answers were given; only one is allowed"}
        elif same_id:
            try:
                answers[identity] = checked_answer(same_id[0])
            except (BadAnswer, RecursionError) as error:
                answers[identity] = {"error": f"the answer cannot be used: {error}"}
    return answers, [f"{unasked} unexpected answers were ignored"] if unasked else []


def _check_size(value: object) -> None:
    """Reject a value that is too long, or nested too deeply for a recursive function."""
    level = [value]
    for _ in range(MAX_DEPTH):
        nested = [v for v in level if isinstance(v, dict | list)]
        level = [v for x in nested for v in (x.values() if isinstance(x, dict) else x)]
    if level:
        raise BadAnswer("it is nested too deeply")
    text = json.dumps(value)
    if len(text) > MAX_JSON:
        raise BadAnswer(f"it has {len(text)} characters; the most is {MAX_JSON}")
