"""How users write each op of the table: the same spelling for minigrad and for PyTorch.

    SPELLINGS["sum"](m, x, axis=(0,), keepdims=True)   is   m.sum(x, dim=(0,), keepdim=True)

The arguments are those of a line of samples.py: tensors for the operands, and the op's own
settings. What is not said here is spelled as a function of the op's name, `axis` as `dim`
and `keepdims` as `keepdim`.
"""

from typing import Any

import numpy as np


def tensor(m: Any, a: Any) -> Any:
    """A constant for either library: an index, a mask, a weight."""
    return m.tensor(np.array(a))


def at(m: Any, index: Any) -> Any:
    """An index with tensors in place of its arrays."""
    return tuple(tensor(m, i) if isinstance(i, np.ndarray) else i for i in index)


def plain(name: str) -> Any:
    def spelled(m: Any, *xs: Any, **settings: Any) -> Any:
        renamed = {{"axis": "dim", "keepdims": "keepdim"}.get(k, k): v for k, v in settings.items()}
        return getattr(m, name)(*xs, **renamed)

    return spelled


def of_nn(name: str) -> Any:
    return lambda m, *xs, **settings: getattr(m.nn.functional, name)(*xs, **settings)


def axes(x: Any, axis: Any) -> Any:
    return tuple(range(x.ndim)) if axis is None else axis


def symmetric(x: Any) -> Any:
    return (x + x.mT) / 2


def margin(m: Any, x: Any, padding: Any, value: float = 0.0) -> Any:
    if not any(padding):
        return x
    top, bottom, left, right = padding
    return m.nn.functional.pad(x, (left, right, top, bottom), value=value)


def class_loss(name: str) -> Any:
    def spelled(m: Any, x: Any, target: Any, weights: Any, axis: int, reduced: bool) -> Any:
        z = getattr(m.nn.functional, name)(x, tensor(m, target), reduction="none")
        z = z * tensor(m, weights).to(z.dtype)
        return z.sum() if reduced else z

    return spelled


def standardize(m: Any, x: Any, axis: Any, eps: float) -> Any:
    if axis == (1,):
        return m.nn.functional.layer_norm(x, (x.shape[1],), eps=eps)
    return m.nn.functional.batch_norm(x, None, None, training=True, eps=eps)


def convolution(
    m: Any, x: Any, w: Any, b: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1
) -> Any:
    bias = b if b.numel() else None
    return m.nn.functional.conv2d(margin(m, x, padding), w, bias, stride, 0, dilation, groups)


def convolution_dx(
    m: Any, y: Any, w: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int = 1
) -> Any:
    z = m.nn.functional.conv_transpose2d(y, w, stride=stride, dilation=dilation, groups=groups)
    top, bottom, left, right = padding
    below, beside = shape[2] + top + bottom - z.shape[2], shape[3] + left + right - z.shape[3]
    z = m.nn.functional.pad(z, (0, beside, 0, below))
    return z[..., top : top + shape[2], left : left + shape[3]]


def pad(m: Any, x: Any, widths: Any, value: float = 0) -> Any:
    return m.nn.functional.pad(x, [n for pair in widths[::-1] for n in pair], value=value)


def resample(m: Any, x: Any, matrices: Any) -> Any:
    for axis, matrix in enumerate(matrices, x.ndim - len(matrices)):
        x = x if matrix is None else (x.movedim(axis, -1) @ tensor(m, matrix)).movedim(-1, axis)
    return x


def binary_cross_entropy(m: Any, x: Any, y: Any, reduction: str = "mean") -> Any:
    x, y = m.broadcast_tensors(x, y)
    return m.nn.functional.binary_cross_entropy(x, y, reduction=reduction)


SPELLINGS: dict[str, Any] = {
    # arrangement
    "reshape": lambda m, x, shape: m.reshape(x, shape),
    "view": lambda m, x, shape: x.view(shape),
    "softshrink": lambda m, x, lambd=0.5: m.nn.functional.softshrink(x, lambd),
    "prelu_kernel": lambda m, x, w: m.nn.functional.prelu(x, w.reshape(-1)),
    "constant_in": lambda m, d, x, node_name: d + x.detach() - x.detach(),
    "unsafe_view": lambda m, x, shape: x.reshape(shape),
    "permute": lambda m, x, dims: m.permute(x, dims),
    "transpose": lambda m, x, dim0, dim1: m.transpose(x, dim0, dim1),
    "expand": lambda m, x, shape: x.expand(shape),
    "squeeze": lambda m, x, axis: m.squeeze(x, axis),
    "diagonal": lambda m, x, offset=0, dim1=0, dim2=1: m.diagonal(x, offset, dim1, dim2),
    "put_diagonal": lambda m, x, shape, offset=0, dim1=0, dim2=1: m.diagonal_scatter(m.zeros(shape, dtype=x.dtype), x, offset, dim1, dim2),
    "im2col": lambda m, x, kernel_size, stride, padding, dilation: m.nn.functional.unfold(x, kernel_size, dilation, padding[::2], stride),
    "col2im": lambda m, x, shape, kernel_size, stride, padding, dilation: m.nn.functional.fold(x, shape, kernel_size, dilation, padding[::2], stride),
    "unfold": lambda m, x, axis, size, step: x.unfold(axis, size, step),
    "flip": lambda m, x, dims: m.flip(x, dims),
    "roll": lambda m, x, shifts, dims=None: m.roll(x, shifts, dims),
    "tile": lambda m, x, repeats: m.tile(x, repeats),
    "cat": lambda m, *xs, axis: m.cat(xs, axis),
    "stack": lambda m, *xs, axis: m.stack(xs, axis),
    "as_strided": lambda m, x, size, stride, storage_offset: m.as_strided(x, size, stride, storage_offset),
    "polygamma": lambda m, x, order: m.polygamma(order, x),
    "copy": lambda m, x, y: (x * 1).copy_(y),
    "to": lambda m, x, dtype: x.to(getattr(m, dtype.name)),
    # indexing
    "getitem": lambda m, x, index: x[at(m, index)],
    "index_put": lambda m, x, y, index, accumulate=False: m.index_put(x, at(m, index), y, accumulate),
    "gather": lambda m, x, index, axis: m.gather(x, axis, tensor(m, index)),
    "scatter": lambda m, x, y, index, axis: m.scatter(x, axis, tensor(m, index), y.expand(index.shape)),
    "scatter_add": lambda m, x, y, index, axis: m.scatter_add(x, axis, tensor(m, index), y.expand(index.shape)),
    "scatter_extreme": lambda m, x, y, index, axis, largest: m.scatter_reduce(
        x, axis, tensor(m, index), y.expand(index.shape), "amax" if largest else "amin"),
    "scatter_mul": lambda m, x, y, index, axis: m.scatter_reduce(x, axis, tensor(m, index), y.expand(index.shape), "prod"),
    "index_select": lambda m, x, index, axis: (x if index.ndim == 1 else x.flatten(axis)).index_select(axis, tensor(m, index.ravel())).reshape(*x.shape[:axis], *index.shape, *x.shape[axis + index.ndim:]),
    "masked_fill": lambda m, x, y, mask: m.masked_fill(x, tensor(m, mask), y),
    # reductions
    "max": lambda m, x, at, axis, keepdims=False: m.max(x, axis, keepdims)[0],
    "min": lambda m, x, at, axis, keepdims=False: m.min(x, axis, keepdims)[0],
    "logsumexp": lambda m, x, axis=None, keepdims=False: m.logsumexp(x, axes(x, axis), keepdims),
    "linalg_vector_norm": lambda m, x, p=2, axis=None, keepdims=False: m.linalg.vector_norm(x, p, axis, keepdims),
    # products and matrices
    "einsum": lambda m, *xs, equation: m.einsum(equation, *xs),
    "linalg_solve": lambda m, x, y: m.linalg.solve(x, y),
    "logabsdet": lambda m, x: m.slogdet(x)[1],
    "determinant_sign": lambda m, x: m.slogdet(x)[0],
    "cholesky": lambda m, x: m.linalg.cholesky(symmetric(x)),
    "eigenvalues": lambda m, x: m.linalg.eigvalsh(symmetric(x)),
    "eigenvectors": lambda m, x: m.linalg.eigh(symmetric(x))[1] ** 2,  # their signs are nobody's choice
    "left_vectors": lambda m, x: m.linalg.svd(x, full_matrices=False)[0] ** 2,
    "right_vectors": lambda m, x: m.linalg.svd(x, full_matrices=False)[2] ** 2,
    "linalg_pinv": lambda m, x, rcond: m.linalg.pinv(x, rtol=rcond),
    "q_factor": lambda m, x: m.linalg.qr(x)[0],
    "r_factor": lambda m, x: m.linalg.qr(x)[1],
    "singular_values": lambda m, x: m.linalg.svdvals(x),
    # neural networks
    **{
        name: of_nn(name)
        for name in "leaky_relu silu gelu mish softplus logsigmoid hardtanh hardsigmoid hardswish threshold".split()
    },
    "elu": lambda m, x, alpha=1.0, scale=1.0: m.nn.functional.elu(x, alpha) * scale,
    "glu": lambda m, x, axis: m.nn.functional.glu(x, axis),
    "softmax": lambda m, x, axis: m.softmax(x, 0 if axis is None else axis),
    "log_softmax": lambda m, x, axis: m.log_softmax(x, 0 if axis is None else axis),
    "special_entr": lambda m, x: m.special.entr(x),
    "cross_entropy": class_loss("cross_entropy"),
    "nll_loss": class_loss("nll_loss"),
    **{name: of_nn(name) for name in ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits")},
    "binary_cross_entropy": binary_cross_entropy,
    "standardize": standardize,
    "scale_and_shift": lambda m, x, w, b: x * w + b,
    "embedding": lambda m, x, index: m.nn.functional.embedding(tensor(m, index), x),
    "constant_pad_nd": pad,
    "convolution": convolution,
    "convolution_dx": convolution_dx,
    "max_pool2d": lambda m, x, kernel_size, stride, padding, dilation, shape: m.nn.functional.max_pool2d(margin(m, x, padding, -np.inf), kernel_size, stride, 0, dilation),
    "rounded_div": lambda m, x, y, rounding_mode: m.div(x, y, rounding_mode=rounding_mode),
    "window_sum": lambda m, x, kernel_size, stride, padding, shape: m.nn.functional.avg_pool2d(margin(m, x, padding), kernel_size, stride, divisor_override=1),
    "resample": resample,
}  # fmt: skip

# Ops that are there to be another op's rule: users of neither library write them.
ONLY_A_RULE = {
    "put_zeros": "getitem",
    "put_along": "max, min",
    "unfold_backward": "unfold",
    "convolution_dw": "convolution",
    "window_spread": "window_sum",
    "keep": "relu, maximum, clamp",
}


# Ops that are parts of a layer, and compared as parts of it.
PARTS_OF_A_LAYER = {
    "lstm_gates": "nn.LSTM",
    "lstm_cell": "nn.LSTM",
    "lstm_hidden": "nn.LSTM",
}


def spelling(name: str) -> Any:
    """How users write the op of this name; None if they do not."""
    return None if name in ONLY_A_RULE else SPELLINGS.get(name, plain(name))
