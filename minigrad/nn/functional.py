"""Functions of neural networks, by PyTorch's names: activations, layers, losses.

Each is one op of the table (ops/neural.py), or is written here in terms of ops; so there
is nothing to derive in this file. `input` and `target` are tensors; a `reduction` is
"mean", "sum" or "none".
"""

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad import dtypes, ops
from minigrad.methods import indices_of
from minigrad.op import Op
from minigrad.tensor import Tensor

Pair = int | Sequence[int]


# ------------------------------------------------------------------------ activations


def _activation(op: Op, x: Tensor, inplace: bool, **settings: Any) -> Tensor:
    """The op applied to x; in place, what its rule needs of the old x is copied first."""
    if inplace:
        return x._write(op, **settings)
    z: Tensor = op.apply(x, **settings)
    return z


def _composite(f: Callable[[Tensor], Tensor], x: Tensor, inplace: bool) -> Tensor:
    return x.copy_(f(x.clone())) if inplace else f(x)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0)

    >>> import minigrad
    >>> relu(minigrad.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return input.relu_() if inplace else input.relu()


def relu_(input: Tensor) -> Tensor:
    """relu, written over its input."""
    return input.relu_()


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(x, 0), 6)"""
    return hardtanh(input, 0.0, 6.0, inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where x > 0, else negative_slope * x"""
    return _activation(ops.leaky_relu, input, inplace, negative_slope=negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x) - 1)

    Source: Clevert et al., Exponential Linear Units (2016).
    """
    return _activation(ops.elu, input, inplace, alpha=alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu, scaled so that activations keep mean 0 and variance 1 from layer to layer.

    Source: Klambauer et al., Self-Normalizing Neural Networks (2017).
    """
    scale, alpha = 1.0507009873554805, 1.6732632423543772
    return _composite(lambda x: ops.elu.apply(x, alpha=alpha) * scale, input, inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where x > 0, else alpha * (exp(x / alpha) - 1)"""
    if alpha <= 0:
        raise RuntimeError(f"ZeroDivisionError: celu: alpha must be greater than 0, but is {alpha}")
    return _composite(lambda x: ops.elu.apply(x / alpha, alpha=1.0) * alpha, input, inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x * Phi(x), where Phi is the distribution function of the standard normal.

    approximate   "none": by the error function; "tanh": by a formula near to it

    Source: Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
    """
    if approximate == "tanh":
        inner = (input + input * input * input * 0.044715) * math.sqrt(2 / math.pi)
        return input * 0.5 * (inner.tanh() + 1)
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    z: Tensor = ops.gelu.apply(input)
    return z


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), also known as swish"""
    return _activation(ops.silu, input, inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x))"""
    return _composite(lambda x: x * ops.softplus.apply(x).tanh(), input, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold"""
    z: Tensor = ops.softplus.apply(input, beta=beta, threshold=threshold)
    return z


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """x, but not below min_val nor above max_val"""
    return _activation(ops.hardtanh, input, inplace, min_val=min_val, max_val=max_val)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1 / 2, but not below 0 nor above 1"""
    return _activation(ops.hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x)"""
    return _activation(ops.hardswish, input, inplace)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|)"""
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)"""
    return input - input.tanh()


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow"""
    z: Tensor = ops.logsigmoid.apply(input)
    return z


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))"""
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """tanh(x)"""
    return input.tanh()


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where x > threshold, else value"""
    return _activation(ops.threshold, input, inplace, threshold=threshold, value=value)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along dim, times the sigmoid of the second"""
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if input.size(dim) % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {input.size(dim)}"
        )
    a, b = input.chunk(2, dim)
    return a * b.sigmoid()  # type: ignore[no-any-return]


def _implicit_dim(ndim: int) -> int:
    warnings.warn(
        "Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """exp(x) / sum of exp(x) along dim: positive numbers that add up to 1.

    >>> import minigrad
    >>> softmax(minigrad.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return input.softmax(_implicit_dim(input.ndim) if dim is None else dim, dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """log(softmax(x)), computed together so that large scores do not overflow"""
    return input.log_softmax(_implicit_dim(input.ndim) if dim is None else dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Tensor:
    """softmax(-x)"""
    return softmax(-input, dim, _stacklevel, dtype)


# ------------------------------------------------------------------------ linear layers


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias

    input    (..., n)   one example per row
    weight   (m, n)     or (n,), for one output without an axis
    bias     (m,)       or None
    returns  (..., m)
    """
    z: Tensor
    if input.array.ndim == 2 and weight.array.ndim == 2:
        if bias is None:
            z = ops.mm.apply(input, weight.t())
        else:
            z = ops.addmm.apply(bias, input, weight.t())
        return z
    if weight.ndim == 1:
        z = input @ weight
        return z if bias is None else z + bias
    if input.ndim == 0:
        raise RuntimeError(
            "both arguments to linear need to be at least 1D, but they are 0D and 2D"
        )
    rows = input.reshape(math.prod(input.shape[:-1]), input.shape[-1])
    z = linear(rows, weight, bias)
    return z.view(*input.shape[:-1], weight.shape[0])


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[k] @ x2 + bias[k], for each k"""
    z: Tensor = ops.einsum(
        input1,
        weight,
        input2,
        equation=ops.explicit("...i,kij,...j->...k", (input1.ndim, 3, input2.ndim)),
    )
    return z if bias is None else z + bias


def embedding(
    input: Any,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows weight[input] of a table.

    input         any shape, integers
    weight        (n, d)
    padding_idx   a row that gets no gradient
    sparse        shall weight.grad keep only the rows that were read?
    returns       (*input.shape, d)

    Raises IndexError if an entry of input is outside 0..n-1.
    """
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding with max_norm or scale_grad_by_freq is not there.")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    index = indices_of("embedding", input)
    n = weight.shape[0]
    if index.size and (index.view(np.uint64) >= n).any():
        bad = index[(index < 0) | (index >= n)].flat[0]
        raise IndexError(f"index out of range in self: index {bad}, but the table has {n} rows.")
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= n
    z: Tensor = ops.embedding.apply(weight, index=index, padding_idx=padding_idx, sparse=sparse)
    return z


def one_hot(tensor: Any, num_classes: int = -1) -> Tensor:
    """For each integer a row of zeros with a 1 at that place.

    >>> import minigrad
    >>> one_hot(minigrad.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    index = np.asarray(getattr(tensor, "array", tensor))
    if index.dtype.kind not in "iu":
        raise RuntimeError("one_hot is only applicable to index tensor.")
    if not index.size and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if index.size and index.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    n = int(index.max()) + 1 if num_classes == -1 else num_classes
    if index.size and index.max() >= n:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return Tensor((index[..., None] == np.arange(n)).astype(np.int64))


# ------------------------------------------------------------------------ convolution


def _several(value: Any, n: int, name: str) -> tuple[int, ...]:
    """A number for all axes, or one for each."""
    if isinstance(value, (int, np.integer)):
        return (int(value),) * n
    values = tuple(int(v) for v in value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values, but got {name}={list(values)}"
        )
    return values


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """Each window of the input times each kernel, summed (a cross-correlation).

    input     (n, c, h, w)  or (c, h, w)
    weight    (o, c / groups, kh, kw)
    bias      (o,)          or None
    padding   zeros around the input: a number, one for rows and one for columns, "valid"
              (none) or "same" (as many as keep the size)
    returns   (n, o, h', w')   where h' = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1

    Source: Dumoulin and Visin, A guide to convolution arithmetic (2016).
    """
    if input.ndim == 3:
        return conv2d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(
            0
        )
    return _convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair | str = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Tensor:
    """As conv2d, along one axis: input (n, c, l), weight (o, c / groups, k)."""
    if input.ndim == 2:
        return conv1d(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(
            0
        )
    return _convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def _convolution(
    name: str,
    axes: int,
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Check what conv1d and conv2d are given, in PyTorch's words, and apply the op."""
    if x.ndim != axes + 2:
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got "
            f"input of size: {list(x.shape)}"
        )
    if w.ndim != axes + 2:
        raise RuntimeError(
            f"weight should have {axes + 2} dimensions, but it has {w.ndim}: {list(w.shape)}"
        )
    stride, dilation = _several(stride, axes, "stride"), _several(dilation, axes, "dilation")
    if min(stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0 or w.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, and "
            f"divisible by it, but got weight of size {list(w.shape)} instead"
        )
    if x.shape[1] != w.shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(w.shape)}, expected input{list(x.shape)} to have "
            f"{w.shape[1] * groups} channels, but got {x.shape[1]} channels instead"
        )
    if b is not None and b.shape != (w.shape[0],):
        raise RuntimeError(
            f"Given weight of size {list(w.shape)}, expected bias to be 1-dimensional with "
            f"{w.shape[0]} elements, but got bias of size {list(b.shape)} instead"
        )
    if padding == "same":
        if max(stride) > 1:
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        total = [d * (k - 1) for d, k in zip(dilation, w.shape[2:], strict=True)]
        margins = [(n // 2, n - n // 2) for n in total]
    elif isinstance(padding, str) and padding != "valid":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    else:
        amounts = (0,) * axes if padding == "valid" else _several(padding, axes, "padding")
        if min(amounts) < 0:
            raise RuntimeError("negative padding is not supported")
        margins = [(n, n) for n in amounts]
    padded = [n + sum(m) for n, m in zip(x.shape[2:], margins, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    if any(n < r for n, r in zip(padded, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). "
            f"Kernel size: ({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )
    if axes == 1:
        x, w = x.unsqueeze(2), w.unsqueeze(2)
        stride, dilation, margins = (1, *stride), (1, *dilation), [(0, 0), *margins]
    if b is None:
        b = Tensor(np.zeros(0, x.array.dtype))
    z: Tensor = ops.convolution.apply(
        x, w, b, stride=stride, padding=(*margins[0], *margins[1]), dilation=dilation, groups=groups
    )
    return z.squeeze(2) if axes == 1 else z


# ------------------------------------------------------------------------ pooling


def _pooling(
    x: Tensor,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    axes: int,
    name: str,
) -> tuple[tuple[int, ...], ...]:
    """The size, stride, margins, dilation and result's shape of a pooling, per axis."""
    if x.ndim not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"{name}: Expected {axes + 1}D or {axes + 2}D (batch mode) tensor, but got input of size: {list(x.shape)}"
        )
    size = _several(size, axes, "kernel_size")
    stride = size if stride is None or stride == [] else _several(stride, axes, "stride")
    padding, dilation = _several(padding, axes, "padding"), _several(dilation, axes, "dilation")
    if min(stride) <= 0:
        raise RuntimeError("stride should not be zero")
    if any(p < 0 or p > k // 2 for p, k in zip(padding, size, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={max(padding)}, kernel_size={max(size)}"
        )
    shape, margins = [], []
    for n, k, s, p, d in zip(x.shape[-axes:], size, stride, padding, dilation, strict=True):
        room = n + 2 * p - d * (k - 1) - 1
        m = (room + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (m - 1) * s >= n + p:  # the last window must start inside
            m -= 1
        if m < 1:
            raise RuntimeError(
                f"Given input size: {list(x.shape)}. Calculated output size: {m}. Output size is too small"
            )
        shape.append(m)
        margins += [p, max(p, (m - 1) * s + d * (k - 1) + 1 - n - p)]
    return size, stride, tuple(margins), dilation, tuple(shape), padding


def _with_rows(x: Tensor, function: Callable[..., Any], *settings: Any) -> Any:
    """Pooling along one axis, as pooling of images of one row."""
    size, stride, padding, *rest = settings
    size = _several(size, 1, "kernel_size")
    stride = size if stride is None or stride == [] else _several(stride, 1, "stride")
    z = function(
        x.unsqueeze(-2), (1, *size), (1, *stride), (0, *_several(padding, 1, "padding")), *rest
    )
    return tuple(y.squeeze(-2) for y in z) if isinstance(z, tuple) else z.squeeze(-2)


def max_pool2d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The greatest entry of each window; stride is kernel_size unless given.

    With return_indices also where each one is, counted row by row.
    """
    size, stride, margins, dilation, shape, _ = _pooling(
        input, kernel_size, stride, padding, dilation, ceil_mode, 2, "max_pool2d"
    )
    how: dict[str, Any] = {
        "size": size,
        "stride": stride,
        "padding": margins,
        "dilation": dilation,
        "shape": shape,
    }
    z: Tensor = ops.max_pool2d.apply(input, **how)
    if not return_indices:
        return z
    return z, Tensor(ops.places(input.array, **how))  # type: ignore[no-untyped-call]


def max_pool1d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    dilation: Pair = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """As max_pool2d, along one axis."""
    dilation = (1, *_several(dilation, 1, "dilation"))
    return _with_rows(
        input, max_pool2d, kernel_size, stride, padding, dilation, ceil_mode, return_indices
    )


def avg_pool2d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window; the margin counts as zeros, unless count_include_pad is False."""
    size, stride, margins, _, shape, pads = _pooling(
        input, kernel_size, stride, padding, 1, ceil_mode, 2, "avg_pool2d"
    )
    z: Tensor = ops.window_sum.apply(input, size=size, stride=stride, padding=margins, shape=shape)
    if divisor_override is not None:
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        return z / divisor_override
    counts = []
    for n, k, s, p, m in zip(input.shape[-2:], size, stride, pads, shape, strict=True):
        start = np.arange(m) * s - p
        end = np.minimum(start + k, n + p)
        counts.append(
            end - start if count_include_pad else np.minimum(end, n) - np.maximum(start, 0)
        )
    counted = np.multiply.outer(*counts)
    if counted.min() == counted.max():
        return z / int(counted.flat[0])
    return z / Tensor(counted.astype(z.dtype))


def avg_pool1d(
    input: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """As avg_pool2d, along one axis."""
    z: Tensor = _with_rows(
        input, avg_pool2d, kernel_size, stride, padding, ceil_mode, count_include_pad
    )
    return z


def _averages(n: int, m: int, dtype: Any) -> Tensor:
    """The (n, m) matrix that takes n numbers to the means of m parts of nearly equal size."""
    a = np.zeros((n, m), dtype)
    for j in range(m):
        start, end = j * n // m, -(-(j + 1) * n // m)
        a[start:end, j] = 1 / (end - start)
    return Tensor(a)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of parts of the input, as many as output_size says; None keeps a size."""
    if isinstance(output_size, int):
        output_size = (output_size, output_size)
    rows, columns = (
        n if m is None else m for m, n in zip(output_size, input.shape[-2:], strict=True)
    )
    if (rows, columns) == (1, 1):
        return input.mean((-2, -1), keepdim=True)
    height, width = input.shape[-2:]
    if rows and columns and height % rows == 0 and width % columns == 0:
        return avg_pool2d(input, (height // rows, width // columns))
    z = input @ _averages(width, columns, input.dtype)
    return (z.mT @ _averages(height, rows, input.dtype)).mT


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """As adaptive_avg_pool2d, along one axis."""
    (m,) = _several(output_size, 1, "output_size")
    return adaptive_avg_pool2d(input.unsqueeze(-2), (1, m)).squeeze(-2)


# ------------------------------------------------------------------------ normalizing


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Over the last axes: subtract the mean, divide by the deviation, then scale and shift.

    Source: Ba, Kiros and Hinton, Layer Normalization (2016).
    """
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    k = len(shape)
    if tuple(input.shape[input.ndim - k :]) != shape or not k:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    z: Tensor = ops.standardize.apply(input, axis=tuple(range(input.ndim - k, input.ndim)), eps=eps)
    if weight is not None:
        z = z * weight
    return z if bias is None else z + bias


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """For each channel, over the batch: subtract the mean, divide by the deviation.

    In training mean and variance are the batch's, and the running ones move toward them by
    `momentum` (with the unbiased variance); otherwise the running ones are used.

    Source: Ioffe and Szegedy, Batch Normalization (2015).
    """
    shape = (1, -1, *(1,) * (input.ndim - 2))
    axes = (0, *range(2, input.ndim))
    if training:
        n = input.numel() // max(input.shape[1], 1)
        if n == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {input.shape}"
            )
        if running_mean is not None:
            mean = input.array.mean(axes)
            running_mean.array[...] += momentum * (mean - running_mean.array)
        if running_var is not None:
            variance = input.array.var(axes, ddof=1)
            running_var.array[...] += momentum * (variance - running_var.array)
        z: Tensor = ops.standardize.apply(input, axis=axes, eps=eps)
    else:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training=False"
            )
        z = (input - running_mean.view(*shape)) / (running_var.view(*shape) + eps).sqrt()
    if weight is not None:
        z = z * weight.view(*shape)
    return z if bias is None else z + bias.view(*shape)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """For each channel of each example: subtract the mean, divide by the deviation."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    return group_norm(input, input.shape[1], weight, bias, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """For each group of channels of each example: subtract the mean, divide by the deviation."""
    n, c = input.shape[:2]
    if c % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    grouped = input.reshape(n, num_groups, math.prod(input.shape[1:]) // num_groups)
    z: Tensor = ops.standardize.apply(grouped, axis=(2,), eps=eps).reshape(input.shape)
    shape = (1, c, *(1,) * (input.ndim - 2))
    if weight is not None:
        z = z * weight.view(*shape)
    return z if bias is None else z + bias.view(*shape)


def _norm(x: Tensor, p: float, dim: Any, keepdim: bool = False) -> Tensor:
    """The p-norm along dim. Where it is 0, its slope is taken as 0."""
    z = (x * x if p == 2 else x.abs() ** p).sum(dim, keepdim)
    some = z != 0
    z = ops.where.apply(some, z, 1.0)
    return ops.where.apply(some, z.sqrt() if p == 2 else z ** (1 / p), 0.0)  # type: ignore[no-any-return]


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """x divided by its p-norm along dim (by eps, where the norm is less)."""
    return input / _norm(input, p, dim, True).maximum(eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between x1 and x2 along dim."""
    # Each norm is at least eps.
    lengths = [_norm(x, 2, dim, True).maximum(eps) for x in (x1, x2)]
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return _norm(x1 - x2 + eps, p, -1, keepdim)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Each entry set to 0 with probability p, the others divided by 1 - p.

    Source: Srivastava et al., Dropout (2014).
    """
    return _dropout(input, input.shape, p, training, inplace)


def _dropout(x: Tensor, shape: Any, p: float, training: bool, inplace: bool) -> Tensor:
    import minigrad

    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    if p == 1:
        keep = np.zeros(shape, x.array.dtype)
    else:
        drawn = minigrad.rand(*shape, dtype=dtypes.float32).array
        keep = (drawn >= p) * x.array.dtype.type(1 / (1 - p))
    return x.mul_(Tensor(keep)) if inplace else x * Tensor(keep)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels, of (n, c, l)."""
    return _dropout(input, (*input.shape[:-1], 1), p, training, inplace)


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Dropout of whole channels, of (n, c, h, w)."""
    return _dropout(input, (*input.shape[:-2], 1, 1), p, training, inplace)


def pad(
    input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Tensor:
    """A margin around the last axes: `pad` is (before, after) of the last axis, then of the
    one before it, and so on.

    mode   "constant": `value`, or 0;  "reflect": as in a mirror at the last entry;
           "replicate": the last entry;  "circular": from the other end

    >>> import minigrad
    >>> pad(minigrad.tensor([[1.0, 2.0, 3.0]]), (2, 1), mode="reflect")
    tensor([[3., 2., 1., 2., 3., 2.]])
    """
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.ndim}"
        )
    pairs = [(int(a), int(b)) for a, b in zip(pad[::2], pad[1::2], strict=True)]
    widths = tuple([(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1])
    if any(n + a + b < 0 for n, (a, b) in zip(input.shape, widths, strict=True)):
        raise RuntimeError(
            f"The input size {list(input.shape)}, plus negative padding {list(pad)}, resulted in a "
            "negative output size."
        )
    z: Tensor
    if mode == "constant":
        z = ops.pad.apply(input, widths=widths, value=value or 0)
        return z
    if value:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    z = input
    for axis, (a, b) in enumerate(widths):
        n = input.shape[axis]
        if a == b == 0:
            continue
        if mode == "reflect" and max(a, b) >= n:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({a}, {b}) at dimension {axis} of input {list(input.shape)}"
            )
        if mode == "circular" and max(a, b) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        index = np.arange(-a, n + b)
        if mode == "reflect":
            index = np.abs(index)
            index = np.where(index >= n, 2 * (n - 1) - index, index)
        else:
            index = index % n if mode == "circular" else np.clip(index, 0, n - 1)
        z = z.index_select(axis, index)
    return z


# ------------------------------------------------------------------------ losses


def _reduced(z: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return z.mean()
    if reduction == "sum":
        return z.sum()
    if reduction != "none":
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return z


def _warn_if_sizes_differ(input: Tensor, target: Tensor) -> None:
    if input.array.shape != target.array.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of (input - target)**2.

    >>> import minigrad
    >>> mse_loss(minigrad.tensor([1.0, 2.0]), minigrad.tensor([1.0, 4.0]))
    tensor(2.)
    """
    _warn_if_sizes_differ(input, target)
    if reduction in ("mean", "sum") and weight is None:
        z: Tensor = ops.mse_loss.apply(input, target, mean=reduction == "mean")
        return z
    d = (input - target).square()
    return _weighted(d, weight, reduction)


def _weighted(z: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    if weight is None:
        return _reduced(z, reduction)
    if weight.shape != z.shape:
        raise ValueError("Weights and input must have the same size.")
    z = z * weight
    return z.sum() / weight.sum() if reduction == "mean" else _reduced(z, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of |input - target|."""
    _warn_if_sizes_differ(input, target)
    return _weighted((input - target).abs(), weight, reduction)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """With d = |input - target|: d**2 / 2 where d <= delta, else delta * (d - delta / 2)."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    _warn_if_sizes_differ(input, target)
    d = (input - target).abs()
    z = ops.where.apply(d.detach() < delta, d * d * 0.5, (d - 0.5 * delta) * delta)
    return _weighted(z, weight, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """With d = |input - target|: d**2 / (2 * beta) where d < beta, else d - beta / 2."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    _warn_if_sizes_differ(input, target)
    d = (input - target).abs()
    if beta == 0:
        return _reduced(d, reduction)
    return _reduced(
        ops.where.apply(d.detach() < beta, d * d * (0.5 / beta), d - 0.5 * beta), reduction
    )


def _class_axis(x: Tensor, target: Any, name: str) -> int:
    """The axis of the classes; target has the shape of x without it."""
    axis = 0 if x.ndim == 1 else 1
    if x.ndim == 0:
        raise RuntimeError(f"{name}: input tensor should be 1D or 2D, but it has no axes")
    expected = x.shape[:axis] + x.shape[axis + 1 :]
    if target.ndim and x.shape[0] != target.shape[0] and x.ndim > 1:
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size ({target.shape[0]})."
        )
    if target.shape != expected:
        raise (RuntimeError if x.ndim <= 2 else ValueError)(
            f"Expected target size {list(expected)}, got {list(target.shape)}: input is "
            f"{list(x.shape)}, with the classes along axis {axis}."
        )
    return axis


def _class_weights(
    x: Tensor, target: Any, axis: int, weight: Tensor | None, ignore_index: int, reduction: str
) -> tuple[Any, Any]:
    """For each example what its loss is multiplied by; and the targets, 0 where ignored."""
    n, dtype = x.array.shape[axis], x.array.dtype
    weights = None
    if target.size and (target.view(np.uint64) >= n).any():
        ignored = target == ignore_index
        bad = (target < 0) | (target >= n)
        if (bad & ~ignored).any():
            where = np.argwhere(bad & ~ignored)[0].tolist()
            raise IndexError(
                f"Target {target[tuple(where)]} is out of bounds: it stands in row "
                f"{', '.join(map(str, where)) or 0} of the target, and there are {n} classes."
            )
    elif 0 <= ignore_index < n:
        ignored = target == ignore_index
    else:
        ignored = None
    if ignored is not None:
        weights = (~ignored).astype(dtype)
        target = np.where(ignored, 0, target)
    if weight is not None:
        if weight.shape != (n,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {n} classes or no classes but got "
                f"weight tensor of shape: {list(weight.shape)}"
            )
        of_class = weight.array[target]
        weights = of_class if weights is None else weights * of_class
    if reduction == "mean":
        if weights is None:
            return dtype.type(1) / dtype.type(target.size), target
        return weights / weights.sum(), target
    return dtype.type(1) if weights is None else weights, target


def _targets(target: Any) -> Any:
    array = np.asarray(getattr(target, "array", target))
    if array.dtype.kind not in "iu":
        raise RuntimeError(f"expected scalar type Long but found {array.dtype}")
    return (
        np.ascontiguousarray(array, np.int64) if array.ndim else array.astype(np.int64).reshape(())
    )


def nll_loss(
    input: Tensor,
    target: Any,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean of -log p[target], given log p (from log_softmax).

    input          (n, k) or (k,) or (n, k, ...)
    target         (n,)   or ()   or (n, ...)     integers in 0..k-1
    weight         (k,)                           how much each class counts
    ignore_index   a target that counts nothing
    """
    _check_reduction(reduction)
    t = _targets(target)
    axis = _class_axis(input, t, "nll_loss")
    weights, t = _class_weights(input, t, axis, weight, ignore_index, reduction)
    z: Tensor = ops.nll_loss.apply(
        input, target=t, weights=weights, axis=axis, reduced=reduction != "none"
    )
    return z


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def cross_entropy(
    input: Tensor,
    target: Any,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Mean of -log p[target], where p = softmax(input).

    input     (n, k)   one row of scores per example, any real numbers; or (k,), or (n, k, ...)
    target    (n,)     integers in 0..k-1, the right class of each row; or a distribution over
                       the classes for each row, shaped like input
    weight    (k,)     how much each class counts
    returns   ()       a scalar, never negative ((n,) with reduction "none")

    The softmax and the logarithm are taken together, as input - logsumexp(input), so that
    large scores do not overflow. The gradient is (p - onehot(target)) / n. With
    label_smoothing e the target is (1 - e) * onehot(target) + e / k.

    Raises IndexError, naming the row, if an entry of target is outside 0..k-1.

    >>> import minigrad
    >>> round(cross_entropy(minigrad.tensor([[2.0, 0.0, 0.0]]), minigrad.tensor([0])).item(), 4)
    0.2395

    Source: Bishop, Pattern Recognition and Machine Learning (2006), section 4.3.4.
    """
    _check_reduction(reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    array = getattr(target, "array", None)
    if array is not None and array.shape == input.array.shape and array.dtype.kind == "f":
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    t = _targets(target)
    axis = _class_axis(input, t, "cross_entropy")
    n = input.shape[axis]
    weights, t = _class_weights(input, t, axis, weight, ignore_index, reduction)
    reduced = reduction != "none"
    z: Tensor = ops.cross_entropy.apply(
        input, target=t, weights=weights, axis=axis, reduced=reduced
    )
    if not label_smoothing:
        return z
    # The smoothed part: every class is right, by a k-th.
    counted, _ = _class_weights(input, _targets(target), axis, None, ignore_index, "sum")
    logp = input.log_softmax(axis)
    if weight is not None:
        logp = logp * weight.detach().reshape(*(-1 if i == axis else 1 for i in range(input.ndim)))
    smooth = -logp.sum(axis) * Tensor(np.asarray(counted))
    if reduced:
        smooth = smooth.sum()
    if reduction == "mean":
        _, kept = _class_weights(input, _targets(target), axis, weight, ignore_index, "none")
        total, _ = _class_weights(input, _targets(target), axis, weight, ignore_index, "sum")
        smooth = smooth / float(np.sum(np.broadcast_to(total, kept.shape)))
    return z * (1 - label_smoothing) + smooth * (label_smoothing / n)


def _soft_cross_entropy(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: str, smoothing: float
) -> Tensor:
    """Cross entropy with a distribution over the classes as target."""
    axis = 0 if x.ndim == 1 else 1
    n = x.shape[axis]
    if smoothing:
        target = target * (1 - smoothing) + smoothing / n
    logp = x.log_softmax(axis) * target
    if weight is not None:
        logp = logp * weight.reshape(*(-1 if i == axis else 1 for i in range(x.ndim)))
    if reduction == "mean":
        return -logp.sum() / (x.numel() // max(n, 1))
    return _reduced(-logp.sum(axis), reduction)


def _same_size(input: Tensor, target: Tensor, name: str) -> None:
    if input.shape != target.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
            if name == "binary_cross_entropy"
            else f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Mean of -(target * log p + (1 - target) * log(1 - p)), where p = input.

    Each logarithm is at least -100, so that p = 0 does not make the loss infinite.
    """
    _same_size(input, target, "binary_cross_entropy")
    p = input.array
    if p.size and not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    z: Tensor = ops.binary_cross_entropy.apply(input, target)
    return _reduced(z if weight is None else z * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """binary_cross_entropy of p = sigmoid(input), taken together so that nothing overflows.

    pos_weight   how much more the positive examples count
    """
    _same_size(input, target, "binary_cross_entropy_with_logits")
    if pos_weight is None:
        z = (1 - target) * input - ops.logsigmoid.apply(input)
    else:
        z = (1 - target) * input - (1 + (pos_weight - 1) * target) * ops.logsigmoid.apply(input)
    return _reduced(z if weight is None else z * weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Mean of target * (log target - input), where input is a log p.

    reduction   "batchmean" divides the sum by the number of rows: the divergence itself
    log_target  is the target a logarithm, too?

    Source: Kullback and Leibler, On Information and Sufficiency (1951).
    """
    if log_target:
        z = target.exp() * (target - input)
    else:
        some = target != 0  # 0 * log 0 is 0
        z = target * ops.where.apply(some, target, 1.0).log() - target * input
    if reduction == "batchmean":
        return z.sum() / input.shape[0] if input.ndim else z.sum()
    return _reduced(z, reduction)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """x where target is 1, max(0, margin - x) where it is -1."""
    t = target.detach()
    return _reduced(input * (t != -1) + (margin - input).relu() * (t != 1), reduction)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (x1 - x2) + margin)."""
    return _reduced((-target * (input1 - input2) + margin).relu(), reduction)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * x)), without overflow."""
    return _reduced(-ops.logsigmoid.apply(target * input), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, distance to the positive - distance to the negative + margin)."""
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = far.minimum(pairwise_distance(positive, negative, p, eps))
    return _reduced((pairwise_distance(anchor, positive, p, eps) - far + margin).relu(), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1."""
    c = cosine_similarity(input1, input2, -1)
    t = target.detach()
    return _reduced((1 - c) * (t == 1) + (c - margin).relu() * (t == -1), reduction)
