"""Names and expressions for the entries of a recording, as a user would write them."""

import re
from collections.abc import Mapping

from minigrad.tape.events import Entry, Input
from minigrad.tape.names import in_places
from minigrad.tape.recorder import Recorder

# Python's operators by op name, for those that also have an in-place form like z += x.
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "matmul": "@", "floor_divide": "//",
    "mm": "@", "mv": "@", "bmm": "@",
    "remainder": "%", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "bitwise_left_shift": "<<", "bitwise_right_shift": ">>",
}  # fmt: skip
INDEXED = ("getitem", "select", "slice")
ASSIGNED = ("copy", "fill")  # what  h[0] = 1  calls, after the index
JOINED = ("cat", "stack")  # they take a list
COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def versions_of(recorder: Recorder) -> dict[int, int]:
    """The number of versions that each tensor has had, by the tensor's number.

    It is 1 if only one of them is on the tape: a layer initialized its weights before the recording.
    """
    found: dict[int, set[int]] = {}
    for r in (r for entry in recorder.entries for r in entry.results):
        found.setdefault(r.tensor, set()).add(r.version)
    return {t: max(versions) + 1 if len(versions) > 1 else 1 for t, versions in found.items()}


def node_names(recorder: Recorder) -> list[str]:
    """A name for each entry, made of the names of its results: "p, s"."""
    return [", ".join(names) for names in result_names(recorder)]


def result_names(recorder: Recorder) -> list[list[str]]:
    """For each entry, the names of its results: the user's, or made from the op, like mul#2.

    If one variable was bound to several tensors, as in a loop, the later ones are
    numbered: h, h#2, h#3. A variable with the name of an op, such as t, keeps its name. An entry without
    results has one name.
    """
    counts: dict[tuple[str, bool], int] = {}
    of_tensor: dict[int, str] = dict(recorder.fixed)
    taken: set[str] = set(of_tensor.values())

    def unique(name: str, always: bool) -> str:
        label = None
        while label is None or label in taken:
            counts[name, always] = count = counts.get((name, always), 0) + 1
            label = f"{name}#{count}" if always or count > 1 else name
        taken.add(label)
        return label

    names = []
    for entry in recorder.entries:
        own = []
        for result in entry.results:
            if result.tensor not in of_tensor:
                given = recorder.names.get(result.tensor)
                made = entry.op or ("input" if not result.requires_grad else "leaf")
                of_tensor[result.tensor] = unique(given or made, always=given is None)
            own.append(of_tensor[result.tensor])
        names.append(own or [unique(entry.op or "input", always=True)])
    return names


def makers(recorder: Recorder, names: list[list[str]]) -> dict[int, tuple[Entry, str]]:
    """The entry that made each tensor, by the tensor's number, and the name of the tensor there."""
    made = zip(recorder.entries, names, strict=True)
    pairs = (
        (r.tensor, (entry, n))
        for entry, own in made
        for r, n in zip(entry.results, own, strict=False)
    )
    return dict(reversed([*pairs]))  # of the versions of a tensor, the first


def name_of_view(
    recorder: Recorder, number: int, names: list[list[str]], made: dict[int, tuple[Entry, str]]
) -> str:
    """The name of a view, given by its number; "h[0]" for an index of h that has no name."""
    if number not in made:
        return recorder.names.get(number, "a view")
    entry, name = made[number]
    indexed = entry.op in INDEXED and number not in recorder.names
    return expression(entry, names) if indexed else name


def label(entry: Entry, name: str, versions: dict[int, int]) -> str:
    """A name, with the version if there are several."""
    if entry.results and versions[entry.results[0].tensor] > 1:
        return f"{name} v{entry.results[0].version}"
    return name


def expression(entry: Entry, names: list[list[str]], through: str | None = None) -> str:
    """The expression of an entry, as the user might have written it; `names` are the names of all results."""
    terms = [_term(given, names) for given in entry.inputs]
    given = settings_in_words(entry, names)
    if entry.op in JOINED:
        terms = [f"[{', '.join(terms)}]"]
    elif "equation" in given:
        terms.insert(0, given.pop("equation"))
    settings = [f"{key}={value}" for key, value in given.items()]
    infix = INFIX.get(entry.op)
    index = given.get("index", "").removeprefix("(").removesuffix(")").removesuffix(",")
    if entry.inplace:
        target = terms[0] if through is None else through
        if infix and len(terms) == 2:
            return f"{target} {infix}= {terms[1]}"
        if entry.op in ASSIGNED and len(terms) == 2 and target.endswith("]"):
            return f"{target} = {terms[1]}"
        if entry.op == "index_put" and [*given] == ["index"]:
            return f"{target}[{index}] = {terms[1]}"
        if entry.op == "copy" and entry.inputs[1].entry is None:  # it writes a number
            return f"{target}.zero_()" if terms[1] == "0" else f"{target}.fill_({terms[1]})"
        return f"{target}.{entry.op}_({', '.join(terms[1:] + settings)})"
    infix = infix or COMPARED.get(entry.op)
    if infix and len(terms) == 2:
        return f"{terms[0]} {infix} {terms[1]}"
    if entry.op == "neg":
        return f"-{terms[0]}"
    if entry.op == "detach":
        return f"{terms[0]}.detach()"
    if entry.op in INDEXED and len(terms) == 1 and [*given] == ["index"]:
        return f"{terms[0]}[{index}]"
    return f"{entry.op}({', '.join(terms + settings)})"


def settings_in_words(entry: Entry, names: list[list[str]]) -> dict[str, str]:
    """The settings of an entry as text, with the names of the tensors in them."""
    read = [_term(given, names) for given in entry.read]
    return {key: in_places(text, read) for key, text in entry.settings.items()}


def _term(given: Input, names: list[list[str]]) -> str:
    """An operand as text: a name or a number."""
    if given.entry is None:
        return given.constant
    own = names[given.entry]
    return own[given.output] if given.output < len(own) else own[0]


def in_users_names(rule: str, names: Mapping[str, str]) -> str:
    """A rule with the user's names instead of x, y, z. The inspector's script does the same.

    >>> in_users_names("dz/dx = y * x**(y - 1)", {"x": "w", "y": "-2", "z": "pow#1"})
    'd(pow#1)/dw = (-2) * w**((-2) - 1)'
    """

    def named(found: re.Match[str]) -> str:
        d, letter = found.groups()
        name = names.get(letter, letter)
        bare = name.isidentifier() if d else re.fullmatch(r"[^\s-]+", name)
        return d + (name if bare else f"({name})")

    return re.sub(r"(?<![A-Za-z0-9_])(d?)([a-z])(?![A-Za-z0-9_])", named, rule)
