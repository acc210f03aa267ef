"""A recorded program gives what the eager run gives, values and gradients, or refuses."""

import sys
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

import minigrad
from minigrad import static
from tests.random_programs import compiled, inputs, written

pytestmark = pytest.mark.filterwarnings("ignore:(The use of `x.T`|Tensor.T is):UserWarning")


def seeds_for(results: Any) -> list[Any]:
    return [minigrad.ones(r.shape).to(r.dtype) if r.dtype.kind != "b" else r for r in results]


def eager_gradients(xs: Any, results: Any) -> Any:
    roots = [
        (r, s)
        for r, s in zip(results, seeds_for(results), strict=True)
        if r.requires_grad and r.dtype.kind == "f"
    ]
    kept = [x for x in xs if x.requires_grad]
    if not roots or not kept:
        return [None] * len(xs)
    found = iter(
        minigrad.autograd.grad(
            [r for r, _ in roots], kept, [s for _, s in roots], allow_unused=True
        )
    )
    return [next(found) if x.requires_grad else None for x in xs]


def differences(seed: int, length: int) -> Any:
    """What differs between a random program and its eager run; "refused" where none was recorded."""
    text = written(seed, length)
    return (text, *differences_of(compiled(text), inputs, seed))


def differences_of(f: Any, inputs: Any, seed: int) -> tuple[str, str]:
    """What differs between f and its program, and how; twice "" if nothing does.

    inputs(seed, requires_grad=False) gives the arguments; other values for another seed.
    """
    try:
        program = static.record(f)(*inputs(seed))
    except (RuntimeError, TypeError) as error:
        return "refused", str(error).partition(":")[0][:90]
    plan = program.plan()
    gradient = None
    for other in (seed, seed + 1_000_000):
        try:
            xs = inputs(other, requires_grad=True)
            results = f(*xs)
        except Exception:  # these values are refused
            continue
        for name, run in (
            ("program", program),
            ("plan", plan),
            ("simplified", program.simplified()),
        ):
            for k, (z, r) in enumerate(zip(run(*inputs(other)), results, strict=True)):
                if z.dtype != r.dtype or z.shape != r.shape:
                    return (
                        f"{name}: type or shape of result {k}",
                        f"{z.dtype}{tuple(z.shape)} {r.dtype}{tuple(r.shape)}",
                    )
                if not np.allclose(z.numpy(), r.detach().numpy(), 1e-5, 1e-7, equal_nan=True):
                    return f"{name}: value of result {k}", f"{z.tolist()} {r.tolist()}"
        try:
            wanted = eager_gradients(xs, results)
        except RuntimeError:  # say, a saved value was written over
            continue
        try:
            if gradient is None:
                gradient = program.gradient(list(range(len(xs))), seeded=True)
                later = program.simplified().gradient(list(range(len(xs))), seeded=True)
        except RuntimeError as error:
            return "refused", str(error).partition(":")[0][:90]
        for name, run in (
            ("gradient", gradient),
            ("plan of the gradient", gradient.plan()),
            ("gradient of the simplified", later),
        ):
            given = run(*inputs(other), *seeds_for(results))
            given = given if isinstance(given, tuple | list) else [given]
            for k, (g, w) in enumerate(zip(given, wanted, strict=True)):
                if not (
                    xs[k].requires_grad and xs[k].is_leaf
                ):  # the program took it out of the leaves itself
                    continue
                expected = np.zeros(g.shape) if w is None else w.numpy()
                if not np.allclose(g.numpy(), expected, 1e-5, 1e-7, equal_nan=True):
                    return f"{name} of {'abc'[k]}", f"{g.tolist()} {expected.tolist()}"
    return "", ""


def smallest(text: str, seed: int, what: str) -> str:
    """The program without the lines that it can do without and still differ."""
    lines = text.splitlines()
    k = len(lines) - 2
    while k > 0:
        fewer = "\n".join(lines[:k] + lines[k + 1 :]) + "\n"
        try:
            f = compiled(fewer)
            f(*inputs(seed))
            differs = differences_of(f, inputs, seed)[0].partition(" ")[0] == what.partition(" ")[0]
        except Exception:
            differs = False
        if differs:
            lines = lines[:k] + lines[k + 1 :]
        k = min(k, len(lines) - 1) - 1
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(150))
def test_a_random_program_gives_eagers_values_and_gradients_or_refuses(seed):
    text, what, details = differences(seed, length=9)

    assert what in ("", "refused"), f"{what}: {details}\n{text}"


def survey(first: int, count: int, length: int) -> None:
    """Print what differs in so many programs, and why others were refused."""
    kinds: Counter[str] = Counter()
    for seed in range(first, first + count):
        try:
            text, what, details = differences(seed, length)
        except Exception as error:
            text, what, details = written(seed, length), "crash", repr(error)[:300]
        kinds[what if what != "refused" else f"refused: {details}"] += 1
        if what not in ("", "refused"):
            print(f"--- seed {seed}: {what}: {details}\n{smallest(text, seed, what)}")
    for kind, n in kinds.most_common():
        print(f"{n:6} {kind}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    survey(*(int(a) for a in sys.argv[1:]))
