"""Whole programs, written at random and run on minigrad and on PyTorch.

A program is a list of statements in Python, with `t` for the library. Each statement comes
from a line of the tables below, whose placeholders are filled with what the program has
so far. It is run on PyTorch while it is written, so that most statements are valid; one
that raises is left in, and both libraries must refuse it alike. At the end everything
that can be seen of every variable is compared.

    write(choose)       a program; `choose(n)` picks one of n possibilities
    differences(lines)  what differs, as sentences; [] if the libraries agree
    smallest(lines)     the shortest program with a difference that is left when lines go

    python -m tests.against_torch.fuzzer 20000 --seed 1     counts and shows what differs
"""

import argparse
import collections
import contextlib
import random
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import minigrad

torch = pytest.importorskip("torch")

Choose = Callable[[int], int]

SHAPES = "2,3 3 2 () 1 1,3 2,1 2,2 3,2 2,1,3 2,3 3 2 3,3 2,2,2 0 4".replace("()", "").split(" ")
FLOATS = ["float64", "float64", "float64", "float32"]
OTHERS = ["int64", "bool", "uint8", "int32", "float16"]

# One table for each kind of statement. Placeholders: {n} a new name; {a} {b} any tensor; {f} {g} one
# with real numbers; {r} one that requires a gradient; {i} an index; {p} the tensor before; {d} an axis; {s} a number;
# {y} a type; {e} an expression of x that gives a tensor; {l} one that gives a single number.
TABLES: dict[str, tuple[int, list[str]]] = {
    "leaf": (2, [
        "{n} = t.{data}.requires_grad_()",
        "{n} = t.{data}",
        "{n} = t.{other}",
        "{n} = t.{data}.t().requires_grad_()",
        "{n} = t.{data}.repeat(2)[::2].requires_grad_()",
        "{n} = t.zeros_like({a})", "{n} = t.ones({shape})", "{n} = t.arange(6.0).reshape(2, 3)",
        "{n} = t.tensor({s})", "{n} = t.full({shape_}, {s})", "{n} = {a}.new_zeros(2, 3)",
        "{n} = t.eye(2)", "{n} = t.linspace(0, 1, 3)", "{n} = t.arange(3)",
    ]),
    "elementwise": (6, [
        "{n} = {f}.sin()", "{n} = {f}.exp()", "{n} = {f}.tanh()", "{n} = {f}.sigmoid()", "{n} = {f}.relu()", "{n} = {a}.abs()",
        "{n} = -{a}", "{n} = {a}.square()", "{n} = {f}.abs().sqrt()", "{n} = {f}.log1p()", "{n} = {a} ** 2", "{n} = {a} ** {s}",
        "{n} = {a} + {b}", "{n} = {a} - {b}", "{n} = {a} * {b}", "{n} = {a} / {b}", "{n} = {a} + {s}", "{n} = {s} - {a}",
        "{n} = {a} * {s}", "{n} = {s} / {a}", "{n} = {f} * {f}", "{n} = {r} * {g}", "{n} = {r} * {r}", "{n} = {r} + {r}",
        "{n} = t.maximum({a}, {b})", "{n} = t.where({a} > 0, {a}, {b})", "{n} = {a}.clamp(min=-0.5, max=1)", "{n} = {a} > {b}",
        "{n} = {a} == {b}", "{n} = {a}.sign()", "{n} = {f}.floor()", "{n} = {a} // {s}", "{n} = {a} % {s}",
        "{n} = F.softplus({f})", "{n} = F.leaky_relu({f})", "{n} = F.gelu({f})", "{n} = t.addcmul({f}, {g}, {g})",
        "{n} = {f}.lerp({g}, 0.5)", "{n} = {a}.masked_fill({a} > 0, {s})", "{n} = t.atan2({f}, {g}.abs() + 1)",
    ]),
    "copy": (2, [
        "{n} = {a}.clone()", "{n} = {a}.detach()", "{n} = {a}.data", "{n} = {a}.contiguous()", "{n} = {a}.detach().clone()",
        "{n} = {f}.detach().requires_grad_()", "{n} = {a}.to(t.{y})", "{n} = {a}.int()", "{n} = {a}.long()", "{n} = {a}.bool()",
        "{n} = {a}.double()", "{n} = {a}.float()", "{n} = {a}.type_as({b})", "{n} = t.tensor({a}.tolist())",
    ]),
    "view": (6, [
        "{n} = {a}[{i}]", "{n} = {a}[..., {i}]", "{n} = {a}[:, {i}]", "{n} = {a}[1:]", "{n} = {a}[:, :2]", "{n} = {a}[::2]",
        "{n} = {a}[None]", "{n} = {a}[..., None]", "{n} = {a}.t()", "{n} = {a}.T", "{n} = {a}.mT", "{n} = {a}.transpose(0, -1)",
        "{n} = {a}.reshape(-1)", "{n} = {a}.view(-1)", "{n} = {a}.reshape(3, -1)", "{n} = {a}.view(2, -1)", "{n} = {a}.flatten()",
        "{n} = {a}.unsqueeze({d})", "{n} = {a}.squeeze()", "{n} = {a}.squeeze({d})", "{n} = {a}.expand(2, -1, -1)",
        "{n} = {a}.expand_as({b})", "{n} = {a}.unbind({d})[0]", "{n} = {a}.split(1, {d})[0]", "{n} = {a}.chunk(2, {d})[0]",
        "{n} = {a}.diagonal()", "{n} = {a}.narrow({d}, 0, 1)", "{n} = {a}.select({d}, {i})", "{n} = {a}.movedim(0, -1)",
        "{n} = {a}.as_strided((2, 2), (1, 2))", "{n} = {a}.as_strided((2,), (2,), 1)", "{n} = {a}.view_as({b})",
        "{n} = {a}.unfold({d}, 2, 2)", "{n} = {a}.swapaxes(0, 1)", "{n} = t.broadcast_to({a}, (2, 3))", "{n} = {a}.permute(1, 0)",
        "{n} = {a}.view({a}.shape)", "{n} = {a}[:]", "{n} = {a}[...]",
    ]),
    "write": (7, [
        "{a} += {b}", "{a} -= {s}", "{a} *= {b}", "{a} *= {s}", "{a} /= {b}", "{a}.add_({b})", "{a}.sub_({b}, alpha=2)",
        "{a}.mul_({b})", "{f}.div_({s})", "{a}.copy_({b})", "{a}.zero_()", "{a}.fill_({s})", "{f}.exp_()", "{f}.sigmoid_()",
        "{f}.relu_()", "{a}.clamp_(min=0)", "{a}.neg_()", "{f}.tanh_()", "{a}.abs_()", "{f}.addcmul_({g}, {g})", "{a}.square_()",
        "{a}[{i}] = {b}", "{a}[{i}] = {s}", "{a}[..., {i}] = {b}", "{a}[:, :2] = {b}", "{a}[...] = {b}", "{a}[:] = {s}",
        "{a}[{a} > 0] = {s}", "{a}[[0, 1]] = {b}", "{a}[{i}] += {b}", "{a}[{i}] *= {s}", "{a}[:, 0].mul_({b})", "{a}[0].zero_()",
        "{a}.masked_fill_({a} > 0, {s})", "{a}.index_fill_({d}, t.tensor([0]), {s})", "{a}.t_()", "{a}.unsqueeze_({d})",
        "{a}.squeeze_()", "{a}.transpose_(0, -1)", "{a}.index_add_({d}, t.tensor([0, 1]), {b})", "{f}.lerp_({g}, 0.5)",
        "{a}.t().add_({b})", "{a}.view(-1)[{i}] = {s}", "{a}.diagonal().add_({s})", "{f}.fill_diagonal_({s})", "{a}.pow_(2)",
        "{a}.index_put_((t.tensor([0, 0]),), {b}, accumulate=True)", "{a}.scatter_(0, t.zeros_like({a}, dtype=t.int64), {b})",
        "{a}.cumsum_(0)", "{a}.masked_scatter_({a} > 0, {b}.clone())", "F.relu({f}, inplace=True)", "{a}.floor_divide_(2)",
    ]),
    "index": (3, [
        "{n} = {a}[[0, 1]]", "{n} = {a}[t.tensor([1, 0, 1])]", "{n} = {a}[{b} > 0]", "{n} = {a}[{a} > 0]", "{n} = {a}[:, [0]]",
        "{n} = {a}.gather({d}, t.zeros_like({a}, dtype=t.int64))", "{n} = {a}.index_select({d}, t.tensor([0, 0]))",
        "{n} = {a}.take(t.tensor([0, 1]))", "{n} = {a}.masked_select({a} > 0)", "{n} = {a}[t.tensor([True, False])]",
        "{n} = {a}[0, [0, 1]]", "{n} = {a}[[0], None]", "{n} = {a}[{i}, {i}]", "{n} = {a}[:, None, [0, 1]]", "{n} = {a}[True]",
        "{n} = {a}.flip({d})", "{n} = {a}.roll(1, {d})", "{n} = {a}.repeat(2, 1)", "{n} = {a}.tril()", "{n} = {a}.repeat_interleave(2)",
        "{n} = t.cat(({a}, {b}))", "{n} = t.cat(({a}, {a}), {d})", "{n} = t.stack(({a}, {b}), {d})", "{n} = t.cat((t.tensor([]), {a}))",
        "{n} = F.pad({a}, (1, 1))", "{n} = t.nonzero({a})", "{n} = {a}.scatter_add(0, t.zeros_like({a}, dtype=t.int64), {b})",
    ]),
    "reduction": (4, [
        "{n} = {a}.sum()", "{n} = {a}.sum({d})", "{n} = {f}.mean()", "{n} = {f}.mean({d}, keepdim=True)", "{n} = {a}.prod()",
        "{n} = {a}.prod({d})", "{n} = {a}.max()", "{n} = {a}.min()", "{n}, {m} = {a}.max({d})", "{n}, {m} = {a}.min({d})",
        "{n} = {f}.amax({d})", "{n} = {a}.argmax()", "{n} = {f}.var({d})", "{n} = {f}.std()", "{n} = {f}.norm()", "{n} = {f}.norm(dim={d})",
        "{n} = {f}.logsumexp({d})", "{n} = {a}.cumsum({d})", "{n} = {a}.cumprod({d})", "{n} = {a}.any()", "{n} = {a}.all({d})",
        "{n} = {f}.softmax({d})", "{n} = {f}.log_softmax({d})", "{n} = {a}.sum(dtype=t.{y})", "{n} = {a}.prod(dtype=t.float64)",
        "{n} = {a}.count_nonzero()", "{n} = {a}.cumsum({d}, dtype=t.float32)", "{n} = {f}.median()", "{n} = {a}.diff()",
    ]),
    "several": (2, [
        "{n}, {m} = {a}.sort({d})", "{n} = {a}.topk(2)[0]", "{n}, {m} = {a}.unbind({d})", "{n}, {m} = {a}.split(1)",
        "{n}, {m} = {a}.chunk(2, {d})", "{n}, {m} = t.aminmax({a})", "{n}, {m} = t.var_mean({f}, {d})", "{n}, {m} = {a}.cummax({d})",
        "{n}, {m} = t.tensor_split({a}, 2)", "{n}, {m} = t.meshgrid({a}, {b}, indexing='ij')", "{n} = {a}.kthvalue(1)[0]",
        "{n}, {m} = t.broadcast_tensors({a}, {b})", "{n}, {m} = t.unique({a}.detach(), return_counts=True)",
    ]),
    "product": (2, [
        "{n} = {a} @ {b}", "{n} = {f} @ {g}", "{n} = {f} @ {g}.t()", "{n} = t.outer({f}, {g})", "{n} = t.einsum('i,i->', {f}, {g})",
        "{n} = t.einsum('ij,ij->i', {f}, {g})", "{n} = {f}.mm({g})", "{n} = {f}.dot({g})", "{n} = F.linear({f}, {g})", "{n} = t.trace({f})",
        "{n} = F.mse_loss({f}, {g})", "{n} = F.cross_entropy({f}, t.tensor([0, 1]))", "{n} = F.l1_loss({f}, {g}, reduction='sum')",
        "{n} = F.layer_norm({f}, {f}.shape[-1:])", "{n} = F.binary_cross_entropy_with_logits({f}, {p}.detach())", "{n} = F.normalize({f}, dim={d})",
        "{n} = F.smooth_l1_loss({f}, {g})", "{n} = F.one_hot({a})", "{n} = F.cosine_similarity({f}, {g}, dim={d})",
        "{n} = F.avg_pool1d({f}, 2)", "{n} = F.max_pool1d({f}, 2)", "{n} = t.addmm({f}, {g}, {g})", "{n} = {f}.addmv({g}, {f})",
    ]),
    "flags": (2, [
        "{f}.requires_grad_()", "{a}.requires_grad_(False)", "{f}.retain_grad()", "{f}.register_hook(lambda g: g * 2)",
        "{f}.register_hook(lambda g: None)", "{a}.detach_()", "{f}.grad = None", "{f}.grad = t.ones_like({f})", "{r}.retain_grad()",
        "{f}.requires_grad = True", "{a}.data = {b}.data", "{r}.register_post_accumulate_grad_hook(lambda p: p.grad.mul_(2))",
    ]),
    "backward": (4, [
        "{r}.sum().backward()", "{r}.sum().backward(retain_graph=True)", "{r}.backward(t.ones_like({r}))", "{r}.backward()",
        "{n} = t.autograd.grad({r}.sum(), {r}, allow_unused=True)[0] * 1", "{n}, = t.autograd.grad(({r} ** 2).sum(), {r}, create_graph=True)",
        "{n}, {m} = t.autograd.grad({r}.sum(), [{r}, {f}], create_graph=True, allow_unused=True)",
        "{n}, {m} = t.autograd.grad(({r} * {r}).sum(), [{r}, {r}], retain_graph=True, allow_unused=True, materialize_grads=True)",
        "t.autograd.backward([{r}.sum(), {r}.sum()])", "{r}.sum().backward(inputs=[{r}])", "({r} * {r}).sum().backward(create_graph=True)",
        "t.autograd.backward({r}, t.ones_like({r}), retain_graph=True)",
    ]),
    "func": (2, [
        "{n} = t.func.grad(lambda x: {l})({f})", "{n} = t.func.jacrev(lambda x: {e})({f})", "{n} = t.func.jacfwd(lambda x: {e})({f})",
        "{n}, {m} = t.func.jvp(lambda x: {e}, ({f},), (t.ones_like({p}),))", "{n} = t.func.hessian(lambda x: {l})({f})",
        "{n} = t.func.vmap(lambda x: {e})({f})", "{n} = t.func.grad(lambda x: t.func.grad(lambda x: {l})(x).sum())({f})",
        "{n} = t.func.vmap(t.func.grad(lambda x: {l}))({f})", "{n} = t.func.grad(lambda x: t.func.vmap(lambda x: {e})(x).sum())({f})",
        "{n} = t.func.jvp(t.func.grad(lambda x: {l}), ({f},), (t.ones_like({p}),))[1]", "{n} = t.func.vjp(lambda x: {e}, {f})[0]",
        "{n} = t.func.grad(lambda x: t.func.jvp(lambda x: {e}, (x,), (x,))[1].sum())({f})",
        "{n} = t.func.jacfwd(t.func.jacrev(lambda x: {e}))({f})", "{n} = t.func.jacrev(t.func.jacfwd(lambda x: {e}))({f})",
        "{n}, {m} = t.func.jacrev(lambda x, y: ({e}) * y, argnums=(0, 1))({f}, {g})",
        "{n}, {m} = t.autograd.functional.jacobian(lambda x: ({e}, {l}), {f})", "{n} = t.autograd.functional.hessian(lambda x: {l}, {f})",
        "{n} = t.autograd.functional.jacobian(lambda x: {e}, {f}, create_graph=True)",
        "{n}, {m} = t.autograd.functional.vjp(lambda x: {e}, {f}, t.ones_like({p}))",
        "{n}, {m} = t.autograd.functional.jvp(lambda x: {e}, {f}, t.ones_like({p}))",
        "{n}, {m} = t.autograd.functional.hvp(lambda x: {l}, {f}, t.ones_like({p}))",
        "{n}, {m} = t.autograd.functional.vhp(lambda x: {l}, {f}, t.ones_like({p}))",
        "with t.autograd.forward_ad.dual_level():\n    {n} = D({f}, t.ones_like({p}))\n    {m} = {a} * {n}\n    {n} = T({m})",
        "with t.autograd.forward_ad.dual_level():\n    x = D({f}, t.ones_like({p}))\n    {n} = T({e})",
        "with t.autograd.forward_ad.dual_level():\n    {n} = D({f}.detach().clone(), t.ones_like({p}))\n    {m} = t.zeros_like({n})\n    x = {m}[0]\n    {m}.add_({n})\n    {n} = T(x)",
    ]),
    "module": (1, [
        "{n} = M('Linear', 3, 2)({f})", "{n} = M('Linear', 3, 2, bias=False)({f})", "{n} = M('LayerNorm', 3)({f})",
        "{n} = M('BatchNorm1d', 3)({f})", "{n} = M('BatchNorm1d', 3).eval()({f})", "{n} = M('Dropout', 0.5).eval()({f})",
        "{n} = M('BatchNorm1d', 3, affine=False)({f})", "{n} = M('ReLU', inplace=True)({f})", "{n} = M('Softmax', dim=-1)({f})",
        "{n} = M('Embedding', 4, 2)({a})", "{n} = M('Conv1d', 1, 2, 2)({f})", "{n} = M('MSELoss')({f}, {g})", "{n} = M('Flatten')({f})",
        "{n} = M('CrossEntropyLoss')({f}, t.tensor([0, 1]))", "{n} = M('MaxPool1d', 2)({f})", "{n}, {m} = M('GRU', 3, 2)({f})",
    ]),
}  # fmt: skip
EXPRESSIONS = [
    "x * x", "x.sin()", "x.exp() * {f}", "x * {r}", "x.clone().mul_(x)", "x.sum(-1)", "x @ x", "x.t() * 2", "x[0] * x", "x.cumsum(0)",
    "x.softmax(-1)", "x * x.detach()", "t.cat((x, x * 2))", "x.reshape(-1).prod(0)", "x.relu() + x.abs()", "x.max(0)[0]", "x ** 3",
    "t.stack((x, x.tanh()))", "x.clone().index_fill_(0, t.tensor([0]), 2)", "t.where(x > 0, x, x * x)", "x / (x * x + 1)", "{a} + 0",
    "x.unsqueeze(0).expand(2, *x.shape)", "(x + 5).norm(dim=-1)", "x.var(0, correction=0)", "x.sort(-1)[0]",
]  # fmt: skip
NUMBERS = ["2", "0.5", "-1", "0", "True", "1.5", "3"]
PREFIXES = ["with t.no_grad():", "with t.enable_grad():", "with t.set_grad_enabled(False):"]
# What PyTorch refuses and minigrad computes, as PYTORCH.md says; the rest of such a program is not compared.
ONLY_PYTORCH_REFUSES = [
    '" not implemented for ',  # no kernel for this type of number
    "refer to a single memory location. Please clone",  # writes that read what they overwrite
    "view size is not compatible",  # not in order in memory there, in order here
    "more than one element of the written-to tensor",  # a gradient that is an expanded number there
    "stack expects a non-empty TensorList",  # the Jacobian of no entries, or by none
    "Only Tensors of floating point and complex dtype",  # a derivative of whole numbers is zero here
    "Trying to backward through the graph a second time",  # what was freed there need not be saved here
    "output of a function that returns multiple views",  # of which one was written to under no_grad
    "out of range for tensor of size [0",  # vmap and Jacobians of nothing
    "has been modified by an inplace operation",  # a rule may read less here than there
    "cannot reshape tensor of 0 elements",
    "unallocated storage",  # of a Jacobian that is zero there without having memory
    "data is not allocated yet",  # the same
    "INTERNAL ASSERT",
    "max_pool1d: Expected",
    "Autograd not support dtype",
    "you can only change requires_grad flags of leaf",  # a derivative that is constant is a leaf here
    "out of bounds for storage",  # a gradient that is an expanded number there
    "Tensor post accumulate grad hooks should return None",  # kept there while the leaf required no gradient
    "must be floating-point or complex Tensors",
    "Expected primal to be floating point or complex",  # of no entries
    "leaf variable has been moved into the graph interior",  # a leaf that requires no gradient any more
    "saved tensor that has been detached in-place",  # the edges of the tape are as they were, here
    "ZeroTensors are immutable",
    "data set to a tensor that requires gradients",  # a derivative that is constant
    "derivative for",  # floor_divide and others, which have one here
    "unsupported operand type(s) for *: 'NoneType'",  # a hook that is called with None, as no gradient came
    "returned an invalid gradient at index",  # of a result whose shape was changed under no_grad
]
NAMED_FIRST_BY_PYTORCH = [  # of two faults
    "refer to a single memory location. Please clone",
    "leaf Variable that requires grad",
    "out of bounds for storage",
    "is out of bounds for dimension",
    "cannot be broadcast to indexing result",
    "1D target must have size 1",
    "tensor has no dimensions",
    "Index put requires the source and destination dtypes match",
    "Expected primal to be floating point or complex",
    "output of a function that returns multiple views",
    "self indexing axis dim should be positive",
    "object is not subscriptable",
    "stack expects a non-empty TensorList",
    "Trying to backward through the graph a second time",
    "'NoneType' object has no attribute 'mul_'",  # of two hooks after accumulation, the second
    "unsupported operand type(s) for *: 'NoneType'",
    "too many indices for tensor",
    "ZeroTensors are immutable",
    "Autograd not support dtype",
    "The shape of the mask",
    "returned an invalid gradient at index",  # of a tensor whose shape was changed under no_grad
]
ONLY_MINIGRAD_REFUSES = [
    "out of bounds for storage",
    "Trying to backward through the graph a second time",  # einsum is one node here, several there
    '"softmax" not implemented',  # of no entries
    '"pow" not implemented for',  # of truth values
    "Can't detach views in-place",  # of a view that is a tensor of its own there
    "expected scalar type",  # of two types
    "Should the write be recorded or not?",  # said when the view is used, not only when it is differentiated
    "more than one element of the written-to tensor",  # a whole write to an expanded tensor
    '"median" not implemented',  # of truth values
    '"scatter_add" not implemented',  # of truth values
    "as_strided: this",  # of memory that is not in order, or belongs to another tensor
]
ALMOST_ZERO = {2: 1e-3, 4: 1e-6, 8: 1e-9}
NAMES = [chr(c) for c in range(ord("a"), ord("z") + 1) if chr(c) not in "txl"]


# ---------------------------------------------------------------------- writing a program


def write(choose: Choose) -> list[str]:
    """A program of 5 to 20 statements."""
    run = Run(torch)
    lines: list[str] = []
    for k in range(5 + choose(16)):
        line = _statement(choose, run, "leaf" if k < 2 else None)
        hooked = re.search(r"(\w)\.register_hook", line)
        if hooked and run.scope[hooked[1]]._is_view():
            continue  # PyTorch 2.13 may end the process: a hook of a view whose base was written to
        if re.search("jac|hessian", line) and any(
            x.numel() > 40 for n, x in run.tensors() if re.search(rf"\b{n}\b", line)
        ):
            continue  # gigabytes
        if _reads_what_it_overwrites(line, run):
            continue  # PYTORCH.md
        data = re.search(r"(\w)\.data = (\w)", line)
        if data and run.scope[data[1]].shape != run.scope[data[2]].shape:
            continue  # PYTORCH.md: the backward pass of what was computed before
        lines.append(line)
        run.step(line)
        if run.loses_gradients() or any(
            x.numel() > 2000 or x._is_zerotensor() for _, x in run.tensors()
        ):  # PYTORCH.md: some zeros have no memory there
            return lines[:-1]
    return lines


WRITE = re.compile(r"(?:^|    )(?:F\.\w+\()?(\w)\b(?:[^=\n]*?)(?:_\(|, inplace|[-+*/ ]= )(.*)$")


def _reads_what_it_overwrites(line: str, run: "Run") -> bool:
    """Is it a write whose right side shows the same memory otherwise, or to a tensor that shows an entry twice?"""
    write = WRITE.search(line)
    x = run.scope.get(write[1]) if write else None
    if write is None or not isinstance(x, run.tensor):
        return False
    read = {run.scope.get(name) for name in re.findall(r"\b\w\b", write[2])}
    for _, y in run.tensors():
        if _memory(x) is None or _memory(x) != _memory(y):
            continue
        if any(step == 0 and size > 1 for step, size in zip(y.stride(), y.shape, strict=True)):
            return True
        if y in read and (".t()." in line or _place(x) != _place(y)):
            return True
    return False


def _memory(x: Any) -> Any:
    try:
        return x.untyped_storage().data_ptr()
    except RuntimeError:  # of a Jacobian that is zero without having memory
        return None


def _place(x: Any) -> Any:
    return x.storage_offset(), x.stride(), x.shape


def _statement(choose: Choose, run: "Run", kind: str | None) -> str:
    if kind is None:
        kinds = [name for name, (weight, _) in TABLES.items() for _ in range(weight)]
        kind = kinds[choose(len(kinds))]
    rows = TABLES[kind][1]
    row = rows[choose(3)] if kind == "leaf" and not run.names() else rows[choose(len(rows))]
    line = _filled(row, choose, run)
    if kind not in ("leaf", "func") and choose(10) == 0:
        line = PREFIXES[choose(len(PREFIXES))] + "\n    " + line
    return line


def _filled(row: str, choose: Choose, run: "Run") -> str:
    """The row with a choice for each placeholder; the same letter may be filled differently."""
    taken: dict[str, str] = {}

    def fill(match: Any) -> str:
        what = match[1]
        if what in ("n", "m"):
            if what not in taken:
                free = [x for x in NAMES if x not in run.scope and x not in taken.values()]
                taken[what] = free[0] if free else NAMES[choose(len(NAMES))]
            return taken[what]
        if what in ("e", "l"):
            inner = _filled(EXPRESSIONS[choose(len(EXPRESSIONS))], choose, run)
            return f"({inner}).sum()" if what == "l" else inner
        if what in ("data", "other"):
            kinds = FLOATS if what == "data" else OTHERS
            return _data(SHAPES[choose(len(SHAPES))], kinds[choose(len(kinds))], choose(4))
        if what == "shape":
            return SHAPES[choose(len(SHAPES))] or "1"
        if what == "shape_":
            return "(" + "".join(n + "," for n in SHAPES[choose(len(SHAPES))].split(",") if n) + ")"
        if what == "i":
            return ["0", "1", "-1"][choose(3)]
        if what == "d":
            return ["0", "-1", "1", "0"][choose(4)]
        if what == "s":
            return NUMBERS[choose(len(NUMBERS))]
        if what == "y":
            return (FLOATS + OTHERS)[choose(len(FLOATS) + len(OTHERS))]
        if what != "p":
            names = run.names(what)
            taken["p"] = names[-1 - choose(len(names))]
        return taken["p"]

    return re.sub(r"\{(\w+)\}", fill, row)


def _data(shape: str, dtype: str, seed: int) -> str:
    """`tensor([[...]], dtype=...)` with entries that no two kinds of arithmetic round differently."""
    sizes = [int(n) for n in shape.split(",") if n]
    n = int(np.prod(sizes))
    values = np.roll(
        np.array([0.5, -1.25, 2.0, 0.75, -0.5, 1.5, -2.25, 0.25, 1.0, -0.75, 3.0, 0.0]), seed
    )[:n]
    array = np.asarray(
        values.reshape(sizes), {"float": float, "bool": bool}.get(dtype.rstrip("0123456789"), int)
    )
    return f"tensor({abs(array).tolist() if dtype == 'uint8' else array.tolist()}, dtype=t.{dtype})"


# ---------------------------------------------------------------------- running it


class Run:
    """One library's run of a program: its variables, and what each statement raised."""

    def __init__(self, library: Any) -> None:
        forward = library.autograd.forward_ad
        self.library = library
        self.tensor = library.Tensor
        library.manual_seed(0)

        def module(name: str, *args: Any, **settings: Any) -> Any:
            layer = getattr(library.nn, name)(*args, **settings)
            return layer.double()

        self.scope: dict[str, Any] = {
            "t": library, "F": library.nn.functional, "M": module, "D": forward.make_dual,
            "T": lambda z: forward.unpack_dual(z).tangent,
        }  # fmt: skip
        self.errors: list[BaseException | None] = []
        self.born: dict[str, tuple[Any, int]] = {}  # each tensor, and its version when it was new
        self.near_zero = False  # was there ever a number that is zero but for rounding?

    def step(self, line: str) -> None:
        """Run one statement; a statement that raises leaves the variables as they are."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(line, self.scope)
                self.errors.append(None)
            except Exception as error:
                self.errors.append(error.with_traceback(None))
            for name, x in self.tensors():
                if name not in self.born or self.born[name][0] is not x:
                    self.born[name] = (x, x._version)
                    self.near_zero = self.near_zero or _nearly_zero(x)

    def tensors(self) -> list[tuple[str, Any]]:
        """The program's variables that are tensors."""
        return [(n, x) for n, x in self.scope.items() if n in NAMES and isinstance(x, self.tensor)]

    def names(self, kind: str = "a") -> list[str]:
        """The variables that a placeholder may stand for; any tensor, if there is none of the kind."""
        tensors = self.tensors()
        if kind in "fg":
            wanted = [n for n, x in tensors if x.is_floating_point()]
        elif kind == "r":
            wanted = [n for n, x in tensors if x.requires_grad]
        else:
            wanted = []
        return wanted or [n for n, _ in tensors]

    def loses_gradients(self) -> bool:
        """Has PyTorch a view that requires a gradient, which never reaches its base? See PYTORCH.md."""
        for _, v in self.tensors():
            try:
                if v._is_view() and v.requires_grad and v.is_leaf and v._base.requires_grad:
                    return True
            except RuntimeError:  # a view whose history cannot be found any more
                pass
        return False

    def depends_on_a_leaf(self, name: str) -> bool:
        """Has this tensor a derivative other than zero with respect to one of the leaves?"""
        z, leaves = self.scope[name], []
        for _, x in self.tensors():
            with contextlib.suppress(RuntimeError):  # a view whose history cannot be found any more
                leaves += [x] if x.is_leaf and x.requires_grad else []
        try:
            grads = self.library.autograd.grad(
                z.sum(), leaves, retain_graph=True, allow_unused=True
            )
        except (RuntimeError, ValueError):  # nothing that could be asked for
            return False
        return any(g is not None and bool((g.nan_to_num().abs() > 1e-12).any()) for g in grads)


def outcome(library: Any, lines: Sequence[str]) -> tuple[Run, dict[str, dict[str, Any]]]:
    """What each statement raised, and what can be seen of each variable at the end."""
    run = Run(library)
    for line in lines:
        run.step(line)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run, {n: _seen(x, run.born[n][1]) for n, x in run.tensors()}


def _seen(x: Any, version: int) -> dict[str, Any]:
    """What can be seen of a tensor that had this version when it was new."""
    found: dict[str, Any] = {"dtype": str(x.dtype).rpartition(".")[2], "shape": tuple(x.shape)}
    try:
        grad = x.grad
        found |= {
            "requires_grad": x.requires_grad,
            "is_leaf": x.is_leaf,
            "writes": x._version - version,
        }
        found["contiguous"] = x.is_contiguous()
    except RuntimeError as error:  # a view whose history cannot be found any more
        return found | {"refuses": type(error).__mro__[-4].__name__}
    found["value"] = _array(x)
    found["gradient"] = None if grad is None else _array(grad)
    return found


def _array(x: Any) -> Any:
    x = x.detach()
    return np.array((x.to_dense() if x.is_sparse else x).numpy(force=True))


# ---------------------------------------------------------------------- comparing


def differences(lines: Sequence[str]) -> list[str]:
    """One sentence for each thing that differs; the first is the earliest in the program."""
    (theirs, seen_theirs), (ours, seen_ours) = outcome(torch, lines), outcome(minigrad, lines)
    for k, (a, b) in enumerate(zip(theirs.errors, ours.errors, strict=True)):
        if a is None and b is None:
            continue
        if b is None:
            if any(phrase in str(a) for phrase in ONLY_PYTORCH_REFUSES) or _a_view_there_only(
                lines[k], theirs, ours
            ):
                return []
            if "to not have been used in the graph" in str(a) and any("func." in x for x in lines):
                return []  # the result of a transform is a view there, and has a new history once it is written to
            if "A view was created in no_grad mode" in str(a) and (
                not WRITE.search(lines[k])
                or re.match(r"\w = ", lines[k])
                or _is_of_whole_numbers(lines[k], theirs)
            ):
                return []  # it could require no gradient, or is not written to
            return [
                f"line {k}: PyTorch raises {type(a).__name__}: {str(a).splitlines()[0] if str(a) else ''}"
            ]
        if isinstance(b, MemoryError):
            return []
        if a is not None and any(phrase in str(a) for phrase in NAMED_FIRST_BY_PYTORCH):
            continue  # two faults, and each library names another first
        if isinstance(a, NotImplementedError) and isinstance(b, TypeError | RuntimeError):
            continue  # no kernel for a type there, refused for its type here
        if a is not None and '" not implemented for' in str(b):
            continue  # refused for its type before anything else is looked at
        if (
            "vmap" in lines[k]
            and isinstance(a, LookupError | RuntimeError)
            and isinstance(b, LookupError | RuntimeError)
        ):
            continue  # some checks there see the tensors with the mapped axis
        if a is None and _refused_here_only(b, lines, k, theirs):
            return []
        if a is None and _constant_there_only(lines[k], theirs, ours):
            return []
        if a is None and _none_here_and_zero_there(lines[k], theirs, ours):
            return []
        if not isinstance(b, Exception if a is None else type(a)) or a is None:
            expected = (
                "PyTorch does not" if a is None else f"PyTorch raises {type(a).__name__}: {a}"
            )
            return [f"line {k}: raises {type(b).__name__}: {str(b)[:200]}; {expected[:160]}"]
    failed = any(
        e is not None and re.search("grad|backward", line)
        for e, line in zip(ours.errors, lines, strict=True)
    )
    refused_write = any(
        e is not None and not re.match(r"(\w, )*\w,? = ", line)
        for e, line in zip(ours.errors, lines, strict=True)
    )
    written = any(WRITE.search(line) for line in lines)
    hooked = any("register_hook" in line for line in lines) and any(
        re.search(r"autograd\.grad\(.*\[", line) for line in lines
    )
    smallest_type = min(
        [8, *(x.element_size() for _, x in theirs.tensors() if x.is_floating_point())]
    )
    limit = {2: 10.0, 4: 1e3, 8: 1e6}[smallest_type]
    large = any(
        seen["value"].dtype.kind == "f" and (abs(seen["value"]) > limit).any()
        for seen in seen_theirs.values()
        if "value" in seen
    )
    if _asks_a_tangent_for_its_value(lines):
        return []  # the tangent may be computed from the value here
    if theirs.near_zero or ours.near_zero or any(_nearly_zero(x) for _, x in ours.tensors()):
        return []  # a zero but for rounding: what is above it, and what it is divided by, differs with the order of a sum
    if any(
        name in ours.scope
        and _kind_of_copy(theirs, name) != _kind_of_copy(ours, name)
        and any(re.search(rf"\b{name} = .*(reshape|flatten|contiguous)", line) for line in lines)
        for name, _ in theirs.tensors()
    ):
        return []  # in order in memory in one of the two, so that the one is a view and the other a copy
    for line in lines:
        source = re.search(r"(\w)\.as_strided", line)
        if source and _strides(theirs, source[1]) != _strides(ours, source[1]):
            return []  # it shows how results lie in memory
    if any(_nearly_tied(seen["value"]) for seen in seen_ours.values() if "value" in seen):
        return []  # which of two equal entries is the greater depends on rounding
    found = []
    for name in {**seen_theirs, **seen_ours}:
        a, b = seen_theirs.get(name), seen_ours.get(name)
        if a is None or b is None:
            if not any(ours.errors):  # assigned in the first half of a statement that raised
                found.append(f"{name} is missing")
            continue
        if (
            "refuses" in a
        ):  # a view whose history PyTorch cannot find; here that is said when it is used
            continue
        for what in {**a, **b}:
            if what == "contiguous" and (b.get(what) or theirs.scope[name]._is_view()):
                continue  # more may be in order than in PyTorch, not less
            if what == "contiguous" and any(
                re.search(r"t_\(\)|transpose_|expand|broadcast|func|forward_ad|grad\(|sort", line)
                for line in lines
            ):
                continue  # what is in order here and was not there, exchanged; results of expanded tensors
            if what == "gradient" and theirs.scope[name]._is_view() and written:
                continue  # a leaf that is a view loses gradients when its memory is written to
            if what in ("value", "gradient") and large:
                continue  # the sine of a large number is another one for each way of rounding
            if what in ("value", "shape") and refused_write:
                continue  # what a write that was refused had written by then
            if what in ("value", "gradient") and hooked:
                continue  # PyTorch gives what came before the hook, or after it, as other inputs are asked for
            if what == "gradient" and (failed or refused_write):
                continue  # how far a pass came before it raised
            if what == "gradient" and a[what] is None and not np.any(b[what]):
                continue  # the derivative of //, which is zero here
            if (
                what in ("value", "gradient")
                and a[what] is not None
                and np.isnan(a[what]).any()
                and any("prod" in line for line in lines)
            ):
                continue  # the third derivative of a product with a zero in it, NaN there
            if what == "dtype" and any("einsum" in line for line in lines):
                continue  # einsum of whole numbers, of which one has a letter of length 1
            if (
                what == "value"
                and not all(x.numel() for _, x in theirs.tensors())
                and any("forward_ad" in line for line in lines)
            ):
                continue  # the tangent of a variance of nothing
            if _same(a.get(what), b.get(what), smallest_type):
                continue
            if what == "is_leaf" and (
                a.get("requires_grad") != b.get("requires_grad")
                or not theirs.depends_on_a_leaf(name)
            ):
                continue
            if what == "writes" and (
                not theirs.scope[name].numel()
                or any("func." in line for line in lines)
                and any("latten" in line for line in lines)
            ):
                continue  # what is a view of nothing, or of a derivative that lies otherwise there
            if what == "requires_grad" and _views_of_what_is_no_view_here(lines):
                continue
            if what in ("requires_grad", "writes") and _may_be_shared(name, lines):
                continue  # what is done to the one is done to the other
            if what in ("value", "gradient", "writes") and _is_written_through_another(lines):
                continue  # two gradients of one call show one memory there
            if what == "requires_grad" and not (theirs if a.get(what) else ours).depends_on_a_leaf(
                name
            ):
                continue  # a derivative that is constant
            found.append(f"{name}.{what} is {b.get(what)!r}, in PyTorch {a.get(what)!r}")
    return found


def _kind_of_copy(run: Run, name: str) -> Any:
    """Is this a view; and is it the very tensor that another name has?"""
    x = run.scope[name]
    return x._is_view(), any(y is x for n, y in run.tensors() if n != name)


def _strides(run: Run, name: str) -> Any:
    x = run.scope.get(name)
    return tuple(x.stride()) if isinstance(x, run.tensor) else None


def _asks_a_tangent_for_its_value(lines: Sequence[str]) -> bool:
    """Is the gradient with respect to a value asked for that func.jvp gave together with its tangent?"""
    values = [m[1] for line in lines if (m := re.search(r"(\w), \w = t\.func\.jvp", line))]
    asked = [m[1] for line in lines if (m := re.search(r"autograd\.grad\(.*\[(.*?)\]", line))]
    return any(re.search(rf"\b{value}\b", names) for value in values for names in asked)


def _nearly_zero(x: Any) -> bool:
    """Is an entry zero but for rounding?"""
    if not x.is_floating_point():
        return False
    value = _array(x)
    return bool(((value != 0) & (abs(value) < ALMOST_ZERO[value.itemsize])).any())


def _nearly_tied(value: Any) -> bool:
    """Are two entries equal but for rounding?"""
    if value.dtype.kind != "f":
        return False
    apart = np.diff(np.sort(value[np.isfinite(value)]))
    return bool(((apart > 0) & (apart < ALMOST_ZERO[value.itemsize])).any())


def _refused_here_only(error: Exception, lines: Sequence[str], k: int, theirs: Run) -> bool:
    """Is line k one that minigrad refuses on purpose? See PYTORCH.md."""
    nothing = any(not x.numel() for n, x in theirs.tensors() if re.search(rf"\b{n}\b", lines[k]))
    return (
        any(phrase in str(error) for phrase in ONLY_MINIGRAD_REFUSES)
        # PyTorch looks at no dims and no indices of a tensor without entries
        or (nothing and isinstance(error, IndexError | ValueError | TypeError | RuntimeError))
        # a gradient has memory of its own here, and may be an expanded number there
        or ("view size is not compatible" in str(error) and any("grad(" in line for line in lines))
        # other things are kept there
        or re.match("MaxPool2DWithIndicesBackward|CrossEntropyBackward", str(error)) is not None
        # a result whose shape was changed under no_grad
        or (
            "could not broadcast" in str(error)
            and any(re.search(r"with .*\n.*(transpose_|t_|squeeze_)\(", line) for line in lines)
        )
        # said here when the view is used, there when it is differentiated
        or (
            "has been modified inplace" in str(error)
            and re.search(r"\.(long|int|bool|to)\(|[=<>] ", lines[k]) is not None
        )
        # a derivative that is constant requires no gradient here
        or (
            re.search("does not require grad|requires_grad=False", str(error))
            and any("forward_ad" in line or "func" in line for line in lines)
        )
    )


def _a_view_there_only(line: str, theirs: Run, ours: Run) -> bool:
    """Is something written to that is a view in PyTorch, and a tensor of its own here?"""
    written = line.rpartition("\n")[2].strip()[:1]
    if not all(isinstance(run.scope.get(written), run.tensor) for run in (theirs, ours)):
        return False
    return bool(
        theirs.scope[written]._is_view() and getattr(ours.scope[written], "origin", None) is None
    )


def _may_be_shared(name: str, lines: Sequence[str]) -> bool:
    """May this tensor, in PyTorch, be another gradient of the same call, or show an input's memory?"""
    return any(
        re.match(rf"(\w, )?{name}(, \w)? = t\.(autograd\.grad\(.*\[|func\.)", line)
        for line in lines
    )


def _is_written_through_another(lines: Sequence[str]) -> bool:
    """Is there a write to one of two gradients that a call gave?"""
    calls = [m for line in lines if (m := re.match(r"(\w), (\w) = t\.(autograd\.grad|func)", line))]
    given = {name for m in calls for name in m.groups()[:2]}
    return any((w := WRITE.search(line)) is not None and w[1] in given for line in lines)


def _views_of_what_is_no_view_here(lines: Sequence[str]) -> bool:
    """Does a dual, or the result of a transform, both of them views there, come to require a gradient?

    Or does a tensor forget its history, of which there are views?
    """
    text = "\n".join(lines)
    if ".detach_()" in text:
        return True
    comes_to = re.search(r"requires_grad( = True|_\(\))", text) is not None
    return comes_to and re.search(r"\bD\(|func\.", text) is not None


def _is_of_whole_numbers(line: str, theirs: Run) -> bool:
    """Is what the line writes to a tensor of whole numbers?"""
    x = theirs.scope.get(line.rpartition("\n")[2].strip()[:1])
    return isinstance(x, theirs.tensor) and not x.is_floating_point()


def _none_here_and_zero_there(line: str, theirs: Run, ours: Run) -> bool:
    """Does the line use a gradient that is zero for certain? With allow_unused it is None here."""
    zeros = [n for n, x in theirs.tensors() if not np.any(_array(x))]
    return any(
        n in ours.scope and ours.scope[n] is None and re.search(rf"\b{n}\b", line) for n in zeros
    )


def _constant_there_only(line: str, theirs: Run, ours: Run) -> bool:
    """Does the line ask for the gradient of something that has none but zero?"""
    try:
        names = [
            n
            for n, x in ours.tensors()
            if re.search(rf"\b{n}\b", line) and not x.requires_grad
            if theirs.scope[n].requires_grad
        ]
    except (RuntimeError, KeyError):  # a view whose history cannot be found any more
        return False
    return bool(names) and not any(theirs.depends_on_a_leaf(n) for n in names)


def _same(a: Any, b: Any, smallest_type: int) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return type(a) is type(b) and a == b
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    # Sums may be taken in another order, and in the smallest type that occurs in the program.
    tolerance = {2: 2e-2, 4: 1e-4, 8: 1e-8}[min(a.dtype.itemsize, smallest_type)]
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))


def kind_of(line: str) -> str:
    """A statement without its names, to tell differences of one kind from another."""
    return re.sub(r"\b[a-z]\b", "_", line.replace("lambda x", "lambda")).replace("\n", " ")


def smallest(lines: Sequence[str]) -> list[str]:
    """The program without the statements that its difference does not need."""
    lines = list(lines)
    wanted = _category(differences(lines))
    for size in (8, 4, 2, 1, 1):
        k = len(lines)
        while k > 0:
            k -= size
            shorter = lines[: max(k, 0)] + lines[max(k, 0) + size :]
            if len(shorter) < len(lines) and _category(differences(shorter)) == wanted:
                lines = shorter
    return lines


def _category(found: list[str]) -> str:
    """The difference without names, numbers and values."""
    if not found:
        return ""
    return re.sub(r"line \d+|\b[a-z]\.|\d+|array.*", "", found[0])[:48]


def program(seed: int, number: int) -> list[str]:
    """The same program for the same numbers."""
    return write(random.Random(seed * 10_000_019 + number).randrange)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--show", type=int, default=20, help="how many kinds of differences to show"
    )
    options = parser.parse_args()
    kinds: dict[str, list[Any]] = collections.defaultdict(list)
    wrong = 0
    for k in range(options.programs):
        lines = program(options.seed, k)
        found = differences(lines)
        if found:
            wrong += 1
            if len(kinds) < 10 * options.show:
                lines = smallest(lines)
                found = differences(lines)
                kinds[_category(found) + " | " + kind_of(lines[-1])].append((k, lines, found))
    for kind, cases in sorted(kinds.items(), key=lambda kv: -len(kv[1]))[: options.show]:
        k, lines, found = min(cases, key=lambda case: len(case[1]))
        print(f"--- {len(cases)} like program {k}: {kind}")
        print("\n".join([*lines, *(f"    # {sentence}" for sentence in found[:3])]))
    print(f"{options.programs} programs, seed {options.seed}: {wrong} differ")


if __name__ == "__main__":
    main()
