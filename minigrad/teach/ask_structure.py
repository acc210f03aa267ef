"""Exercises about the structure of a tape: its edges, a valid order, its adjoints.

The author gives a small program: a function of its inputs that ends with `return locals()`. Its
variable names are the names in the questions. We run it, and read the right answers from its tape.

    Edges       for each result, the tensors that its node sends gradients to
    Order       an order in which a backward pass may visit the tensors; any valid one counts
    Adjoints    dL/dt for named intermediate tensors t, as numbers
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from minigrad.autograd import grad
from minigrad.core.modes import enable_grad, unobserved
from minigrad.core.tensor import Tensor
from minigrad.methods.creation import tensor
from minigrad.teach.answer import Diagnosis, general_diagnosis
from minigrad.teach.diagnose import diagnose
from minigrad.teach.difference import real_array
from minigrad.teach.question import Written
from minigrad.teach.results import CheckRow, Kind
from minigrad.teach.trying import judge_array, shortened


@dataclass(eq=False, repr=False)
class OnATape(Written):
    """A question about the tape of one small program. A subclass gives an example of an answer.

    name      the variable that the student assigns
    program   program(**inputs) -> locals(), with the result in the variable z
    inputs    name -> numbers; all of them require a gradient
    """

    example = ""

    program: Callable[..., Mapping[str, object]]
    inputs: Mapping[str, ArrayLike]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.like, self.begin = f"like  {self.example}", f"assign it, for example  {self.example}"
        self.inputs = {k: np.asarray(v, dtype=np.float64) for k, v in self.inputs.items()}

    def tensors(self) -> dict[str, Tensor]:
        """The program's tensors by name, inputs first, after a run."""
        with enable_grad(), unobserved():
            given = {k: tensor(v, requires_grad=True) for k, v in self.inputs.items()}
            local = self.program(**given)
        wanted = {"z", *getattr(self, "of", ())}
        if not isinstance(local, Mapping) or wanted.difference(local):
            raise TypeError(
                f"{self.name}: the program must end with  return locals() , and define {', '.join(sorted(wanted))}."
            )
        made = {k: v for k, v in local.items() if isinstance(v, Tensor) and v.node is not None}
        return {**given, **made}

    def edges(self) -> dict[str, list[str]]:
        """Result -> the tensors that its node leads to, each as often as it is read."""
        tensors = self.tensors()
        names = {t.node: name for name, t in tensors.items()}
        return {
            name: [names[parent] for parent in t.node.edges if parent in names]
            for name, t in tensors.items()
            if t.node is not None and name not in self.inputs
        }

    def parts(self) -> Sequence[str]:
        """The names of the results: the tensors that were made by an operation."""
        return [name for name in self.tensors() if name not in self.inputs]

    def behind(self, name: str) -> set[str]:
        """The tensors that a result depends on, directly or indirectly."""
        edges = self.edges()
        found, stack = set[str](), [name]
        while stack:
            new = set(edges.get(stack.pop(), ())) - found
            found |= new
            stack += new
        return found


class Edges(OnATape):
    """The student writes the edges of the reverse graph: {"z": ["s", "x"], "s": ["x", "y"]}.

    The order within a list does not matter. A tensor that is read twice must be listed twice.
    """

    column, form, example = "node of", dict, '{"z": ["a", "b"]}'

    def judge(self, name: str, mine: Any) -> tuple[Kind, str, Diagnosis | None]:
        """The verdict, and which names are missing or do not belong there."""
        try:
            have = Counter([mine] if isinstance(mine, str) else mine)
        except TypeError:
            return "wrong type", f"{shortened(mine)} is not a list of names", None
        want = Counter(self.edges()[name])
        if have == want:
            return "right", "", None
        words = [f"{k} is missing" for k in want - have]
        words += [f"{k} does not belong here" for k in have - want]
        return "wrong answer", "; ".join(words), self._explain(name, have, want)

    def _explain(self, name: str, have: Counter[str], want: Counter[str]) -> Diagnosis | None:
        if have == Counter(z for z, xs in self.edges().items() if name in xs):
            return general_diagnosis(
                "forward_edges",
                f"These are the operations that read {name}: the edges of the forward pass.",
                f"The node of {name} sends gradients to the tensors that {name} was computed from.",
            )
        if set(have) == set(want):
            return general_diagnosis(
                "double_use",
                "Each use of an operand is an edge of its own; a tensor that is read twice gets two.",
                "Both contributions are added where the edges end.",
            )
        if set(have) == self.behind(name) & set(self.inputs):
            return general_diagnosis(
                "jumped_to_the_leaves",
                f"These are the inputs that {name} depends on in the end.",
                "An edge goes one operation back, no further.",
            )
        return None


class Order(OnATape):
    """The student writes an order in which a backward pass may visit the tensors.

    It has every tensor from z to the inputs once, each after all tensors that send it a gradient.
    """

    column, form, example = "step", list | tuple, '["z", "s", "x"]'

    def parts(self) -> Sequence[str]:
        """One part, for the whole order: it is right or wrong as a whole."""
        return ("order",)

    def judged(self, answer: Any) -> Iterator[CheckRow]:
        """One row: right, or the first rule that the order breaks."""
        yield self.row("order", *self._judge(list(answer), self.edges(), {"z"} | self.behind("z")))

    def _judge(
        self, order: list[Any], edges: Mapping[str, list[str]], reached: set[str]
    ) -> tuple[Kind, str, Diagnosis | None]:
        place = {name: k for k, name in enumerate(order) if isinstance(name, str)}
        unknown = [n for n in order if not isinstance(n, str) or n not in reached]
        if unknown:
            return "wrong answer", f"{shortened(unknown[0])} is not a tensor behind z", None
        missing = sorted(reached - set(place))
        if missing:
            return "wrong answer", f"{missing[0]} is missing", None
        if len(order) > len(place):
            twice = next(name for name in order if order.count(name) > 1)
            found = general_diagnosis(
                "visited_twice",
                f"{twice} is visited once for each path that leads to it.",
                "Wait until all contributions have arrived, add them, and pass the sum on once.",
            )
            return "wrong answer", f"{twice} is visited {order.count(twice)} times", found
        for name in order:
            for z, xs in edges.items():
                if name in xs and place[z] > place[name]:
                    return "wrong answer", *self._early(order, name, z)
        return "right", "", None

    def _early(self, order: list[Any], name: str, z: str) -> tuple[str, Diagnosis]:
        message = f"{name} is visited before {z}, which has yet to send it a gradient"
        if order[-1] == "z":
            return message, general_diagnosis(
                "forward_order",
                "This is the order of the forward pass, from the inputs to z.",
                "A backward pass starts at z.",
            )
        return message, general_diagnosis(
            "too_early",
            f"{name} passed its gradient on before all of it had arrived.",
            f"Count the edges that end at {name}: it is ready when that many gradients have arrived.",
        )


@dataclass(eq=False, repr=False)
class Adjoints(OnATape):
    """The student writes the adjoint dL/dt of each named tensor t. The adjoint of z is ones.

    The answer is a dict, {"s": array, "x": array}.
    """

    column, form, example = "adjoint of", dict, '{"s": 2.0 * x}'

    of: Sequence[str] = field(kw_only=True)

    def parts(self) -> Sequence[str]:
        """The names of the tensors whose adjoints are requested."""
        return self.of

    def judge(self, name: str, mine: object) -> tuple[Kind, str, Diagnosis | None]:
        """Compares with the engine's gradient. A wrong answer is diagnosed."""
        if mine is None:
            return "missing", self.no_entry(name, {}).message, None
        tensors = self.tensors()
        z, t = tensors["z"], tensors[name]
        with unobserved():
            (right,) = grad(z, t, grad_outputs=tensor(np.ones(z.shape)), retain_graph=True)
        verdict, message = judge_array(name, mine, real_array(right), 1e-9, 1e-12)
        if verdict in ("right", "wrong type"):
            return verdict, message, None
        return verdict, message, diagnose(z, t, mine, name=name, namespace=tensors)
