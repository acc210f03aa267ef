"""What an author may pass to an exercise, by the name of the argument.

A text in place of a list would be taken as a list of letters, and most other slips would only be
noticed when a student runs the check. So each argument has a test, and words with an example.
"""

import reprlib
from collections.abc import Callable, Mapping
from typing import Any


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and value >= 0


def _is_shape(value: object) -> bool:
    sizes = value if isinstance(value, list | tuple) else [value]
    return all(isinstance(n, int) and n >= 0 for n in sizes)


def _list_of(fits: Callable[[Any], bool], least: int = 0) -> Callable[[Any], bool]:
    return lambda v: isinstance(v, list | tuple) and len(v) >= least and all(map(fits, v))


_FORMS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (_is_name, "the name of what students write, such as 'square_backward'"),
    "points": (
        lambda v: all(map(_is_number, v.values() if isinstance(v, Mapping) else [v])),
        'a number, or a number for each part, such as {"dx": 2, "dy": 1}',
    ),
    "hints": (_list_of(_is_text), 'a list, such as ["Use the power rule."]'),
    "seconds": (lambda v: _is_number(v) and v > 0, "a positive number"),
    "forward": (callable, "a function"),
    "program": (callable, "a function, without ()"),
    "optimizer": (callable, "a class, such as optim.SGD, without ()"),
    "wanted": (("function", "class").__contains__, '"function" or "class"'),
    "shapes": (
        _list_of(_list_of(_is_shape), least=1),
        "a list of cases, each a list with a shape for each input, such as [[(3,)], [(2, 3)]]",
    ),
    "settings": (
        _list_of(lambda v: isinstance(v, Mapping), least=1),
        'a list of dicts, one for each case, such as [{"lr": 0.1}]',
    ),
    "more": (
        _list_of(("empty", "strided", "extreme", "zero").__contains__),
        'a list of "empty", "strided", "extreme" and "zero"',
    ),
    "numbers": (lambda v: isinstance(v, Mapping), 'a dict, such as {"x": np.exp}'),
    "constants": (_list_of(_is_text), "a list of names of inputs"),
    "returns": (_list_of(_is_text, least=1), 'a list of names, such as ["mean", "median"]'),
    "of": (_list_of(_is_text, least=1), 'a list of names, such as ["s", "x"]'),
    "mistakes": (
        _list_of(lambda v: callable(getattr(v, "gives", None))),
        "a list of Misconception(kind, gives, message, hint), where gives is a function",
    ),
}


def check_arguments(exercise: Any) -> None:
    """Raise TypeError, which names the argument and what it takes, if one is of another form."""
    for argument, (fits, accepted) in _FORMS.items():
        if argument in vars(exercise) and not fits(value := getattr(exercise, argument)):
            raise TypeError(
                f"{exercise.name}: {argument} is {reprlib.repr(value)}. It must be {accepted}."
            )
