"""Global settings that PyTorch programs make at startup. They have no effect in minigrad.

minigrad has one device, NumPy's BLAS library chooses the number of threads, and results are always
deterministic. So these functions only store the value, for the matching get function to return.

>>> set_num_threads(2)
>>> get_num_threads()
2
"""

import os
from typing import Any

from minigrad.core import dtypes
from minigrad.core.devices import CPU, DeviceLike, check_device, device
from minigrad.core.errors import warn_user

_settings: dict[str, Any] = {
    "threads": os.cpu_count() or 1,
    "interop": os.cpu_count() or 1,
    "precision": "highest",
    "deterministic": False,
    "warn_only": False,
    "warn_always": False,
    "overwrite_parameters": False,
    "swap_parameters": False,
    "device": CPU,
}


def _positive(name: str, n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"{name} expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return n


def set_num_threads(int: int) -> None:  # noqa: A002  # PyTorch's name
    """Store a number of threads. To limit NumPy's, set OMP_NUM_THREADS before it is imported.

    >>> set_num_threads(get_num_threads())
    """
    _settings["threads"] = _positive("set_num_threads", int)


def get_num_threads() -> int:
    """The number that was set; by default, the number of CPUs.

    >>> get_num_threads() >= 1
    True
    """
    return _settings["threads"]


def set_num_interop_threads(int: int) -> None:  # noqa: A002  # PyTorch's name
    """Store a number of threads; no effect.

    >>> set_num_interop_threads(get_num_interop_threads())
    """
    _settings["interop"] = _positive("set_num_interop_threads", int)


def get_num_interop_threads() -> int:
    """The number that was set; by default, the number of CPUs.

    >>> get_num_interop_threads() >= 1
    True
    """
    return _settings["interop"]


def set_float32_matmul_precision(precision: str) -> None:
    """Store "highest", "high" or "medium". Products are always computed in full precision.

    >>> set_float32_matmul_precision("high")
    >>> get_float32_matmul_precision()
    'high'
    >>> set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warn_user(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current "
            "setFloat32MatmulPrecision call has no effect."
        )
        return
    _settings["precision"] = precision


def get_float32_matmul_precision() -> str:
    """The precision that was set.

    >>> get_float32_matmul_precision()
    'highest'
    """
    return _settings["precision"]


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Store the setting; no effect, because all algorithms are deterministic.

    >>> use_deterministic_algorithms(True)
    >>> are_deterministic_algorithms_enabled()
    True
    >>> use_deterministic_algorithms(False)
    """
    for which, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if not isinstance(value, bool):
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {which} must be bool, not {type(value).__name__}"
            )
    _settings["deterministic"], _settings["warn_only"] = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """The `mode` passed to use_deterministic_algorithms.

    >>> are_deterministic_algorithms_enabled()
    False
    """
    return _settings["deterministic"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The `warn_only` passed to use_deterministic_algorithms.

    >>> is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _settings["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Like use_deterministic_algorithms: 0 or "default", 1 or "warn", 2 or "error".

    >>> set_deterministic_debug_mode("warn")
    >>> get_deterministic_debug_mode(), is_deterministic_algorithms_warn_only_enabled()
    (1, True)
    >>> set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    mode = {"default": 0, "warn": 1, "error": 2}.get(debug_mode, debug_mode)  # type: ignore[arg-type]
    if mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0 (`default`), 1 (`warn`) or 2 (`error`), but got {debug_mode}"
        )
    use_deterministic_algorithms(mode != 0, warn_only=mode == 1)


def get_deterministic_debug_mode() -> int:
    """The mode as a number: 0, 1 or 2.

    >>> get_deterministic_debug_mode()
    0
    """
    return _settings["deterministic"] * (1 if _settings["warn_only"] else 2)


def set_warn_always(b: bool) -> None:
    """Store the setting; no effect, because Python's `warnings` filters decide how often a warning is shown.

    >>> set_warn_always(True)
    >>> is_warn_always_enabled()
    True
    >>> set_warn_always(False)
    """
    _settings["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """The value that was set.

    >>> is_warn_always_enabled()
    False
    """
    return _settings["warn_always"]


# `__future__`: how `module.to()` changes the parameters. It always writes to `.data`, so that optimizers keep them.


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Store the setting of `__future__`; no effect.

    >>> set_overwrite_module_params_on_conversion(False)
    """
    _settings["overwrite_parameters"] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """The value that was set.

    >>> get_overwrite_module_params_on_conversion()
    False
    """
    return _settings["overwrite_parameters"]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Store the setting of `__future__`; no effect.

    >>> set_swap_module_params_on_conversion(False)
    """
    _settings["swap_parameters"] = value


def get_swap_module_params_on_conversion() -> bool:
    """The value that was set.

    >>> get_swap_module_params_on_conversion()
    False
    """
    return _settings["swap_parameters"]


# A setting of `utils.deterministic`; `empty` always fills with zeros.
fill_uninitialized_memory = True


def set_default_device(device: DeviceLike) -> None:
    """Accept "cpu", the only device. Raises DeviceError for any other.

    >>> set_default_device("cpu")
    """
    check_device(device)


def get_default_device() -> device:
    """The only device.

    >>> get_default_device()
    device(type='cpu')
    """
    return CPU


def set_default_tensor_type(t: str | type) -> None:
    """The older form of set_default_dtype, for "torch.DoubleTensor" or such a class.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     set_default_tensor_type("torch.DoubleTensor")
    >>> minigrad.tensor(1.0).dtype
    minigrad.float64
    >>> minigrad.set_default_dtype(minigrad.float32)
    """
    warn_user(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() instead."
    )
    name = t if isinstance(t, str) else t.__name__
    named = [d for d in dtypes.ALL if name.rpartition(".")[2] == f"{dtypes.torch_name(d)}Tensor"]
    if not named:
        raise TypeError("invalid type object: it must be a floating point tensor type")
    dtypes.set_default_dtype(named[0])


def set_flush_denormal(mode: bool) -> bool:
    """Returns False: Python cannot change this setting of the CPU.

    >>> set_flush_denormal(True)
    False
    """
    return False
