"""Op: a forward function, and a gradient rule for each of its inputs.

    @elementwise(np.multiply)
    def mul(x, y, *, out=None):
        "z = x * y        dz/dx = y        dz/dy = x"

    mul.vjp(x=lambda g, y: g * y,
            y=lambda g, x: g * x)

There are five conventions:

1.  Positional parameters are arrays; keyword parameters are settings. The result is written
    to `out=` (an op that returns a view has no `out`). If the body is only a
    docstring, as in `mul` above, the NumPy function in the decorator computes the result.
2.  A rule is named after its input. Its first parameter is `g`, the gradient of the loss
    with respect to the result, which has the result's shape.
3.  The names of a rule's other parameters say what it reads: an input (`y`), the result
    (`z`), a setting (`axis`), an input's shape (`x_shape`), or whether an input is
    column-major (`x_column_major`). Exactly these values are saved. If x needs no
    gradient, its rule does not run, and does not cause `y` to be saved. A misspelled name
    raises an error at import.
4.  A rule can ignore broadcasting: the node sums each gradient to the shape of its input.
5.  The decorator names the kind of function. Forward mode follows from it:

        elementwise    call each rule with the tangent in place of g, and add up over the inputs
        linear         apply the op to each tangent in turn, and add up
        reduction      multiply the tangent by the rule's result for g = 1, and sum over axis
        constant       the derivative is zero wherever it exists
        general        `.jvp(...)` sets the formula of the tangent, with the same naming

You call an op like a function. Called on arrays, it computes. If an argument interprets ops
itself (a Tensor, or a Slot of a program being recorded), the op calls that argument's
`__apply_op__` instead.
"""

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

REQUIRED: Any = inspect.Parameter.empty  # the default of a setting that must be given
REGISTRY: "dict[str, Op]" = {}  # every op by name, in the order of the tables
LISTENERS: "list[Callable[[Op], None]]" = []  # called with each op that is declared later
BY_NUMPY: "dict[Any, Op]" = {}  # np.multiply -> mul; used by NumPy's two protocols
# NumPy's names of settings, as in our tables -> PyTorch's
TWINS = {"axis": "dim", "keepdims": "keepdim"}


def _docstring_only() -> None:
    """A function that is only its docstring."""


_DOCSTRING_ONLY = _docstring_only.__code__.co_code  # all such functions have this code


def as_in_pytorch(name: str, value: Any) -> tuple[str, Any]:
    """A setting as PyTorch writes it: its name, a single axis as a number, and equal paddings of both sides once.

    >>> as_in_pytorch("axis", (1,)), as_in_pytorch("keepdims", True), as_in_pytorch("padding", (2, 2, 1, 1))
    (('dim', 1), ('keepdim', True), ('padding', (2, 1)))
    """
    name = TWINS.get(name, name)
    if name == "dim" and isinstance(value, list | tuple):
        value = value[0] if len(value) == 1 else tuple(value)
    if name == "padding" and isinstance(value, tuple) and value[::2] == value[1::2]:
        value = value[::2]
    return name, value


class Rule(NamedTuple):
    """The formula for one input's gradient, and the names of what it reads."""

    formula: Callable[..., Any]
    reads: tuple[str, ...]


class Op:
    """One row of the table of operations.

    name        "mul"                       node_name   "MulBackward0"
    forward     the function that computes  formula     the first line of its docstring
    operands    ("x", "y")                  settings    {"axis": None}
    inputs      the names that have rules: the operands, or ("xs",) for a variadic op
    rules       input name -> Rule          tangent     the formula given to .jvp(...), if any
    named       the rule for the node's name, if PyTorch has several names for this op
    kind        elementwise | linear | reduction | constant | general
    result      the dtype it computes in: "same": the operands' common dtype; "float": integers
                become floating-point numbers; "sum": small integers become int64; "strict": the
                operands' dtypes must agree; "bool" and "int": computes in the common dtype and
                returns booleans or indices
    view        may the result share memory with the first operand?
    exact       do the rules themselves return gradients with the inputs' shapes?
    into        into(g, node, pending, sums) adds the gradient to the engine's sum for x, and returns whether it did
    piecewise   the inputs in which the op is linear but for kinks (relu), each with the name of the gradient's node
    refuses     the kinds of dtype that the op does not support: "b" or "biu"
    casts       is the second operand converted to the first one's dtype (copy_)?
    derived     the settings that follow from the operands and from other settings; pictures leave them out
    variadic    does the op take any number of arrays (cat, stack)?
    in_order    must the result be copied to C order? Results of elementwise ops have the memory
                order of the operands, and products are in C order; all other results are
                put in C order, so that view() works on them
    """

    into: Callable[..., bool] | None = None
    piecewise: Mapping[str, str] = {}
    tangent: Rule | None = None

    def __init__(
        self,
        forward: Callable[..., Any],
        kind: str,
        numpy: Any = None,
        *,
        result: str = "same",
        view: bool = False,
        inplace: bool | None = None,
        masks: tuple[str, ...] = (),
        exact: bool = False,
        as_computed: bool = False,
        refuses: str = "",
        casts: bool = False,
        derived: tuple[str, ...] = (),
        node: "str | Callable[..., str] | None" = None,
    ) -> None:
        code = forward.__code__
        positional, n = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
        defaults = forward.__kwdefaults__ or {}
        self.name = forward.__name__
        camel = "".join(w[:1].upper() + w[1:] for w in self.name.split("_"))
        self.node_name = node if isinstance(node, str) else camel + "Backward0"
        self.forward = numpy if forward.__code__.co_code == _DOCSTRING_ONLY else forward
        self.kind, self.result, self.view, self.masks = kind, result, view, masks
        self.exact, self.refuses, self.casts, self.derived = exact, refuses, casts, derived
        changes_order = kind in ("linear", "reduction", "general") and result != "strict"
        changes_order |= kind == "constant" and "axis" in defaults  # all, any
        self.in_order = changes_order and not (view or as_computed)
        self.numpy = numpy
        self.operands = code.co_varnames[:positional]
        self.variadic = bool(code.co_flags & 0x04)  # *xs
        self.inputs = ("xs",) if self.variadic else self.operands
        keywords = code.co_varnames[positional:n]
        self.settings = {k: defaults.get(k, REQUIRED) for k in keywords if k != "out"}
        self.takes_out = "out" in keywords
        self.inplace = self.takes_out and (kind == "elementwise" if inplace is None else inplace)
        self.rules: dict[str, Rule] = {}
        self.plans: dict[Any, Any] = {}  # filled by plan.py: one for each set of inputs
        # Filled by methods/rows.py: the methods made from this row, and which of them are just `apply`.
        self.methods: list[str] = []
        self.spelled: dict[str, list[tuple[type, str]]] = {"apply": [], "apply_": []}
        self.__doc__ = forward.__doc__
        self.__name__, self.__module__ = forward.__name__, forward.__module__
        self.__wrapped__ = forward
        self.named = self._rule(node, first=None) if callable(node) else None
        self.named_by_needs: Callable[[tuple[bool, ...]], str] | None = None
        if self.named is not None and self.named.reads == ("needs",):  # depends only on the plan
            self.named_by_needs, self.named = self.named.formula, None
        self._register()

    def _register(self) -> None:
        """Add the op to the tables, and call the listeners, which make methods from rows."""
        if self.name in REGISTRY:
            raise TypeError(f"two ops are named {self.name}")
        REGISTRY[self.name] = self
        for notify in LISTENERS:
            notify(self)
        if self.numpy is not None:
            BY_NUMPY[self.numpy] = self

    def __getattr__(self, name: str) -> Any:
        """`apply(x, y)`, and `apply_(x, y)`, which writes to x: codegen.py generates them on first use.

        Methods that do the same thing (`spelled`: x.exp(), x + y) are then replaced with these functions.
        """
        if name not in ("apply", "apply_"):
            raise AttributeError(f"'Op' object has no attribute {name!r}")
        function = self.__dict__[name] = Op.written(self, name)
        if isinstance(function, FunctionType):
            for cls, attribute in self.spelled[name]:
                if attribute in (self.name, self.name + "_"):
                    for kept in ("__module__", "__qualname__", "__doc__"):
                        setattr(function, kept, getattr(getattr(cls, attribute), kept))
                setattr(cls, attribute, function)
                if attribute.startswith("__") and len(self.operands) == 2:
                    setattr(cls, attribute, Op.for_operator(function))
        return function

    written: Callable[["Op", str], Any]  # codegen.py fills these in
    for_operator: Callable[[Any], Any]

    @property
    def formula(self) -> str:
        """The op's line in the table of derivatives."""
        return (self.__doc__ or self.name).strip().partition("\n")[0]

    def __repr__(self) -> str:
        return f"<op {self.name}: {self.formula}>"

    def vjp(self, **formulas: Callable[..., Any]) -> "Op":
        """Set the reverse-mode rule of each input, by the input's name."""
        for name, formula in formulas.items():
            if name not in self.inputs:
                raise TypeError(f"{self.name} has no input {name!r}; its inputs are {self.inputs}.")
            self.rules[name] = self._rule(formula, first="g")
        return self

    def jvp(self, formula: Callable[..., Any]) -> "Op":
        """Set the forward-mode formula of a `general` op.

        Its parameters are named as in a rule; `x_dot` is the tangent of the input x
        (None if that input has no tangent).
        """
        self.tangent = self._rule(formula, first=None)
        return self

    def _rule(self, formula: Callable[..., Any], first: str | None) -> Rule:
        """Check the names that a formula reads, so that a typo raises an error at import."""
        names = formula.__code__.co_varnames[: formula.__code__.co_argcount]
        if first is not None:
            if names[:1] != (first,):
                raise TypeError(
                    f"{self.name}: a rule's first parameter is {first}, not {names[:1]}."
                )
            names = names[1:]
        allowed = {*self.inputs, "z", "needs", *self.settings}
        allowed |= {f"{x}_{what}" for x in self.inputs for what in ("shape", "column_major")}
        if self.variadic:
            allowed |= {"xs_shapes", "k"}
        if first is None:
            allowed |= {f"{x}_dot" for x in self.inputs}
        for name in names:
            if name not in allowed:
                raise TypeError(
                    f"{self.name}: a rule reads {name!r}, but it can only read {sorted(allowed)}."
                )
        return Rule(formula, names)

    def is_mask(self, k: int) -> bool:
        """Is the k-th operand a mask? Masks are boolean and do not affect the dtype of the result."""
        return bool(self.masks) and self.operands[k] in self.masks

    def __call__(self, *args: Any, **settings: Any) -> Any:
        """Apply the op. The first argument that can interpret ops does so."""
        for a in args:
            if a.__class__ is not np.ndarray:
                interpret = getattr(a, "__apply_op__", None)
                if interpret is not None:
                    z = interpret(self, args, settings)
                    if z is not NotImplemented:
                        return z
        return self.forward(*args, **settings)


def _declare(kind: str) -> Callable[..., Any]:
    def decorator(numpy: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Op]:
        """Declare an op; see the top of this module.

        numpy     the NumPy function for this op, so that np.exp(x) works
        result    the dtype that the op computes in; see `Op`
        view      True if the result may share memory with the first operand
        inplace   may the result be written to the first operand (x.mul_(y))? If this is not given:
                  yes for an elementwise op
        masks     operands that are boolean and do not affect the dtype of the result
        exact     True if nothing is broadcast, or the rules sum the gradients themselves
        refuses   kinds of dtype that the op does not support: "b" booleans, "biu" integers as well
        casts     True if the second operand is converted to the first one's dtype
        derived   settings that follow from the operands and from other settings
        as_computed  True if the result may keep the memory order that forward gave it
        node      the name of its nodes, if it does not follow from the op's name; or a function that
                  returns it, whose parameters are named as in a rule
        """

        return lambda forward: Op(forward, kind, numpy, **options)

    return decorator


elementwise = _declare("elementwise")
linear = _declare("linear")
reduction = _declare("reduction")
constant = _declare("constant")
general = _declare("general")


def push_forward(op: Op, values: dict[str, Any], tangents: dict[Any, Any]) -> Any:
    """The tangent of op's result: forward mode, derived from the op's kind and its rules.

    values      every name that a rule may read: inputs, settings, shapes, and z
    tangents    input name (for a variadic op: position) -> its tangent, or None
    returns     the tangent of z, with the shape of z; None if it is certainly zero
    """
    if op.tangent is not None:
        given = {f"{name}_dot": tangents.get(name) for name in op.operands}
        if op.variadic:
            given = {"xs_dot": tuple(tangents.values())}
        z_dot = op.tangent.formula(*(given.get(r, values.get(r)) for r in op.tangent.reads))
        return z_dot if z_dot is None else _fitted(z_dot, values["z"].shape)
    terms = []
    for name, x_dot in tangents.items():
        if x_dot is None:
            continue
        if op.kind == "elementwise" and name in op.rules:
            rule = op.rules[name]
            terms.append(rule.formula(x_dot, *(values[r] for r in rule.reads)))
        elif op.kind == "reduction":
            rule, one = op.rules[name], np.ones_like(values["z"])
            slope = rule.formula(one, *(values[r] for r in rule.reads))
            terms.append(np.sum(x_dot * slope, axis=values["axis"], keepdims=values["keepdims"]))
        elif op.kind == "linear":
            each = enumerate(values["xs"]) if op.variadic else [(n, values[n]) for n in op.operands]
            operands = [x_dot if n == name else x for n, x in each]
            terms.append(op(*operands, **{s: values[s] for s in op.settings}))
    if not terms:
        if op.kind == "general":
            raise NotImplementedError(f"forward mode is not implemented for {op.name}.")
        return None
    return _fitted(sum(terms[1:], start=terms[0]), values["z"].shape)


def _fitted(z_dot: Any, shape: tuple[int, ...]) -> Any:
    """A tangent with the shape of z: it is smaller if only an operand that was broadcast has one."""
    return z_dot if z_dot.shape == shape else np.broadcast_to(z_dot, shape)
