"""Run the same few lines on minigrad and on PyTorch, and compare all that can be seen.

A case is a function of the library and of tensors: lambda m, x, y: m.mm(x, y). Compared
are values, shapes, types of number, gradients and second derivatives; for a case that is
a mistake, the type of the error.
"""

import re
from typing import Any

import numpy as np
import pytest

import minigrad
from tests.numeric import direction_like

torch = pytest.importorskip("torch")


def calls(table: str) -> list[str]:
    """The calls of a table, which has several in a line."""
    return [call.strip() for line in table.strip().splitlines() for call in line.split(" | ")]


def draw(*shape: int, seed: int = 0) -> Any:
    """Entries between -2 and 2, no two of them close."""
    n = int(np.prod(shape))
    r = np.random.default_rng([n, seed, *shape])
    return ((r.permutation(n) + r.uniform(0.3, 0.7, n)) / max(n, 1) * 4 - 2).reshape(shape)


def _of(library: Any, case: Any, arrays: Any, dtype: Any, order: int) -> list[Any]:
    """Result, gradients, second derivatives, as arrays; None where there is none."""
    tensors = []
    for a in arrays:
        floating = a.dtype.kind == "f"
        t = (library.tensor if library is minigrad else torch.tensor)(
            a.astype(dtype) if floating else a
        )
        tensors.append(t.requires_grad_() if floating and order else t)
    z = case(library, *tensors)
    results = list(z) if isinstance(z, (tuple, list)) else [z]
    found = [(f"result {k}", r) for k, r in enumerate(results)]
    wanted = [t for t in tensors if t.requires_grad]
    if wanted and order and any(r.requires_grad for r in results):
        make = minigrad.tensor if library is minigrad else torch.tensor
        grad = library.autograd.grad
        loss = sum(
            (r * make(direction_like(r.detach(), k).astype(dtype))).sum()
            for k, r in enumerate(results)
            if r.requires_grad
        )
        grads = grad(loss, wanted, create_graph=order > 1, allow_unused=True)
        found += [(f"gradient {k}", g) for k, g in enumerate(grads)]
        chained = [g for g in grads if g is not None and g.requires_grad]
        if order > 1 and chained:
            total = sum(
                (g * make(direction_like(g.detach(), 7 + k).astype(dtype))).sum()
                for k, g in enumerate(chained)
            )
            second = grad(total, wanted, allow_unused=True)
            found += [(f"second derivative {k}", h) for k, h in enumerate(second)]
    return [(n, None if t is None else t.detach().numpy(force=True)) for n, t in found]


def check(
    case: Any,
    *arrays: Any,
    order: int = 2,
    rtol: float = 1e-9,
    dtypes: Any = (np.float64, np.float32),
) -> None:
    """The two libraries agree on this case, in double and in single precision."""
    arrays = [np.asarray(a) for a in arrays]
    for dtype in dtypes:
        ours = _of(minigrad, case, arrays, dtype, order)
        theirs = _of(torch, case, arrays, dtype, order)
        ours, theirs = dict(ours), dict(theirs)
        for name in {**ours, **theirs}:
            a, b = ours.get(name), theirs.get(name)
            if a is None or b is None:  # no dependence: zeros, or nothing
                rest = a if b is None else b
                assert rest is None or not np.any(rest), f"{name}: {a} but in PyTorch {b}"
                continue
            assert a.shape == b.shape, f"{name}: {a.shape} but in PyTorch {b.shape}"
            assert a.dtype == b.dtype, f"{name}: {a.dtype} but in PyTorch {b.dtype}"
            tolerance = rtol if dtype is np.float64 else 2e-4  # single precision
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=name)


def check_call(call: str, arrays: dict[str, Any], **settings: Any) -> None:
    """The same for a call that is written down: `m` is the library, `F` its nn.functional.

    The arrays that the call names become its leaves.
    """
    names = [name for name in arrays if re.search(rf"\b{name}\b(?!=)", call)]

    def case(m: Any, *tensors: Any) -> Any:
        return eval(call, {"m": m, "F": m.nn.functional, **dict(zip(names, tensors, strict=True))})

    check(case, *(arrays[name] for name in names), **settings)


def check_error(case: Any, *arrays: Any) -> None:
    """Both refuse, with the same type of error (or a subclass of it)."""
    arrays = [np.asarray(a) for a in arrays]
    with pytest.raises(Exception) as theirs:
        case(torch, *[torch.tensor(a) for a in arrays])
    with pytest.raises(theirs.type):
        case(minigrad, *[minigrad.tensor(a) for a in arrays])


def outcome(case: Any, library: Any, digits: int = 5) -> Any:
    """What can be seen of case(library): type, shape and entries of each result; or the class of the error."""
    try:
        return _seen(case(library), digits)
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


def _seen(z: Any, digits: int) -> Any:
    if isinstance(z, (tuple, list)):
        return [_seen(part, digits) for part in z]
    if not isinstance(z, (minigrad.Tensor, torch.Tensor)):
        return z
    entries = z.detach().flatten().tolist()
    entries = [f"{v:.{digits}g}" if isinstance(v, float) else v for v in entries]
    entries = ["0" if v == "-0" else v for v in entries]
    return str(z.dtype).rpartition(".")[2], tuple(z.shape), z.requires_grad, entries
