"""Sampling: turns the generator's words into arrays of samples from distributions.

A word is a 32-bit integer, and all values are equally likely. Samples are computed from words:

    uniform        the last 24 bits of a word, as a fraction (53 bits of two words)
    normals        the Box-Muller transform: two uniform samples give two normal samples
    integers       the remainder of a word modulo the size of the range
    bernoulli      whether a uniform sample is below p
    exponential    the inverse transform: -log(1 - u)
    permutation    the Fisher-Yates shuffle: swap each entry with itself or a later one

The algorithms, and the number of words that each uses, are the same as PyTorch's on the CPU, so
the same seed gives the same numbers. Integers, Bernoulli samples, permutations and uniform samples
on [0, 1) are bitwise equal. Results of a logarithm, a cosine or scaling agree up to the last digits.

There is one exception: on Intel processors, PyTorch's `bernoulli_(p)`, `dropout` and
`exponential_` (and so `multinomial`) may use another random stream, from Intel's MKL. minigrad
does what PyTorch does on all other processors.

Read generator.py first.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.core import modes
from minigrad.core.dtypes import Dtype, check_real, torch_name
from minigrad.core.errors import warn_user
from minigrad.core.shapes import Array, Shape
from minigrad.random.generator import Generator, source


def drawn(draw: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: while a program is recorded, sampling becomes an instruction of the program.

    So each run of the program draws new samples.
    """

    @functools.wraps(draw)
    def drawing(*args: object, **kwargs: object) -> Array:
        observer = modes.state.observer
        if observer is not None and (interpret := getattr(observer, "interpret_draw", None)):
            return interpret(draw, args, kwargs)  # see static/tracing.py
        return draw(*args, **kwargs)

    return drawing


def complex_too(factor: float) -> Callable[..., Any]:
    """A decorator: complex numbers are drawn as pairs of a real and an imaginary part.

    factor   multiplies the second setting for both parts, since the variance of a number is the sum of their variances
    """

    def decorate(draw: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(draw)
        def drawing(shape: Shape, dtype: Dtype, first: Any, second: Any, *rest: Any) -> Array:
            if dtype.kind != "c":
                return draw(shape, dtype, first, second, *rest)
            part = np.empty(0, dtype).real.dtype
            parts = draw((*shape, 2), part, first, second * factor, *rest)
            return parts.view(dtype).reshape(shape)

        return drawing

    return decorate


def in_rows(array: Array) -> bool:
    """Is the array row-major, possibly with gaps?"""
    if not isinstance(array, np.ndarray) or array.flags.c_contiguous or 0 in array.strides:
        return True
    strides = [abs(s) for n, s in zip(array.shape, array.strides, strict=True) if n > 1]
    return strides == sorted(strides, reverse=True)  # a slice of rows, as from `chunk`, has gaps


def in_memory_order(array: Array, draw: Callable[[tuple[int, ...]], Any]) -> Array:
    """Samples with the shape of the array, drawn in the order of its memory.

    So a transposed matrix is filled column by column, as its columns are contiguous. An array whose
    entries share memory is filled row by row.
    """
    if in_rows(array):
        return draw(array.shape)
    order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    z = draw(tuple(array.shape[axis] for axis in order))
    return z.transpose(*(order.index(axis) for axis in range(array.ndim)))


LAST_53_BITS = np.array(2**53 - 1, np.uint64)  # NumPy is slower with np.uint64(2**53 - 1)
PART = 2**15  # numbers; a multiple of 16, for the normal distribution


def in_parts(n: int, dtype: Dtype | type, draw: Callable[[int], Array]) -> Array:
    """draw(n), in parts whose intermediate arrays fit into the processor's cache."""
    if n <= PART:
        return draw(n)
    z = np.empty(n, dtype)
    for start in range(0, n, PART):
        z[start : start + PART] = draw(min(PART, n - start))
    return z


# ------------------------------------------------------------------------ uniform


def unit(n: int, wide: type, generator: Generator | None) -> Array:
    """n uniform samples on [0, 1): multiples of 2**-24, or of 2**-53 in double precision."""
    if wide == np.float64:
        return (source(generator).long_words(n) & LAST_53_BITS) * 2.0**-53
    bits = source(generator).words(n).astype(np.int32) & np.int32(2**24 - 1)
    return bits.astype(np.float32) * np.float32(2.0**-24)


@drawn
@complex_too(1)
def uniform(shape: Shape, dtype: Dtype, low: Any, high: Any, generator: Generator | None) -> Array:
    """Samples from the uniform distribution on [low, high): low + u * (high - low)."""
    _require_float("uniform", dtype)
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low} > to={high}"
        )
    wide, as_drawn = _wide(dtype), (low, high) == (0, 1)
    if not as_drawn and float(high) - float(low) > (largest := float(np.finfo(dtype).max)):
        raise RuntimeError(
            f"uniform_ expects to-from <= {largest}, the largest {dtype}, but found to={high} and from={low}"
        )
    low, high = wide(low), wide(high)

    def draw(n: int) -> Array:
        z = unit(n, wide, generator)
        if not as_drawn:
            z = _scaled(z, high - low, low)
        if not as_drawn or dtype != wide:
            z = z.astype(dtype, copy=False)
            z[z >= dtype.type(high)] = low  # rounding can give high itself
        return z

    return in_parts(math.prod(shape), dtype, draw).reshape(shape)


def _require_float(name: str, dtype: Dtype) -> None:
    """Raise an error unless the dtype is a float."""
    if dtype.kind != "f":
        what = f'"{name}" not implemented for {torch_name(dtype)!r}'
        raise NotImplementedError(f"{what}: the samples are floating-point numbers.")


def _require_continuous(name: str, dtype: Dtype) -> None:
    """Like _require_float, with another message of PyTorch's."""
    if dtype.kind != "f":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {torch_name(dtype)}"
        )


def _wide(dtype: Dtype) -> type[np.floating[Any]]:
    """The precision used for sampling: single precision for float16 and float32."""
    return np.float64 if dtype == np.float64 else np.float32


def _scaled(z: Array, scale: float, shift: float) -> Array:
    """z * scale + shift, rounded only once, like a fused multiply-add instruction.

    In double precision, the product is rounded as well, so the last digit can differ.
    """
    if z.dtype == np.float64:
        return z * float(scale) + float(shift)
    if shift == 0:
        return z * scale
    return (z.astype(np.float64) * float(scale) + float(shift)).astype(np.float32)


# ------------------------------------------------------------------------ the normal distribution


@drawn
@complex_too(math.sqrt(0.5))
def normals(shape: Shape, dtype: Dtype, mean: float, std: float, generator: Generator | None,
           contiguous: bool = True) -> Array:  # fmt: skip
    """Samples from the normal distribution with this mean and standard deviation.

    contiguous   whether the samples are for a contiguous array; if so, they are drawn in blocks of 16

    If x and y are independent and normal, the angle of the point (x, y) is uniform, and its squared
    distance from 0 is exponential. So two uniform samples u and v give two normal samples:

        r = sqrt(-2 log(1 - u))        x = r cos(2 pi v)        y = r sin(2 pi v)

    Fewer than 16 samples are drawn in pairs, in double precision. If their number is odd, the
    generator keeps the last y for the next call. 16 or more samples are drawn in blocks: 8 values
    of u and 8 of v give 8 of x and 8 of y. If the last block is incomplete, the last 16 samples
    are replaced by a new block.

    Source: Box and Muller, A note on the generation of random normal deviates (1958).
    """
    _require_float("normal_kernel_cpu", dtype)
    mean, std = float(mean), float(std)  # they may be tensors
    n = math.prod(shape)
    if n < 16 or not contiguous:
        z = _pairs(n, source(generator)) * std + mean
    else:
        z = _blocks(n, dtype, source(generator))
        if (mean, std) != (0, 1):
            z = _scaled(z, z.dtype.type(std), z.dtype.type(mean))
    return z.astype(dtype, copy=False).reshape(shape)


def _pairs(n: int, generator: Generator) -> Array:
    """n samples, drawn in pairs of x and y. A leftover y is kept for the next call."""
    with generator.lock:
        first = [] if generator.spare is None or n == 0 else [generator.spare]
        v_u = unit(n - len(first) + (n - len(first)) % 2, np.float64, generator)
        v, u = v_u[0::2], v_u[1::2]
        r, angle = np.sqrt(-2 * np.log1p(-u)), 2 * np.pi * v
        z = np.concatenate([first, np.stack([r * np.cos(angle), r * np.sin(angle)], 1).ravel()])
        if n:
            generator.spare = float(z[n]) if len(z) > n else None
    return z[:n]


def _blocks(n: int, dtype: Dtype, generator: Generator) -> Array:
    """n >= 16 samples, in blocks of 16."""
    wide, whole = _wide(dtype), n - n % 16
    with generator.lock:
        z = in_parts(whole, wide, lambda n: _box_muller(unit(n, wide, generator)))
        if n % 16:
            if dtype != np.float16:  # in half precision, no words are used for an incomplete block
                unit(n % 16, wide, generator)
            z = np.concatenate([z[: n - 16], _box_muller(unit(16, wide, generator))])
    return z


def _box_muller(u: Array) -> Array:
    real = u.dtype.type
    u = u.reshape(-1, 2, 8)
    # The logarithm is computed in double precision and rounded once, so its last digit is correct.
    r = np.sqrt(real(-2) * np.log(1 - u[:, 0], dtype=np.float64).astype(real))
    angle = real(2 * np.pi) * u[:, 1]
    z = np.empty_like(u)
    np.multiply(r, np.cos(angle), out=z[:, 0])
    np.multiply(r, np.sin(angle), out=z[:, 1])
    return z.ravel()


# ------------------------------------------------------------------------ integers


@drawn
def integers(
    shape: Shape, dtype: Dtype, low: int, high: int | None, generator: Generator | None
) -> Array:
    """Random integers with low <= z < high: low + word % (high - low). Without high, up to the largest of the dtype.

    Small remainders are slightly more likely, by one part in 2**32 / (high - low). Ranges of 2**28
    or more integers use two words.
    """
    high = largest_exact(dtype) + 1 if high is None else high
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    check_real(dtype, "random_ handles only integral, floating-point and boolean types")
    limits = (
        np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype) if dtype.kind in "iu" else None
    )
    least, most = (0, 1) if limits is None else (int(limits.min), int(limits.max))
    wrong = "from" if not least <= low <= most else "to - 1" if high - 1 > most else None
    if wrong:
        raise RuntimeError(
            f"{wrong} is out of bounds for {dtype}: the range {low} to {high - 1} does not fit into "
            f"{least} to {most}."
        )
    if dtype.kind == "f":
        low, high = _without_rounding(dtype, low, high)
    z = remainders(shape, high - low, high - low >= 2**28, low, generator)
    return z.astype(dtype, copy=False)


def _without_rounding(dtype: Dtype, low: int, high: int) -> tuple[int, int]:
    """The range made smaller, if its ends would be rounded to floats outside of it."""
    digits = int(np.finfo(dtype).nmant) + 1
    for name, end in (("from", low), ("to - 1", high - 1)):
        if abs(end) > 1 << digits:
            warn_user(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {dtype} can "
                "support discrete uniform distribution only within this range."
            )
    first, last = int(dtype.type(low + 1)), int(dtype.type(high - 1))
    if first < low:
        low = first + (1 << (abs(low + 1).bit_length() - digits))  # the next float
    if last >= high:
        high = last - (1 << (abs(high - 1).bit_length() - digits))
    return low, high


@drawn
def any_integers(shape: Shape, dtype: Dtype, generator: Generator | None) -> Array:
    """Random integers from 0 to n, the largest n such that the dtype represents 0..n exactly."""
    count = largest_exact(dtype) + 1
    return remainders(shape, count, dtype.itemsize == 8, 0, generator).astype(dtype, copy=False)


def largest_exact(dtype: Dtype) -> int:
    """The largest n such that the dtype represents 0..n exactly."""
    if dtype.kind == "f":
        return 2 ** (int(np.finfo(dtype).nmant) + 1)
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else 1


def remainders(
    shape: Shape, count: int, long: bool, low: int, generator: Generator | None
) -> Array:
    """low + word % count, for long (64-bit) or short (32-bit) words."""
    n, g = math.prod(shape), source(generator)
    w = g.long_words(n) if long else g.words(n)
    if count < 2**64:
        w = w % np.uint64(count)
    else:  # all words, as they are
        low = 0
    return (w.astype(np.int64) + low).reshape(shape)


@drawn
def permutation(n: int, generator: Generator | None) -> Array:
    """The numbers 0..n-1 in random order, by the Fisher-Yates shuffle.

    Source: Durstenfeld, Algorithm 235: Random permutation (1964), after Fisher and Yates.
    """
    z = list(range(n))
    if n > 1:
        here = np.arange(n - 1)
        there = here + (source(generator).words(n - 1).astype(np.int64) % (n - here))
        # Each swap depends on the previous ones, so this is a loop. On a list, a swap takes 50 ns.
        for i, j in enumerate(there.tolist()):
            z[i], z[j] = z[j], z[i]
    return np.array(z, np.int64)


# ------------------------------------------------------------------------ Bernoulli, exponential, ...


@drawn
def bernoulli(p: float | Array, shape: Shape, dtype: Dtype, generator: Generator | None) -> Array:
    """Bernoulli samples: 1 with probability p, else 0. The precision of p is used for sampling."""
    if not (0 <= p <= 1 if p.__class__ is float else np.all(p >= 0) and np.all(p <= 1)):
        raise RuntimeError(
            "Expected p_in >= 0 && p_in <= 1 to be true: a probability must be between 0 and 1."
        )
    single = isinstance(p, (np.ndarray, np.generic)) and p.dtype != np.float64
    u = unit(math.prod(shape), np.float32 if single else np.float64, generator)
    return (u.reshape(shape) < p).astype(dtype)


@drawn
def exponential(
    shape: Shape, dtype: Dtype, rate: float | Array, generator: Generator | None
) -> Array:
    """Samples from the exponential distribution, by inverting its cdf: -log(1 - u) / rate.

    The cdf is 1 - exp(-rate t). Setting it to u and solving for t gives the formula.
    """
    _require_continuous("Exponential", dtype)
    if rate <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate}")
    u = unit(math.prod(shape), np.float64, generator)
    return (-1 / rate * np.log1p(-u)).reshape(shape).astype(dtype, copy=False)


@drawn
def log_normal(
    shape: Shape, dtype: Dtype, mean: float, std: float, generator: Generator | None
) -> Array:
    """Samples from the log-normal distribution: exp of normal samples."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    z = _pairs(math.prod(shape), source(generator)) * std + mean
    return np.exp(z).reshape(shape).astype(dtype, copy=False)


@drawn
def geometric(shape: Shape, dtype: Dtype, p: float, generator: Generator | None) -> Array:
    """The number of trials up to and including the first success: ceil(log(u) / log(1 - p))."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    u = unit(math.prod(shape), np.float64, generator)
    return np.ceil(np.log(u) / math.log1p(-p)).reshape(shape).astype(dtype)


@drawn
def cauchy(
    shape: Shape, dtype: Dtype, median: float, sigma: float, generator: Generator | None
) -> Array:
    """Samples from the Cauchy distribution: median + sigma * tan(angle), with a uniform angle."""
    _require_continuous("Cauchy", dtype)
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    u = unit(math.prod(shape), np.float64, generator)
    return (median + sigma * np.tan(np.pi * (u - 0.5))).reshape(shape).astype(dtype, copy=False)


# ------------------------------------------------------------------------ Poisson, binomial, gamma


@drawn
def poisson_samples(rates: Array, generator: Generator | None) -> Array:
    """Samples from the Poisson distributions with these rates.

    For rates below 10, Knuth's algorithm multiplies uniform samples until the product is at most
    exp(-rate). For larger rates, it uses rejection sampling.

    Sources: Knuth, The Art of Computer Programming 2, section 3.4.1; Hoermann, The transformed
    rejection method for generating Poisson random variables (1993).
    """
    if np.any(rates < 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return _one_by_one(_poisson_sample, generator, rates)


@drawn
def binomial_samples(counts: Array, p: Array, generator: Generator | None) -> Array:
    """Samples from the binomial distributions with these numbers of trials and probabilities of success.

    If fewer than 10 successes are expected, it adds up the waiting times for them, which are geometric.
    Otherwise, it uses rejection sampling. Above p = 0.5, it draws the number of failures.

    Source: Hoermann, The generation of binomial random variates (1993).
    """
    return _one_by_one(_binomial_sample, generator, counts, p)


def _one_by_one(
    draw: Callable[..., float], generator: Generator | None, *parameters: Array
) -> Array:
    """Draw one sample for each entry of the parameters, with their shape and dtype."""
    g, like = source(generator), parameters[0]
    entries = [np.asarray(a, np.float64).ravel().tolist() for a in parameters]
    with g.lock:
        z = [draw(*entry, g) for entry in zip(*entries, strict=True)]
    return np.array(z, like.dtype).reshape(np.shape(like))


def _poisson_sample(rate: float, g: Generator) -> int:
    if rate >= 10:
        return _poisson_by_rejection(rate, g)
    if rate == 0:
        return 0
    count, product, limit = 0, _one(g), math.exp(-rate)
    while product > limit:
        count += 1
        product *= _one(g)
    return count


def _poisson_by_rejection(rate: float, g: Generator) -> int:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = _one(g) - 0.5
        v = _one(g)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


def _binomial_sample(n: float, p: float, g: Generator) -> float:
    if math.isnan(n) or math.isnan(p):
        return math.nan
    if n <= 0 or p <= 0:
        return 0
    if p > 0.5:
        return n if p >= 1 else n - _binomial_sample(n, 1 - p, g)
    if n * p >= 10:
        return _binomial_by_rejection(n, p, g)
    count, trials = 0, 0
    while True:
        trials += math.ceil(math.log(_one(g)) / math.log1p(-p))
        if trials > n:
            return count
        count += 1


def _binomial_by_rejection(n: float, p: float, g: Generator) -> float:
    deviation = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * deviation
    mode = math.floor((n + 1) * p)
    slope, top = math.log(p / (1 - p)), _log_coefficient(n, mode)
    while True:
        u = _one(g) - 0.5
        v = _one(g)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if k < 0 or k > n:
            continue
        left = math.log(v * alpha / (a / (us * us) + b))
        if left <= (k - mode) * slope + _log_coefficient(n, k) - top:
            return k


def _log_coefficient(n: float, k: float) -> float:
    """log(1 / (k! (n - k)!))"""
    return -math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _one(g: Generator) -> float:
    """A uniform sample in double precision."""
    return float(unit(1, np.float64, g)[0])


@drawn
def gamma(shapes: Array, generator: Generator | None) -> Array:
    """Samples from the gamma distributions with these shape parameters and scale 1.

    Source: Marsaglia and Tsang, A simple method for generating gamma variables (2000).
    """
    _require_float("gamma_cpu", shapes.dtype)
    z = _one_by_one(_gamma, generator, shapes)
    # A sample of a small shape is often too small for its type. At 0, its logarithm and quotients would be undefined.
    return np.maximum(z, np.finfo(z.dtype).tiny)


def _gamma(shape: float, g: Generator) -> float:
    if shape == 0:
        return 0.0
    scale = 1.0
    if shape < 1:
        scale, shape = (1 - _one(g)) ** (1 / shape), shape + 1
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        y = 0.0
        while y <= 0:
            x = float(_pairs(1, g)[0])
            y = 1 + c * x
        v = y * y * y
        u = 1 - _one(g)
        if u < 1 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            return scale * d * v
