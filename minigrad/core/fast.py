"""A shorter way through `tensor.apply`, written anew for each op from its row.

What `apply` does for every op (promote types, see who needs a gradient, collect what the
rules name, build the node) costs more than a small array does. Yet for one op nearly all
of it is known beforehand. So when an op is first used, a function is written for it that
does only the rest. For `mul` it reads, a little shortened:

    def apply(x, y):
        try:
            if y.__class__ in NUMBERS: y = number_like(y, x)
            elif x.__class__ in NUMBERS: x = number_like(x, y)
            xd = x.array; xn = x.node
            yd = y.array; yn = y.node
        except AttributeError:
            return op(x, y)                          # an array, a Slot ...
        if modes.unusual or xd.dtype is not yd.dtype or xn is yn is None:
            if modes.unusual > modes.paused or xd.dtype is not yd.dtype:
                return general(mul, (x, y), {})      # the long way: tensor.apply
            if xn is yn is None or not modes.state.recording:
                return constant(xd, yd)              # nothing to record
        zd = xd * yd
        z = new(Tensor); z.array = zd; z.counter = FRESH
        n = z.node = new(Node); n.rank = next_rank()
        if xn is not None and yn is not None:
            n.edges = (xn, yn)
            n.saved = (y, x)
            n.version = y.counter.count + x.counter.count
            n.case = case_x_y
        elif ...
        return z

Nothing is stated here that is not in the row. Whatever is out of the ordinary (other
types, views, recording switched off, somebody watching) takes the long way, and a test
holds that both ways put the same node on the tape. `print(explain(mul))` shows the text.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.case import HELD, Case, case_of, held, turned
from minigrad.core.dispatch import NUMBERS, apply, number_like
from minigrad.core.errors import shape_error
from minigrad.core.memory import FRESH, Counter, new
from minigrad.core.node import Node, next_rank
from minigrad.core.op import REGISTRY, Op
from minigrad.core.tensor import Tensor, View
from minigrad.core.views import Hop, shows

# Python's operators are quicker than NumPy's functions: ten times on numbers without axes.
OPERATORS = {
    np.add: "xd + yd", np.subtract: "xd - yd", np.multiply: "xd * yd", np.true_divide: "xd / yd",
    np.negative: "-xd",
}  # fmt: skip


def write(op: Op) -> tuple[str, dict[str, Any]]:
    """The text of op's short way, and the names that it uses."""
    return _write_view(op) if op.view else _write_plain(op)


PLAIN = """\
def apply({operands}{signature}):
    try:{numbers}
{read}
    except AttributeError:
        return op({operands}, **{settings})
    if modes.unusual or {mixed} or {constant}:
        if modes.unusual > modes.paused or {mixed} or {first}d.dtype.kind != 'f':
            return general(op, ({operands},), {settings})
        if {constant} or not modes.state.recording:
            return constant({arrays}, {settings})
    try:
        zd = {forward}
    except ValueError as error:
        raise explained({arrays}, error, {settings}) from None
{order}    z = new(Tensor); z.array = zd; z.counter = FRESH
    n = z.node = new(Node); n.rank = next_rank()
{node}
    return z
"""


ORDER = """\
    if zd.__class__ is ndarray and not zd.flags.c_contiguous: zd = in_order(zd)
"""


def _write_plain(op: Op) -> tuple[str, dict[str, Any]]:
    """The short way of an op whose result has memory of its own."""
    first, *others = names = op.operands
    arrays = ", ".join(f"{x}d" for x in names)
    node, cases = _node(op)
    text = PLAIN.format(
        operands=", ".join(names),
        first=first,
        numbers=_numbers(op),
        read="\n".join(f"        {x}d = {x}.array; {x}n = {x}.node" for x in names),
        mixed=_mixed(op),
        constant=" is ".join(f"{x}n" for x in names) + " is None",
        arrays=arrays,
        forward=OPERATORS.get(op.numpy) or f"forward({arrays}{_passed(op)})",
        node="\n".join(f"    {line}" for line in node),
        order=ORDER if op.in_order else "",
        **_spelled_settings(op),
    )
    return text, _scope(op) | cases | {"constant": _constant_result(op)}


def _mixed(op: Op) -> str:
    """When types are not all the same: those of the operands, or another one for the result."""
    first, *others = op.operands
    if "dtype" in op.settings:
        return "dtype.kind != 'f'"
    return " or ".join(f"{first}d.dtype is not {x}d.dtype" for x in others) or "False"


def _spelled_settings(op: Op) -> dict[str, str]:
    """The op's settings as they stand in a signature, and as a dict."""
    signature = "".join(f", {s}=_{s}" for s in op.settings).replace(",", ", *,", 1)
    return {
        "signature": signature,
        "settings": "{" + ", ".join(f"{s!r}: {s}" for s in op.settings) + "}",
    }


def _passed(op: Op) -> str:
    return "".join(f", {s}={s}" for s in op.settings)


def _scope(op: Op) -> dict[str, Any]:
    """The names that every short way uses."""
    return {
        "op": op, "modes": modes, "general": apply, "forward": op.forward, "explained": _explained(op),
        "new": new, "Tensor": Tensor, "Node": Node, "next_rank": next_rank, "FRESH": FRESH, "Counter": Counter,
        "turned": turned, "held": held, "NUMBERS": NUMBERS, "number_like": number_like,
        "__name__": "minigrad.core.fast",
        "ndarray": np.ndarray, "in_order": np.ascontiguousarray,
        **{f"_{s}": default for s, default in op.settings.items()},
    }  # fmt: skip


def _numbers(op: Op) -> str:
    """What makes a constant of a plain number among the operands (2 * x, x ** 2)."""
    first, *others = op.operands
    if op.kind != "elementwise" or not others:
        return ""
    lines = [f"if {y}.__class__ in NUMBERS: {y} = number_like({y}, {first})" for y in others]
    if len(others) == 1:
        lines += [f"elif {first}.__class__ in NUMBERS: {first} = number_like({first}, {others[0]})"]
    return "".join(f"\n        {line}" for line in lines)


def _node(op: Op) -> tuple[list[str], dict[str, Any]]:
    """The lines that fill in the node, by which operands need a gradient; and the cases they name."""
    names = op.operands
    scope: dict[str, Any] = {}
    if len(names) == 1:
        fitted = "dtype" in op.settings
        return _edges(op, (True,), [fitted], scope), scope
    fits = [False, True] if op.kind == "elementwise" else [not op.exact]
    lines = [f"same = {' == '.join(f'{x}d.shape' for x in names)}"] if len(fits) == 2 else []
    word = "if"
    for needs in product((True, False), repeat=len(names)):
        wanted = [x for x, need in zip(names, needs, strict=True) if need]
        if wanted and all(x in op.rules for x in wanted):
            lines += [f"{word} {' and '.join(f'{x}n is not None' for x in wanted)}:"]
            lines += [f"    {line}" for line in _edges(op, needs, fits, scope)]
            word = "elif"
    return lines, scope


def _edges(op: Op, needs: tuple[bool, ...], fits: list[bool], scope: dict[str, Any]) -> list[str]:
    """The same for one choice of operands: edges, saved values, case."""
    wanted = [x for x, need in zip(op.operands, needs, strict=True) if need]
    lines = [f"n.edges = ({', '.join(f'{x}n' for x in wanted)},)"]
    for fitted in fits:
        case = case_of(op, needs, fitted)
        label = f"case_{'_'.join(wanted)}{'_fitted' if fitted else ''}"
        scope[label] = case
        block = [*_saving(op, case), f"n.case = {label}"]
        if len(fits) == 2:
            block = ["else:" if fitted else "if same:", *(f"    {line}" for line in block)]
        lines += block
    return lines


VIEW = """\
def apply(x{signature}):
    try:
        xd = x.array; xn = x.node; c = x.counter
    except AttributeError:
        return op(x, **{settings})
    if modes.unusual or xd.__class__ is not ndarray or x.__class__ is View and x.origin:
        return general(op, (x,), {settings})
    try:
        zd = forward(xd{passed})
    except ValueError as error:
        raise explained(xd, error, {settings}) from None
    n = None
    if xn is not None:
        n = new(Node); n.rank = next_rank(); n.edges = (xn,)
{saving}
        n.case = case_x
    owner = zd.base
    if owner is xd or zd is xd or owner is not None and (owner is xd.base or shows(zd, xd)):
        z = new(View); z.array = zd
        if c is FRESH: c = x._shared_counter()
        z.counter = c; z._seen = c.history; z._node = n
        hop = as_tuple(Hop, (op, {settings}))
        z.base, z.way = (x.base, (*x.way, hop)) if x.__class__ is View else (x, (hop,))
    else:
        z = new(Tensor); z.array = zd; z.counter = FRESH; z.node = n
    return z
"""


def _write_view(op: Op) -> tuple[str, dict[str, Any]]:
    """The same for a view op, whose result may show its operand's memory."""
    case = case_of(op, (True,), False)
    text = VIEW.format(
        passed=_passed(op),
        saving="\n".join(f"        {line}" for line in _saving(op, case)) or "        pass",
        **_spelled_settings(op),
    )
    views = {
        "View": View,
        "Hop": Hop,
        "shows": shows,
        "as_tuple": tuple.__new__,
    }
    return text, _scope(op) | views | {"case_x": case}


def _saving(op: Op, case: Case) -> list[str]:
    """The lines that put into the node what the case reads."""
    if not case.reads:
        return []
    lines, values, counts = [], [], []
    for name in case.reads:
        if name == "z":
            lines += ["z.counter = c = Counter()"]
            values += ["zd", "c"]
        elif name in op.operands:
            values += [name]
            counts += [f"{name}.counter.count"]
        elif name.endswith("_shape"):
            values += [f"{name.removesuffix('_shape')}d.shape"]
        elif name.endswith("_turned"):
            values += [f"turned({name.removesuffix('_turned')}d)"]
        elif name.endswith("_like"):
            x = name.removesuffix("_like")
            values += [f"({x}d.shape, {x}d.dtype)"]
        else:
            values += [f"held({name})" if name in HELD else name]
    lines += [f"n.saved = ({', '.join(values)},)"]
    if case.tensors:
        lines += [f"n.version = {' + '.join(counts) or '0'}"]
    return lines


def _constant_result(op: Op) -> Callable[..., Tensor]:
    """What to do when no gradient is wanted: compute."""
    forward, explained, in_order = op.forward, _explained(op), op.in_order

    def constant(*arguments: Any) -> Tensor:
        *arrays, settings = arguments
        try:
            array = forward(*arrays, **settings)
        except ValueError as error:
            raise explained(*arrays, error, settings) from None
        if in_order and array.__class__ is np.ndarray and not array.flags.c_contiguous:
            array = np.ascontiguousarray(array)
        z: Tensor = new(Tensor)
        z.array, z.counter, z.node = array, FRESH, None
        return z

    return constant


def _explained(op: Op) -> Callable[..., Exception]:
    def explained(*arguments: Any) -> Exception:
        *arrays, error, settings = arguments
        return shape_error(op.name, arrays, settings, error)

    return explained


def has_short_way(op: Op) -> bool:
    """Ops of many tensors, and ops without a derivative, take the long way."""
    return bool(op.rules) and not (op.variadic or op.masks) and len(op.operands) <= 3


def explain(op: Op) -> str:
    """The text that was written for an op: its short way, and the `run` of each of its cases.

    >>> from minigrad import ops
    >>> print(explain(ops.neg).partition("zd =")[2].splitlines()[0])
     -xd
    """
    text = write(op)[0] if has_short_way(op) else f"# {op.name} takes the long way, tensor.apply\n"
    for case in list(op.cases.values()):
        wanted = " and ".join(dict.fromkeys(name for _, name in case.wanted))
        fitted = ", gradients fitted to their inputs" if case.fitted else ""
        text += f"\n# backward, where {wanted} need a gradient{fitted}\n{case.source}"
    return text


def shorten(op: Op) -> None:
    """Let op.apply write the short way when it is first used, and take it from then on."""

    def first(*operands: Any, **settings: Any) -> Any:
        text, scope = write(op)
        exec(compile(text, f"<minigrad {op.name}>", "exec"), scope)
        op.apply = scope["apply"]
        return op.apply(*operands, **settings)

    op.apply = first


for _op in REGISTRY.values():
    if has_short_way(_op):
        shorten(_op)
