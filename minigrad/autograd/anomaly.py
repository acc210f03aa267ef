"""Anomaly detection: a NaN that arises in a backward pass is an error, at the rule that made it.

>>> import minigrad
>>> x = minigrad.tensor(0.0, requires_grad=True)
>>> with set_detect_anomaly(True):
...     z = (x * 0).sqrt()
...     z.backward()          # doctest: +ELLIPSIS
Traceback (most recent call last):
    ...
RuntimeError: Function 'MulBackward0' returned nan values in its 0th output. ...

Within such a block every operation remembers its line, so that the error can name it, and
the pass goes step by step, each gradient being looked at. Outside, nothing is looked at.
"""

import warnings

from minigrad.core import modes


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once, and as a block until its end.

    mode        on?
    check_nan   is NaN an error? If not, only the lines are remembered, for other errors

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
    """A block within which a NaN that arises in a backward pass is an error.

    >>> x = minigrad.tensor(0.0, requires_grad=True)
    >>> with warnings.catch_warnings(action="ignore"), detect_anomaly():  # doctest: +ELLIPSIS
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be "
            "enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        super().__init__(True, self._check_nan)  # on when the block begins, not before
