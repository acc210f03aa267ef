"""What an author may pass to an exercise, by the name of the argument.

A text in place of a list would be read as a list of letters, and most other slips would only be
noticed when a student runs the check. So each argument is tested, and the error gives an example.
"""

import reprlib
from collections.abc import Callable, Mapping
from typing import Any


def _list_of(fits: Callable[[Any], Any], least: int = 0) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, list | tuple) and len(v) >= least and all(map(fits, v))


def _is(*kinds: type) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, kinds) and not (isinstance(v, int | float) and v < 0)


def _is_input(v: object) -> bool:
    return _sizes(v) if isinstance(v, tuple) else isinstance(v, list) and len(v) == 1


_number, _text, _dict = _is(int, float), _is(str), _is(Mapping)
_sizes = _list_of(_is(int))
_shapes = _list_of(lambda v: _is(int)(v) or _sizes(v))
_inputs = _list_of(lambda v: _dict(v) and all(map(_is_input, v.values())), 1)
_gives = _list_of(lambda v: callable(getattr(v, "gives", None)))
_more = _list_of(("empty", "strided", "extreme", "zero").__contains__)
_FORMS: list[tuple[str, Callable[[Any], Any], str]] = [
    ("name", lambda v: _text(v) and v.isidentifier(), "the name of what students write"),
    ("points", lambda v: all(map(_number, v.values() if _dict(v) else [v])), 'a number, or {"dx": 2, "dy": 1}'),
    ("hints", _list_of(_text), 'a list, such as ["Use the power rule."]'),
    ("seconds", lambda v: _number(v) and v > 0, "a positive number"),
    ("forward program", callable, "a function, without ()"),
    ("optimizer", callable, "a class, such as optim.SGD, without ()"),
    ("wanted", ("function", "class").__contains__, '"function" or "class"'),
    ("shapes", _list_of(_shapes, 1), "a list of cases, each a list of shapes, such as [[(3,)], [(2, 3)]]"),
    ("settings", _list_of(_dict, 1), 'a list of dicts, one for each case, such as [{"lr": 0.1}]'),
    ("more", _more, 'a list of "empty", "strided", "extreme", "zero"'),
    ("numbers", _dict, 'a dict, such as {"x": np.exp}'),
    ("constants returns of", _list_of(_text), 'a list of names, such as ["x", "y"]'),
    ("mistakes", _gives, "a list of Misconception, each with a function"),
    ("Implementation.inputs", _inputs, 'a list of cases, such as {"x": (3,), "axis": [0]}'),
    ("OnATape.inputs", _dict, 'a dict of numbers, such as {"x": 2.0}'),
]  # fmt: skip


def check_declaration(exercise: Any) -> None:
    """Raise TypeError if an argument has the wrong form; the message says what it takes."""
    kinds = ["", *(kind.__name__ for kind in type(exercise).__mro__)]
    for arguments, fits, accepted in _FORMS:
        for argument in arguments.split():
            kind, _, name = argument.rpartition(".")
            if kind in kinds and name in vars(exercise) and not fits(vars(exercise)[name]):
                shown = reprlib.repr(vars(exercise)[name])
                raise TypeError(f"{exercise.name}: {name} is {shown}. It must be {accepted}.")
