"""The table of OPS.md: what of each op is compared with PyTorch. Needs no PyTorch itself.

    python -m tests.against_torch.table        writes OPS.md again

A cell says "yes" if test_every_op.py compares it, at every line of samples.py; a dash if there
is nothing to compare; otherwise a number, under which the page says why not.
"""

import inspect
import re
from pathlib import Path

import minigrad
from minigrad.core.op import REGISTRY, Op
from minigrad.methods import ArrayMethods
from minigrad.methods.rows import SYNONYMS
from tests.against_torch.spellings import ONLY_A_RULE, PARTS_OF_A_LAYER
from tests.samples import SAMPLES

PROPERTIES = {
    "value": "value",
    "gradient": "gradient",
    "tangent": "tangent",
    "second": "second derivative",
    "types": "types",
}
PAGE = Path(__file__).parents[2] / "OPS.md"

NONE_THERE = "PyTorch has no such derivative; here it is 0 wherever it is defined."
NOT_COMPARED = {
    **{(f"{name}", "types"): "If input and target have two floating dtypes, PyTorch uses the dtype of the input; here it is the larger of the two."
       for name in ("huber_loss", "binary_cross_entropy_with_logits")},
    ("floor_divide", "gradient"): NONE_THERE,
    ("floor_divide", "tangent"): NONE_THERE,
    ("floor_divide", "second"): NONE_THERE,
    ("hardsigmoid", "second"): NONE_THERE,
    ("scatter_mul", "tangent"): "In PyTorch, `scatter_reduce` with `prod` has no tangent.",
    ("baddbmm", "types"): "For integers, PyTorch rounds a fractional `beta` or `alpha`; here, it is refused.",
    ("window_sum", "types"): "The mean of integers is an integer in PyTorch, and a float here.",
}  # fmt: skip
REMARKS = {
    "add": "`x.add(y, alpha=)` as well", "sub": "`x.sub(y, alpha=)` as well", "div": "`rounding_mode=` as well",
    "to": "`memory_format` is left out: there is one layout per view",
    "view": "`x.view(dtype)` as well; the result has no history",
    "clone": "`memory_format` is left out", "gather": "`sparse_grad` is accepted and ignored",
    "scatter": "from a tensor or a number; `reduce=` as well, with gradients, which PyTorch has only in `scatter_reduce`",
    "scatter_mul": 'as `scatter_reduce(..., "prod")`; with several zeros in one place, PyTorch has no second derivative',
    "sum": "`axis`, `keepdims` as well; sparse layouts are left out", "linalg_vector_norm": "also `\"fro\"` and `\"nuc\"`",
    "max": "the first of equal entries", "min": "the first of equal entries",
    "det": "for a singular matrix, the gradient is the matrix of cofactors; in PyTorch it is 0",
    "logcumsumexp": "PyTorch's tangent fails on empty tensors",
    "eigenvectors": "up to sign, which neither library defines",
    "left_vectors": "up to sign; with `full_matrices=True` the added columns count as constant",
    "right_vectors": "as for `left_vectors`",
    "q_factor": "`mode=\"reduced\"`", "r_factor": "as for `q_factor`",
    "cross_entropy": "with weights, `ignore_index`, `label_smoothing`, distributions as targets: tests/against_torch/test_functional.py",
    "convolution": "one and two axes; `conv3d` is left out", "convolution_dx": "the transposed convolutions; three axes are left out",
    "max_pool2d": "one and two axes; `max_unpool` is left out", "window_sum": "one and two axes",
    "embedding": "`max_norm`, `scale_grad_by_freq`, `sparse` as well", "standardize": "`batch_norm`, `layer_norm`, `group_norm`, `instance_norm`",
    "einsum": "subscripts as text or as lists", "round": "`decimals=` as well",
}  # fmt: skip


def compared(name: str, what: str) -> str:
    """ "yes", "–" if there is nothing to compare, or the reason why it is not compared."""
    op = REGISTRY[name]
    if name in ONLY_A_RULE or name in PARTS_OF_A_LAYER:
        return "–"
    if what in ("gradient", "tangent", "second") and not op.rules:
        return "–"
    real = any(a.dtype.kind == "f" for s in SAMPLES if s.op is op for a in s.args)
    if not real and what != "value":
        return "–"
    return NOT_COMPARED.get((name, what), "yes")


def sources() -> dict[str, str]:
    """Every method, and every function of nn.functional and linalg, with what it is made of."""
    found = {
        name: inspect.getsource(member.fget if isinstance(member, property) else member)
        for name in dir(ArrayMethods)
        if inspect.isfunction(member := inspect.getattr_static(ArrayMethods, name))
        or isinstance(member, property)
    }
    for op in REGISTRY.values():  # the methods that follow from rows, and their other names
        found |= dict.fromkeys(op.methods, f"ops.{op.name}")
    for synonym, own in SYNONYMS.items():
        for end in ("", "_"):
            if synonym + end in found and own + end in found:
                found[synonym + end] = found[own + end]
    found = {name: found[name] for name in sorted(found)}
    for prefix, module in (("F.", minigrad.nn.functional), ("linalg.", minigrad.linalg)):
        for name in sorted(module.__all__):
            if inspect.isfunction(function := getattr(module, name)):
                found[prefix + name] = inspect.getsource(function)
    return found


OPERATORS = {
    "__add__": "+", "__sub__": "-", "__mul__": "*", "__truediv__": "/", "__floordiv__": "//", "__mod__": "%",
    "__pow__": "**", "__matmul__": "@", "__neg__": "-x", "__abs__": "abs()", "__eq__": "==", "__ne__": "!=",
    "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">=", "__and__": "&", "__or__": "\\|", "__xor__": "^",
    "__invert__": "~", "__lshift__": "<<", "__rshift__": ">>", "__getitem__": "x[...]", "__setitem__": "x[...] =",
}  # fmt: skip


def names_of(op: Op, written: dict[str, str]) -> str:
    """The names under which users meet the op: operators, methods, functions of nn and linalg."""
    if op.name in ONLY_A_RULE:
        return f"the rule of {ONLY_A_RULE[op.name]}"
    if op.name in PARTS_OF_A_LAYER:
        return f"a part of `{PARTS_OF_A_LAYER[op.name]}`"
    uses = [n for n, source in written.items() if re.search(rf"\bops\.{op.name}\b", source)]
    operators = [OPERATORS[n] for n in OPERATORS if n in uses]
    plain = [n for n in uses if not n.startswith("_")]
    if not plain and not operators:
        plain = [op.name] if hasattr(minigrad, op.name) else []
    return ", ".join(f"`{n}`" for n in operators + plain)


EXTRA_NAMES = {
    "prelu_kernel": "`prelu`", "constant_in": "the gradients of `relu` and its like, in `create_graph`", "special_entr": "`special.entr`", "to": "`to`, `astype`, `type_as`, `float`, `long` and so on",
    "cat": "`cat`, `concat`, `hstack`, `vstack`", "stack": "`stack`", "where": "`where`", "einsum": "`einsum`",
    "scale_and_shift": "`F.batch_norm`, `F.layer_norm`, `F.group_norm`, with weight and bias",
    "max_pool2d": "`F.max_pool2d`, `F.max_pool1d`", "window_sum": "`F.avg_pool2d`, `F.avg_pool1d`",
    "convolution": "`F.conv2d`, `F.conv1d`", "convolution_dx": "`F.conv_transpose2d`, `F.conv_transpose1d`",
    "linalg_vector_norm": "`norm`, `linalg.vector_norm`", "scatter_add": "`scatter_add`, `scatter_add_`, `index_add`",
    "scatter_extreme": "`scatter_reduce(..., \"amax\")`, `\"amin\"`",
    "scatter_mul": "`scatter(reduce=\"multiply\")`, `scatter_reduce`", "scatter": "`scatter`, `scatter_`",
    "getitem": "`x[...]`, `narrow`, `select`, `split`, `chunk`, `unbind`, `take`", "clamp": "`clamp`, `clamp_`, `clip`", "rounded_div": "`div(rounding_mode=)`",
    "transpose": "`transpose`, `transpose_`, `swapaxes`, `mT`", "positive": "`+x`, `positive`",
    "permute": "`permute`, `T`, `movedim`", "roll": "`roll`", "put_diagonal": "`diag`, `diag_embed`, `diagonal_scatter`",
    "logabsdet": "`slogdet`, `logdet`", "determinant_sign": "`slogdet`", "matrix_exp": "`matrix_exp`", "view": "`view`, `view_as`, `unflatten`",
    "max": "`max(dim)`", "min": "`min(dim)`", "amax": "`amax`, `max()`", "amin": "`amin`, `min()`", "inverse": "`inverse`, `linalg.inv`",
    "left_vectors": "`linalg.svd`", "right_vectors": "`linalg.svd`", "q_factor": "`linalg.qr`", "r_factor": "`linalg.qr`",
    "linalg_pinv": "`linalg.pinv`, `linalg.lstsq`", "linalg_solve": "`linalg.solve`, `linalg.solve_triangular`",
    "singular_values": "`linalg.svdvals`, `linalg.svd`, `norm(\"nuc\")`", "logical_not": "`logical_not`, `logical_not_`", "copy": "`copy_`, `fill_`, `zero_`, `x[...] =`",
    "det": "`det`, `linalg.det`", "cholesky": "`cholesky`, `linalg.cholesky`", "eigenvalues": "`linalg.eigvalsh`, `linalg.eigh`", "eigenvectors": "`linalg.eigh`",
    "threshold": "`F.threshold`, `F.threshold_`", "leaky_relu": "`F.leaky_relu`, `F.leaky_relu_`, `F.rrelu`",
    "cumsum": "`cumsum`, `cumsum_`", "cumprod": "`cumprod`, `cumprod_`", "logcumsumexp": "`logcumsumexp`",
}  # fmt: skip


def page() -> str:
    written, reasons = sources(), sorted(set(NOT_COMPARED.values()))
    chapters: dict[str, list[str]] = {}
    for op in REGISTRY.values():
        cells = []
        for what in PROPERTIES:
            found = compared(op.name, what)
            cells.append(found if found in ("yes", "–") else f"[{reasons.index(found) + 1}]")
        names = EXTRA_NAMES.get(op.name) or names_of(op, written)
        row = [f"`{op.name}`", names, *cells, REMARKS.get(op.name, "")]
        chapters.setdefault(op.__module__.rpartition(".")[2], []).append(f"| {' | '.join(row)} |")
    lines = [
        "# Every operation, compared with PyTorch's",
        "",
        "`python -m tests.against_torch.table` writes this page, and a test fails if it is out of date. **yes**",
        "means that `tests/against_torch/test_every_op.py` compares it with PyTorch, on every line of",
        "`tests/samples.py` for the operation. `types` are the dtypes of results, for all mixtures of float32,",
        "float64 and int64 that PyTorch accepts. A dash means that there is nothing to compare. What is built from",
        "these operations (sorting, losses, norms, attention and so on) is compared in other files of that folder.",
        "",
        "Left out everywhere: `out=` in nn.functional, devices other than the CPU, complex and quantized numbers in",
        "rules, sparse tensors other than gradients of tables, named tensors. `F.` is `minigrad.nn.functional`.",
        "",
        *(f"{k}. {reason}" for k, reason in enumerate(reasons, 1)),
    ]
    head = ["op", "written", *PROPERTIES.values(), "remarks"]
    for chapter, rows in chapters.items():
        lines += [
            "",
            f"## {chapter}",
            "",
            f"| {' | '.join(head)} |",
            "|---" * len(head) + "|",
            *rows,
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
