"""Distribution: the base class of all distributions.

    batch_shape    one object can hold a batch of distributions, one for each parameter value
    event_shape    the shape of one sample from one of them

    d.sample(sample_shape)     has the shape  sample_shape + batch_shape + event_shape
    d.log_prob(x)              has the shape  sample_shape + batch_shape

A subclass declares its parameters with their constraints (`arg_constraints`) and the set of
possible values (`support`); both are checked here. Otherwise a subclass is a table of formulas,
named after the methods that use them: `_draw`, `_log_prob`, `_cdf`, `_icdf`, `_entropy`, `_moments`, `_mode`;
`_values` if the support is finite; `_sample` if samples without gradients are drawn in another way; and
`_kl`, the Kullback-Leibler divergence from another distribution of the same class. A short formula
is a row, `_cdf = lambda self, x: ...`; a longer one is a method.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np

from minigrad.autograd.reverse_ad import grad
from minigrad.core import dtypes, modes
from minigrad.core.errors import broadcastable, warn_user
from minigrad.core.limits import finfo
from minigrad.core.shapes import surely
from minigrad.core.tensor import Size, Tensor, wrap
from minigrad.distributions.constraints import Constraint
from minigrad.methods import ArrayMethods
from minigrad.methods.functions import broadcast_tensors
from minigrad.random.tensors import normal

__all__ = ["Distribution", "ExponentialFamily", "kl_divergence", "register_kl"]

Shape = tuple[int, ...]


def _missing(message: str) -> Any:
    """In place of a formula, until a subclass defines it. The message names the class."""

    def formula(self: Any, *args: Tensor) -> Any:
        raise NotImplementedError(message.format(type(self)))

    return formula


class Distribution:
    """The base class of all distributions.

    validate_args   whether to check parameters and values; None means the default

    Raises ValueError if a parameter violates its constraint, or a value is outside the support.
    """

    has_rsample = False
    has_enumerate_support = False
    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _validate_args = True
    _shows_parameters = True  # False for Beta and others, which PyTorch prints as Beta()

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            if self.arg_constraints is Distribution.arg_constraints:
                self._warn_about("arg_constraints", "set arg_constraints = {} in the class, or")
            self._check_parameters()

    def _warn_about(self, name: str, remedy: str) -> None:
        warn_user(
            f"{type(self)} does not define `{name}`, so nothing is checked against it. To fix it, {remedy} pass "
            "validate_args=False to turn off validation."
        )

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set the default of `validate_args`. Raises ValueError for anything but True and False."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, but got {value!r}.")
        Distribution._validate_args = value

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            value = self.__dict__.get(name)
            if value is None or all_hold(constraint.check(value)):
                continue
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                f"distribution {self!r} to satisfy the constraint {constraint!r}, but found invalid "
                f"values:\n{value}"
            )

    # ------------------------------------------------------------------ shapes

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions, usually the shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample from one distribution of the batch."""
        return self._event_shape

    @property
    def support(self) -> Constraint | None:
        """The set of possible values, as a constraint."""
        return None

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Shape:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """This distribution with its parameters and base distributions expanded to a new batch shape."""
        shape = tuple(batch_shape)
        new: Self = object.__new__(type(self)) if _instance is None else _instance
        kinds = [vars(cls).get("arg_constraints", {}) for cls in type(self).__mro__]
        axes = {name: constraint.event_dim for kind in kinds for name, constraint in kind.items()}
        for name, value in self.__dict__.items():
            if isinstance(value, Distribution):
                value = value.expand(shape)
            elif name in axes and value is not None:
                value = value.expand(*shape, *value.shape[value.ndim - axes[name] :])
            new.__dict__[name] = value
        new._batch_shape = Size(shape)
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """A new object for `expand` to fill. User-defined distributions call this, as in PyTorch."""
        if _instance is None and type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return object.__new__(type(self)) if _instance is None else _instance

    # ------------------------------------------------------------------ sampling

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples. Gradients do not flow through them."""
        with modes.no_grad():
            return self._sample(sample_shape)

    def _sample(self, sample_shape: Sequence[int]) -> Tensor:
        return self.rsample(sample_shape)

    def sample_n(self, n: int) -> Tensor:
        """sample((n,)), with a warning: this name is deprecated."""
        warn_user("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample((n,))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples as a function of the parameters, so that gradients flow through them."""
        if not self.has_rsample:
            raise NotImplementedError(
                f"{type(self).__name__} has no rsample: its samples are not a differentiable function of the "
                "parameters. To fix it, use sample(), and log_prob in the loss."
            )
        return self._draw(self._extended_shape(sample_shape))

    # ------------------------------------------------------------------ probabilities and moments

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-density at value, or the log-probability of a discrete value."""
        self._validate_sample(value)
        return self._log_prob(value)

    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function: the probability that a sample is at most value."""
        self._validate_sample(value)
        return self._cdf(value)

    def icdf(self, value: Tensor) -> Tensor:
        """The quantile function, the inverse of cdf."""
        return self._icdf(value)

    def entropy(self) -> Tensor:
        """The expected value of -log_prob, in nats."""
        return self._entropy()

    def perplexity(self) -> Tensor:
        """exp(entropy): a uniform choice among this many values has the same entropy."""
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a finite support, along a new first axis."""
        values = self._values()
        values = values.reshape(-1, *(1,) * len(self._batch_shape), *self._event_shape)
        return values.expand(-1, *self._batch_shape, *self._event_shape) if expand else values

    @property
    def mode(self) -> Tensor:
        """The most likely value, or the value with the greatest density."""
        return self._mode()

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._moments()[0]

    @property
    def variance(self) -> Tensor:
        """The variance: the expected value of (x - mean)**2."""
        return self._moments()[1]

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    # ------------------------------------------------------------------ formulas, for subclasses

    _draw, _log_prob, _cdf, _icdf, _entropy = [
        _missing(f"{{0.__name__}} has no {name}.")
        for name in ("sample", "log_prob", "cdf", "icdf", "entropy")
    ]
    _moments = _missing("{0.__name__} has no mean and variance.")  # a tuple of both
    _values = _missing(
        "{0.__name__} has no enumerate_support."
    )  # of a finite support, along the first axis
    _mode = _missing("{0} does not implement mode")

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless value has a valid shape and lies in the support."""
        if not self._validate_args:
            return
        if not isinstance(value, ArrayMethods):
            raise ValueError(
                "The value argument to log_prob must be a Tensor. To fix it, use minigrad.tensor(...)."
            )
        k = len(self._event_shape)
        event = tuple(value.shape[value.ndim - k :])
        if event != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {Size(value.shape)} vs {self._event_shape}."
            )
        rest = value.shape[: value.ndim - k]
        if not broadcastable(rest, self._batch_shape):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {Size(value.shape)} vs "
                f"{Size(self._extended_shape())}."
            )
        if self.support is None:
            self._warn_about("support", "define it, or")
        elif not all_hold(self.support.check(value)):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({self.support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def __repr__(self) -> str:
        parts = []
        for name in self.arg_constraints if self._shows_parameters else ():
            value = self.__dict__.get(name)
            if value is not None:
                parts.append(f"{name}: {value if value.numel() == 1 else value.shape}")
        return f"{type(self).__name__}({', '.join(parts)})"


class ExponentialFamily(Distribution):
    """A distribution of density exp(t(x) * eta - A(eta) + k(x)), from which the entropy follows.

    A subclass defines `_natural_params`, the tuple eta; `_log_normalizer(*eta)`, A; and
    `_mean_carrier_measure`, the mean of k(x). The entropy is A - eta * dA/deta - the mean of k(x).
    """

    _natural_params: Any
    _mean_carrier_measure: float | Tensor = 0.0
    _log_normalizer = _missing("{0.__name__} has no _log_normalizer.")

    def _entropy(self) -> Tensor:
        eta = [parameter.detach().requires_grad_() for parameter in self._natural_params]
        with modes.enable_grad():
            normalizer: Tensor = self._log_normalizer(*eta)
            slopes = grad(normalizer.sum(), eta, create_graph=True)
        terms = [
            (a * slope).reshape(*self._batch_shape, -1)
            for a, slope in zip(eta, slopes, strict=True)
        ]
        return normalizer - self._mean_carrier_measure - sum(term.sum(-1) for term in terms)


# ------------------------------------------------------------------------ Kullback-Leibler divergence

Formula = Callable[[Any, Any], Any]
_formulas: dict[tuple[type, type], Formula] = {}  # those that register_kl adds


def register_kl(type_p: type, type_q: type) -> Callable[[Formula], Formula]:
    """A decorator that registers a function of (p, q) as the formula for a pair of types."""

    def register(formula: Formula) -> Formula:
        _formulas[type_p, type_q] = formula
        return formula

    return register


def _formula(a: type, b: type) -> Formula | None:
    """The formula for two types themselves, without their base classes."""
    return _formulas.get((a, b), vars(a).get("_kl") if a is b else None)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q) = the expected value of log p(x) - log q(x), for x drawn from p, with the batch shape of p and q.

    It measures the extra nats needed to encode samples of p with a code that is optimal for q. It is
    never negative, and 0 only if p and q are equal. Most classes have a closed form for two distributions of
    the same class; `register_kl` adds others.

    Raises NotImplementedError if no formula is known for the types of p and q.

    >>> from minigrad.distributions import Normal
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)

    Source: Kullback and Leibler, On Information and Sufficiency (1951).
    """
    classes_p, classes_q = type(p).__mro__, type(q).__mro__  # the most specific formula comes first
    found = next(filter(None, (_formula(a, b) for a in classes_p for b in classes_q)), None)
    if found is not None:
        if found is not next(filter(None, (_formula(a, b) for b in classes_q for a in classes_p))):
            names = f"{type(p).__name__}, {type(q).__name__}"
            warn_user(
                f"Ambiguous kl_divergence({names}). Please register_kl({names})", RuntimeWarning
            )
        return found(p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}. "
        "To fix it, take the mean of p.log_prob(x) - q.log_prob(x) over x = p.rsample((n,))."
    )


# ------------------------------------------------------------------------ helpers


def all_hold(conditions: Tensor) -> bool:
    """Is every entry true? What is only computed when a program runs counts as true."""
    return not surely(np.logical_not(conditions.array.all()))


def broadcast_all(*values: float | Tensor) -> tuple[Tensor, ...]:
    """Broadcast numbers and tensors to tensors of one shape; numbers take the tensors' dtype."""
    for v in values:
        if not isinstance(v, (ArrayMethods, int, float, np.number)):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
                "__torch_function__."
            )
    typed = [v.dtype for v in values if isinstance(v, ArrayMethods)]
    dtype = typed[0] if typed else dtypes.get_default_dtype()
    return broadcast_tensors(
        *(v if isinstance(v, ArrayMethods) else wrap(np.asarray(v, dtype)) for v in values)
    )


def standard_normal(shape: Shape, like: Tensor) -> Tensor:
    """Noise from the standard normal distribution, with the dtype of `like`."""
    records = hasattr(modes.state.observer, "interpret_draw")  # a program, which draws in each run
    with nullcontext() if records else modes.unobserved():
        zeros = like.new_zeros(shape)
        noise = normal(zeros, zeros + 1)
    return modes.with_name("noise", noise)


def tiny(x: Tensor) -> float:
    """The smallest positive normal number of x's dtype."""
    return finfo(x.dtype).tiny
