"""Anomaly detection: raise an error when a rule produces a NaN in the backward pass.

>>> import minigrad
>>> x = minigrad.tensor(0.0, requires_grad=True)
>>> with set_detect_anomaly(True):
...     z = (x * 0).sqrt()
...     z.backward()          # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
RuntimeError: Function 'MulBackward0' returned nan values in its 0th output. ...

Inside such a block, every operation stores its source line, so that the error can show it.
The backward pass runs step by step and checks every gradient. Outside the block, nothing is checked.
"""

from minigrad.core import modes
from minigrad.core.errors import warn_user


class set_detect_anomaly:
    """Switch anomaly detection on or off, at once, or until the end of a `with` block.

    mode        True to switch it on
    check_nan   whether a NaN is an error. If False, source lines are still kept, for other errors

    >>> x = minigrad.tensor(0.0, requires_grad=True)
    >>> with set_detect_anomaly(True):  # doctest: +ELLIPSIS
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (modes.state.anomaly, modes.state.tracing)
        modes.set_mode("anomaly", bool(mode) and bool(check_nan))
        modes.trace_lines(bool(mode) or self._before[1])

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        modes.set_mode("anomaly", self._before[0])
        modes.trace_lines(self._before[1])


class detect_anomaly(set_detect_anomaly):
    """A `with` block in which a NaN in a backward pass raises an error.

    >>> x = minigrad.tensor(0.0, requires_grad=True)
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), detect_anomaly():  # doctest: +ELLIPSIS
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warn_user(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
            "enabled for debugging."
        )

    def __enter__(self) -> None:
        super().__init__(True, self._check_nan)  # switch it on when the block starts, not earlier
