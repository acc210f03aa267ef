"""Code generation: a fast path through dispatch.py, generated for each op from its row.

For every op, dispatch.apply promotes types, checks which operands need a gradient, saves what
the rules need, and builds the node. For small arrays this costs more than the computation. But for
a given op, most of it is known in advance. So on the first use of an op, we generate a function
that only does the rest. For `mul` it looks like this, slightly shortened:

    def mul(x, y):
        try:
            if y.__class__ in NUMBERS: y = number_like(y, x)
            elif x.__class__ in NUMBERS: x = number_like(x, y)
            xd = x.array; xn = x.node
            yd = y.array; yn = y.node
        except AttributeError:
            return slow(x, y)                                  # an array, a Slot ...
        alike = xd.__class__ is yd.__class__ in SCALARS        # scalars of one dtype
        unusual = modes.unusual
        if unusual or not alike and xd.dtype is not yd.dtype:
            if unusual > modes.light or not alike and xd.dtype is not yd.dtype:
                return general(op, (x, y), {})                 # the general path
            if not modes.state.recording: xn = yn = None
        zd = xd * yd
        z = new(Tensor); z.array = zd; z.counter = FRESH
        if xn is yn is None:
            z.node = None
            return z
        n = z.node = new(MulBackward0); n.queue_key = next_queue_key()
        if yn is None:
            n.edges = (xn,)
            n.saved = (y,)
            n.version = y.counter.count
            n.plan = plan_x
        elif ...
        if unusual: keep_line(n)
        return z

`mul_`, which writes to x, does the same but puts the result into x's array. All of this is
derived from the op's row. All unusual cases (other types, a write that may be refused, forward mode, an
observer) go through dispatch.py. A test checks that both paths put the same node on the tape.

`print(source_of(mul))` shows the source; so do tracebacks, pdb and `inspect.getsource(mul.apply)`.
"""

import sys
from collections.abc import Callable, Sequence
from itertools import product
from types import FunctionType
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.dispatch import PER_ENTRY, apply, keep_line, record_node
from minigrad.core.errors import is_ours, user_instruction
from minigrad.core.inplace import attach, copy_of, is_plain
from minigrad.core.leaf import AccumulateGrad
from minigrad.core.memory import FRESH, INFERENCE, Counter, new
from minigrad.core.node import next_queue_key
from minigrad.core.op import Op
from minigrad.core.plan import HELD, Plan, column_major, compiled, held, listed, plan_of
from minigrad.core.promotion import NUMBERS, REALS, number_like, plain_number
from minigrad.core.shapes import arranged_as
from minigrad.core.tensor import Tensor, View
from minigrad.core.views import ViewStep, shows
from minigrad.methods.base import or_not_implemented

# Python's operators are faster than NumPy's functions: for 0-d values, ten times faster.
OPERATORS = {
    np.add: "xd + yd", np.subtract: "xd - yd", np.multiply: "xd * yd", np.true_divide: "xd / yd",
    np.negative: "-xd", np.greater: "xd > yd", np.greater_equal: "xd >= yd", np.less: "xd < yd",
    np.less_equal: "xd <= yd", np.equal: "xd == yd", np.not_equal: "xd != yd",
}  # fmt: skip
UFUNCS = frozenset([np.add, np.subtract, np.multiply, np.true_divide, np.negative])


OUT_OF_PLACE = """\
def {name}({operands}{signature}):
{reals}    try:{numbers}
{read}
    except AttributeError:
        return slow({operands}{passed})
{alike}    unusual = modes.unusual
    if unusual or {special}:
        if unusual > modes.light or {special}:
            return general(op, {all}, {settings})
        if not modes.state.recording: {nodes} = None
    try:
        zd = {forward}
    except (TypeError, ValueError, IndexError, MemoryError, OverflowError):
        return general(op, {all}, {settings})                  # which says why
{order}    z = new(Tensor); z.array = zd; z.counter = FRESH
{node}
    return z
"""

VIEW = """\
def {name}(x{signature}):
    try:
        xd = x.array; xn = x.node; c = x.counter
    except AttributeError:
        return op(x{passed})
    unusual = modes.unusual
    aside = unusual and (unusual > modes.light or not modes.state.recording)
    if aside or x.__class__ is View and x.origin:
        return general(op, (x,), {settings})
    if xd.__class__ is not ndarray: xd = x.memory()
    try:
        zd = forward(xd{passed})
    except (TypeError, ValueError, IndexError, MemoryError, OverflowError):
        return general(op, (x,), {settings})                   # which says why
    n = None
    if xn is not None:
{node}
    owner = zd.base
    if owner is xd or zd is xd or owner is not None and (owner is xd.base or shows(zd, xd)):
        z = new(View); z.array = zd
        if c is FRESH: c = x._shared_counter()
        z.counter = c; z._seen = c.history; z._node = n
        view_step = as_tuple(ViewStep, (op, {settings}))
        if x.__class__ is View: z._base = x._base; z.view_chain = (*x.view_chain, view_step)
        else: z._base = x; z.view_chain = (view_step,)
    else:
        z = new(Tensor); z.array = zd; z.counter = FRESH; z.node = n
    return z
"""

IN_PLACE = """\
def {name}_({operands}{signature}):
{reals}    try:{numbers}
{read}
        c = x.counter
    except AttributeError:
        return slow({operands}{passed})
    view = x.__class__ is View
    kept = xn.__class__ is AccumulateGrad or x._retains or view and not is_plain(x, xn)
    unusual = modes.unusual
    if unusual or {special}{larger} or kept:
        recording = not unusual or modes.state.recording
        if unusual > modes.light or {special}{larger} or kept and recording:
            return x._write(op{others}{passed})
        if not recording: {nodes} = None
    if c is FRESH: x.counter = c = x._shared_counter() if kept else Counter()
    if c is INFERENCE or xd.__class__ is not ndarray or xd.base is not None and 0 in xd.strides:
        return x._write(op{others}{passed})
    n = None
    if {recorded}:
{node}
    try:
        {forward}
    except (TypeError, ValueError, IndexError, MemoryError, OverflowError):
        return x._write(op{others}{passed})                    # which says why
    frame = caller(1); code = frame.f_code
    c.count += 1; c.where = user_instruction(frame) if is_ours[code.co_filename] else (code, frame.f_lasti)
    if n is not None:
        if unusual: keep_line(n)
        if view: attach(n, x)
        else: x.node = n; c.history += 1
    return x
"""

VARIADIC = """\
def {name}(*xs{signature}):
    try:
        arrays = [x.array for x in xs]; nodes = [x.node for x in xs]
    except AttributeError:
        return op(*xs{passed})
    unusual = modes.unusual
    if unusual > modes.light or not xs:
        return general(op, xs, {settings})
    dtype = arrays[0].dtype
    for xd in arrays:
        if xd.dtype is not dtype: return general(op, xs, {settings})
    try:
        zd = forward(*arrays{passed})
    except (TypeError, ValueError, IndexError, MemoryError, OverflowError):
        return general(op, xs, {settings})                     # which says why
{order}    z = new(Tensor); z.array = zd; z.counter = FRESH; z.node = None
    if nodes.count(None) < len(nodes) and (not unusual or modes.state.recording):
        z.node = record_node(op, xs, nodes, {settings}, z)
    return z
"""

# For numbers. Scalars of one class have one dtype and shape, and the class is faster to look up. A parameter that
# an optimizer writes to is an array, even of one number: with a scalar, NumPy is eight times as slow as with two.
ALIKE = """\
    alike = False
    if xd.__class__ is not ndarray or yd.__class__ is not ndarray:
        if xd.__class__ is not yd.__class__ and xd.ndim == yd.ndim == 0: xd = xd[()]; yd = yd[()]
        alike = xd.__class__ is yd.__class__ in SCALARS
"""
SCALARS = frozenset([np.float32, np.float64])
KEEP = "if unusual: keep_line(n)"
REAL = "    if {0}.__class__ not in NUMBERS: {0} = plain_number({0}, {0!r})\n"
IN_ORDER = """\
    if zd.__class__ is ndarray and not zd.flags.c_contiguous: zd = in_order(zd)
"""
ARRANGED = """\
    if {0}d.ndim > 1 and not {0}d.flags.c_contiguous: zd = arranged_as({0}d, zd)
"""


def _scope_of(op: Op, in_place: bool) -> dict[str, Any]:
    """The global names that an op's generated functions use."""
    return {
        "op": op, "modes": modes, "general": apply, "forward": op.forward, "ufunc": op.numpy,
        "new": new, "Tensor": Tensor, "View": View, "next_queue_key": next_queue_key,
        "FRESH": FRESH, "Counter": Counter, "slow": _writer(op) if in_place else op,
        "column_major": column_major, "held": held, "NUMBERS": NUMBERS, "number_like": number_like,
        "plain_number": plain_number,
        "named": op.named and op.named.formula,
        "ndarray": np.ndarray, "SCALARS": SCALARS, "in_order": np.ascontiguousarray, "arranged_as": arranged_as,
        "INFERENCE": INFERENCE,
        "AccumulateGrad": AccumulateGrad, "copy_of": copy_of, "is_plain": is_plain, "attach": attach,
        "user_instruction": user_instruction, "is_ours": is_ours, "caller": sys._getframe,
        "keep_line": keep_line, "record_node": record_node,
        "ViewStep": ViewStep, "shows": shows, "as_tuple": tuple.__new__,
        **{f"_{s}": default for s, default in op.settings.items()},
    }  # fmt: skip


def text_of(op: Op, in_place: bool = False) -> tuple[str, dict[str, Any]]:
    """The source of op.apply, or of op.apply_, and the names that it uses."""
    scope = _scope_of(op, in_place)
    passed = "".join(f", {s}={s}" for s in op.settings)
    settings = {
        "name": op.name,
        "signature": "".join(f", {s}=_{s}" for s in op.settings),
        "settings": "{" + ", ".join(f"{s!r}: {s}" for s in op.settings) + "}",
        "passed": passed,
        "reals": "".join(REAL.format(s) for s in op.settings if s in REALS),
        "order": _order(op),
    }
    if op.variadic:
        return VARIADIC.format(**settings), scope
    typed = [x for x in op.operands if x not in op.masks]
    arrays = ", ".join(f"{x}d" for x in op.operands)
    alike = op.kind in PER_ENTRY and list(op.operands) == typed == ["x", "y"] and not in_place
    parts = {
        **settings,
        "operands": ", ".join(op.operands),
        "others": "".join(f", {x}" for x in op.operands[1:]),
        "signature": settings["signature"].replace(",", ", *,", 1),
        "all": _tuple(op.operands),
        "numbers": _numbers(op, typed, in_place),
        "read": "\n".join(f"        {x}d = {x}.array; {x}n = {x}.node" for x in typed)
        + "".join(f"\n        {x}d = {x}.array" for x in op.masks),
        "alike": ALIKE if alike else "",
        "special": _special(op, typed, alike),
        "larger": "".join(f" or {x}d.ndim > xd.ndim" for x in op.operands[1:]),
        "nodes": " = ".join(f"{x}n" for x in typed),
        "recorded": " or ".join(f"{x}n is not None" for x in typed),
    }
    if op.view:
        parts["node"] = _indented([*_branch(op, (True,), [False], scope, "n"), KEEP], 8)
        return VIEW.format(**parts), scope
    if in_place:
        parts["forward"] = (
            f"ufunc({arrays}, xd)" if op.numpy in UFUNCS else f"forward({arrays}{passed}, out=xd)"
        )
        parts["node"] = _indented([*_node(op, scope, "n"), "n.wrote = True"], 8)
        return IN_PLACE.format(**parts), scope
    parts["forward"] = OPERATORS.get(op.numpy) or f"forward({arrays}{passed})"
    lines = ["z.node = None"]
    if op.rules:
        nothing = " is ".join(f"{x}n" for x in typed)
        lines = [f"if {nothing} is None:", "    z.node = None", "    return z"]
        lines += [*_node(op, scope, "n = z.node", alike), KEEP]
    return OUT_OF_PLACE.format(**parts, node=_indented(lines, 4)), scope


def _order(op: Op) -> str:
    """The line that puts the result in C order, or in that of the first operand."""
    if op.in_order:
        return IN_ORDER
    kept = len(op.operands) == 1 and op.forward is op.numpy  # NumPy keeps the order of one operand
    return "" if kept or op.kind not in PER_ENTRY else ARRANGED.format(op.operands[0])


def _tuple(parts: Sequence[str]) -> str:
    return f"({listed(parts)})"


def _indented(lines: list[str], by: int) -> str:
    return "\n".join(" " * by + line for line in lines)


def _special(op: Op, typed: list[str], alike: bool) -> str:
    """The condition for unusual dtypes: operands of different dtypes, or a dtype that the op does not support."""
    first, *others = typed
    questions = [f"{'not alike and ' * alike}{first}d.dtype is not {x}d.dtype" for x in others]
    if op.casts:  # if there is no gradient to cast back, NumPy may cast as it writes
        questions = [
            "xd.dtype is not yd.dtype and (not xn is yn is None or xd.dtype.kind != 'f' or yd.dtype.kind == 'c')"
        ]
    questions += [f"{x}d.dtype.kind != 'b'" for x in op.masks]
    if op.refuses not in ("", "c") or op.result in ("float", "sum"):
        questions += [f"{first}d.dtype.kind != 'f'"]
    elif op.refuses:
        questions += [f"{first}d.dtype.kind == 'c'"]
    if "dtype" in op.settings:  # only floating-point results have gradients
        questions += [f"{first}n is not None and dtype.kind != 'f'"]
    return " or ".join(questions) or "False"


def _numbers(op: Op, typed: list[str], in_place: bool) -> str:
    """The lines that turn a plain number among the operands into a constant (2 * x, x ** 2)."""
    first, *others = typed
    if op.kind not in PER_ENTRY or not others:
        return ""
    lines = [f"if {y}.__class__ in NUMBERS: {y} = number_like({y}, {first})" for y in others]
    if len(others) == 1 and not in_place:
        lines += [f"elif {first}.__class__ in NUMBERS: {first} = number_like({first}, {others[0]})"]
    return "".join(f"\n        {line}" for line in lines)


def _node(op: Op, scope: dict[str, Any], target: str, alike: bool = False) -> list[str]:
    """The lines that make the node, one branch for each set of operands that need a gradient."""
    names = op.operands
    if len(names) == 1:
        return _branch(op, (True,), ["dtype" in op.settings], scope, target)
    fits = [False, True] if op.kind == "elementwise" else [not op.exact]
    shapes = " == ".join(f"{x}d.shape" for x in names)
    lines = [f"same = {'alike or ' * alike}{shapes}"] if len(fits) == 2 else []
    word = "if"
    for needs in product((True, False), repeat=len(names)):
        wanted = [x for x, need in zip(names, needs, strict=True) if need]
        if wanted and all(x in op.rules for x in wanted):
            lines += [f"{word} {' and '.join(f'{x}n is not None' for x in wanted)}:"]
            lines += [f"    {line}" for line in _branch(op, needs, fits, scope, target)]
            word = "elif"
    return lines


def _branch(
    op: Op, needs: tuple[bool, ...], fits: list[bool], scope: dict[str, Any], target: str
) -> list[str]:
    """One branch: makes the node, with its edges, saved values and plan."""
    wanted = [x for x, need in zip(op.operands, needs, strict=True) if need]
    kind = plan_of(op, needs, fits[0]).node_type.__name__
    lines = []
    if op.named:  # (no elementwise op is named, so `fits` has one entry)
        kind = "plan.node_type"
        plans = f"plans_{'_'.join(wanted)}"
        scope[plans] = PlansByName(op, needs, fits[0])
        lines = [f"plan = {plans}[named({', '.join(op.named.reads)})]"]
    lines += [
        f"{target} = new({kind}); n.queue_key = next_queue_key()",
        f"n.edges = {_tuple([f'{x}n' for x in wanted])}",
    ]
    for fitted in fits:
        plan = plan_of(op, needs, fitted)
        label = f"plan_{'_'.join(wanted)}{'_fitted' if fitted else ''}"
        scope |= {label: plan, plan.node_type.__name__: plan.node_type}
        block = [*_saving(op, plan, target == "n" and not op.view)]
        block += ["n.plan = plan" if op.named else f"n.plan = {label}"]
        if len(fits) == 2:
            block = ["else:" if fitted else "if same:", *(f"    {line}" for line in block)]
        lines += block
    return lines


class PlansByName(dict[str, Plan]):
    """Maps node names to plans, for an op whose nodes have several names."""

    def __init__(self, op: Op, needs: tuple[bool, ...], fitted: bool) -> None:
        self.what = op, needs, fitted

    def __missing__(self, name: str) -> Plan:
        plan = self[name] = plan_of(*self.what, name)
        return plan


def _saving(op: Op, plan: Plan, in_place: bool) -> list[str]:
    """The lines that save the values that the plan reads."""
    if not plan.reads:
        return []
    # The expressions for names that are neither tensors nor the result.
    others = {s: f"held({s})" if s in HELD else s for s in op.settings}
    for x in op.operands:
        others |= {f"{x}_shape": f"{x}d.shape", f"{x}_like": f"({x}d.shape, {x}d.dtype)"}
        others[f"{x}_column_major"] = f"column_major({x}d)"
    lines, values, counts = [], [], []
    for name in plan.reads:
        if name == "z":
            lines += [] if in_place else ["z.counter = c = Counter()"]
            values += ["xd" if in_place else "zd", "c"]
            counts += ["c.count + 1"] if in_place else []
        elif name == op.operands[0] and in_place:
            values += [f"copy_of({name})"]
        elif name in op.operands:
            values += [name]
            counts += [f"{name}.counter.count"]
        else:
            values += [others[name]]
    lines += [f"n.saved = {_tuple(values)}"]
    if plan.tensors:
        lines += [f"n.version = {' + '.join(counts) or '0'}"]
    return lines


def is_usual(op: Op, in_place: bool = False) -> bool:
    """Do we generate a function for this op? Not if it has many operands, or if a rule is missing."""
    if op.variadic:
        return op.result == "same" and not (in_place or op.refuses)
    if len(op.operands) > 3:
        return False
    if op.rules and any(x not in op.rules for x in op.operands if x not in op.masks):
        return False  # Plan raises an error if the missing gradient is requested
    if in_place:
        return op.inplace and bool(op.rules) and not op.masks and "dtype" not in op.settings
    return not op.view or bool(op.rules)


def _generate(op: Op, name: str) -> Callable[..., Any]:
    """Generate op.apply; or op.apply_, which writes to its first operand or rearranges it (x.t_())."""
    in_place = name == "apply_"
    if in_place and op.view:
        return lambda x, **settings: x._rearrange(op, **settings)
    if not is_usual(op, in_place):
        return _writer(op) if in_place else op.__call__
    text, scope = text_of(op, in_place)
    label = f"{op.name}, in place" if in_place else op.name
    function: Callable[..., Any] = compiled(label, text, scope)[op.name + "_" * in_place]
    function.__doc__ = op.__doc__
    return function


def _writer(op: Op) -> Callable[..., Any]:
    """op.apply_ for an op without generated code: calls dispatch.py."""
    if len(op.operands) == 1:  # the ufunc would take a second one for `out`
        return lambda x, **settings: x._write(op, **settings)
    return lambda x, *ys, **settings: x._write(op, *ys, **settings)


def _for_operator(function: Any) -> Any:
    """The function for an operator, x + y. It returns NotImplemented for a y of an unknown type."""
    scope = function.__globals__
    if "slow" not in scope:  # not generated
        return or_not_implemented(function)
    copy = FunctionType(function.__code__, {**scope, "slow": or_not_implemented(scope["slow"])})
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, function.__doc__
    return copy


def source_of(op: Op) -> str:
    """The source generated for an op: its apply, and the backward of each of its plans.

    >>> from minigrad import ops
    >>> print(source_of(ops.neg).partition("zd =")[2].splitlines()[0])
     -xd
    """
    text = f"# {op.name} goes through dispatch.py\n"
    if is_usual(op):
        text = text_of(op)[0]
    if is_usual(op, in_place=True):
        text += "\n" + text_of(op, in_place=True)[0]
    for plan in list(op.plans.values()):
        wanted = " and ".join(dict.fromkeys(name for _, name in plan.wanted))
        fitted = ", fitted to the inputs" if plan.fitted else ""
        text += f"\n# backward, for the gradient of {wanted}{fitted}\n{plan.source}"
    return text


Op.written = staticmethod(_generate)
Op.for_operator = staticmethod(_for_operator)
