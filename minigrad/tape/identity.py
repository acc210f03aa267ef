"""What was recorded so far: minigrad's tensors, the memory they use, and the user's names for them.

Only variables have names, so we look into the namespace around the recording, and into the functions
that run. The namespace comes first. It can be read when the recording ends; the variables of a function
are gone when it returns, so they are read at each operation and at each backward pass.

Read tensors.py first.
"""

import weakref
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any

from minigrad.core.engine import AnyNode, GraphTask
from minigrad.core.errors import Place, user_frame, user_line
from minigrad.core.memory import COMMON
from minigrad.core.tensor import Tensor
from minigrad.tape.events import Backward, Call, Entry, Iteration
from minigrad.tape.names import has_values, local_variables, name_in, tensors_in
from minigrad.tape.snapshot import Snapshot, maybe
from minigrad.tape.tensors import Event, Tensors


class Identities(Tensors):
    """The recording so far, the minigrad tensors in it, and the names of all tensors, by their numbers."""

    kind = Tensor

    def __init__(self, namespace: Callable[[], Mapping[str, Any]]) -> None:
        super().__init__([], [], count())
        self.namespace = namespace
        self.calls: list[Call] = []
        self.passes: list[Backward] = []
        self.iterations: list[Iteration] = []  # the ones that are kept of a long loop
        self.engines: list[Tensors] = [self]  # the engines whose tensors are recorded
        self.storages: dict[int, int] = {}  # tensor -> its memory, if shared or written to
        self._of_array: dict[int, int] = {}  # an array's id -> its tensor
        self._counters: dict[int, tuple[Any, int]] = {}  # id -> (a counter, its storage)
        self._entry_of: weakref.WeakKeyDictionary[AnyNode, int] = weakref.WeakKeyDictionary()
        self._moved: dict[AnyNode, int] = {}  # nodes whose leaf a hook has written to
        self._grads: dict[int, Snapshot | None] = {}  # of leaves, when last checked
        self._open: list[tuple[GraphTask, Backward]] = []  # the passes that are running
        self._modules: list[tuple[Any, int]] = []  # the modules being called, with their calls
        self._scalars: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()
        self.names: dict[int, str] = {}
        self.local_names: dict[int, str] = {}  # those in variables of the user's functions
        self.parameter_names: dict[int, str] = {}  # and in their parameters
        self.owners: dict[int, tuple[int, str]] = {}  # a gradient -> its leaf, and "grad"
        self.fixed: dict[int, str] = {}  # all names, once iterations were left out
        self._sought: set[int] = set()  # tensors whose names were looked up
        self._note_scalars(tensor for _, tensor in tensors_in(namespace()))

    @staticmethod
    def memory_of(tensor: Tensor) -> int:
        """The id of its array: a tensor and its `.data` have the same."""
        return id(tensor.array)

    @staticmethod
    def gradient(tensor: Tensor) -> Snapshot | None:
        """A snapshot of the tensor's `.grad`."""
        return maybe(tensor.grad)

    def number(self, tensor: Tensor) -> int:
        """The tensor's number in this recording; assigned on first sight."""
        known, counter = self.known(tensor), tensor.counter
        if known is None:
            known = self._numbered(tensor)
        self._of_array[id(tensor.array)] = known
        if counter not in COMMON:
            kept = self._counters.setdefault(id(counter), (counter, len(self._counters)))
            self.storages[known] = kept[1]
            if tensor._base is not None:
                self.number(tensor._base)
        return known

    def tensor_of(self, array: Any) -> Tensor | None:
        """The tensor that this array belongs to, if it was recorded or is in the user's namespace."""
        recorded = self.alive(self._of_array.get(id(array), -1))
        if recorded is not None and recorded.array is array:
            return recorded
        named = (t for _, t in tensors_in(self.namespace()))
        return next((t for t in named if t.array is array), None)

    def is_step(self, event: Event) -> bool:
        """Is this event a step of the tape? All are, except the end of a pass without an error."""
        kind, which, _ = event
        return kind != "end" or self.passes[which].error is not None

    def calls_around(self, entry: Entry) -> list[tuple[int, Call]]:
        """The module calls that an entry was made in, with their numbers, outermost first."""
        found: list[tuple[int, Call]] = []
        number = entry.call
        while number is not None:
            found.append((number, self.calls[number]))
            number = self.calls[number].parent
        return found[::-1]

    def _note_scalars(self, tensors: Iterable[Tensor]) -> None:
        """Note 0-d tensors that have names, so that they are not mistaken for plain numbers."""
        self._scalars.update((id(t), t) for t in tensors if has_values(t, Tensor) and not t.ndim)

    def _is_number(self, operand: Tensor) -> bool:
        """Was this operand a plain number? The core wraps numbers in new tensors without a name."""
        if operand.node is not None or operand.array.ndim or operand._tangents is not None:
            return False
        seen = self.known(operand) is not None or self._scalars.get(id(operand)) is operand
        if seen or operand.counter not in COMMON:
            return False
        return id(operand) not in map(id, self.namespace().values())

    # ---- names -----------------------------------------------------------------------

    def called(self, name: str, tensor: Tensor) -> None:
        """Name a tensor that is not in a user's variable, such as the mask of dropout."""
        self.names.setdefault(self.number(tensor), name)

    def look_up_names(self) -> None:
        """Find names for tensors in the user's namespace, and in the function that is running."""
        self.look_up_local_names(in_depth=True)
        for name, tensor in tensors_in(self.namespace(), self._kinds()):
            self._note_names(self.names, tensor, name)

    def place_of_op(self) -> Place | None:
        """The user's line, which applies an op; its function's variables give names to tensors."""
        has_new_leaf = bool(self.entries) and self.entries[-1].kind == "leaf"
        self.look_up_local_names(in_depth=has_new_leaf)
        return user_line()

    def look_up_local_names(self, in_depth: bool = False) -> None:
        """Note which variables of the user's function hold tensors: they are gone when it returns.

        A parameter names only what was made before the recording, and only if no variable does:
        f(x @ w) does not name its argument. So does the module that is being called, which has
        another name outside. Lists, dictionaries and modules are searched `in_depth`.
        """
        variables, parameters = local_variables(user_frame())
        kinds, called = self._kinds(), [m for m, _ in self._modules] if in_depth else []
        selves = [k for k in parameters if any(variables.get(k) is m for m in called)]
        search = tensors_in(variables, kinds) if in_depth else variables.items()
        for name, value in search:
            if has_values(value, kinds) and not name.startswith("_"):
                inner = name.partition("[")[0] in parameters or name.partition(".")[0] in selves
                self._note_names(self.parameter_names if inner else self.local_names, value, name)

    def _kinds(self) -> tuple[type[Any], ...]:
        """The classes of the tensors that are recorded."""
        return tuple(own.kind for own in self.engines)

    def _note_names(self, names: dict[int, str], value: object, name: str) -> None:
        """Note a variable's name for the tensor in it, and for its .grad and .data, if they have none."""
        own = next(own for own in self.engines if isinstance(value, own.kind))
        if (known := own.known(value)) is None:
            if own.is_same_memory(own.alive(own.newest_leaf), value):
                names.setdefault(own.newest_leaf, f"{name}.data")
            return
        made, _ = own._latest.get(known, (None, 0))
        computed = made is not None and self.entries[made].kind == "op"
        if not (computed and names is self.parameter_names):
            names.setdefault(known, name)
        gradient = None if computed else own.known(_grad_of(value))
        if gradient is not None:
            names.setdefault(gradient, f"{names.get(known, name)}.grad")

    def _look_up_one(self, tensor: Any, key: int) -> None:
        """Look up the name of a tensor that is used as an operand.

        Only variables are checked here; lists and modules are searched later.
        """
        if key in self.names or key in self._sought:
            return
        self._sought.add(key)
        own = next(own for own in self.engines if isinstance(tensor, own.kind))
        if owner := own.as_gradient(tensor):
            self.owners[key] = owner
        name = name_in(self.namespace(), tensor) or self._gradient_of(tensor)
        if name is not None:
            self.names[key] = name

    def name_of_owner(self, owner: object) -> str:
        """The user's name for an optimizer, scheduler or module; its class's name if it has none."""
        local, _ = local_variables(user_frame())
        named = name_in(self.namespace(), owner) or name_in(local, owner)
        return named or type(owner).__name__

    def gradient_name(self, tensor: Tensor) -> str | None:
        """ "w.grad", if this is the gradient of a leaf whose name is known."""
        leaf, what = self.as_gradient(tensor) or (-1, "")
        known = (self.names, self.local_names, self.parameter_names)
        return next((f"{names[leaf]}.{what}" for names in known if leaf in names), None)

    def settle_names(self) -> None:
        """Find the last names, when the recording ends."""
        self.look_up_names()
        self.names = self.parameter_names | self.local_names | self.names
        for gradient, (leaf, what) in self.owners.items():
            if leaf in self.names:
                self.names.setdefault(gradient, f"{self.names[leaf]}.{what}")

    def _gradient_of(self, tensor: Any) -> str | None:
        """ "w.grad", if this is the gradient of the user's variable w."""
        if tensor.requires_grad:
            return None  # most operands do, and this saves a search
        for own in self.engines:
            for name, leaf in self.namespace().items():
                if isinstance(leaf, own.kind) and _grad_of(leaf) is tensor:
                    known = own.known(leaf)
                    return f"{name if known is None else self.names.get(known, name)}.grad"
        return None


def _grad_of(tensor: Any) -> Any:
    """The gradient of a leaf."""
    try:  # faster than suppress
        return tensor.grad if tensor.is_leaf else None
    except RuntimeError:  # PyTorch refuses to read some views: see tape/torch
        return None
