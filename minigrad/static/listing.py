"""How instructions are shown: %3 = matmul(%0, %1)."""

from typing import Any

import numpy as np

from minigrad.static.instruction import Foreign, Instruction, Ref, Value


def described(line: Instruction) -> str:
    """What stands between the parentheses of an instruction."""
    if isinstance(line.op, Foreign):
        parts = [told(a) for a in line.settings["args"]]
        return ", ".join(parts + [f"{k}={told(v)}" for k, v in line.settings["kwargs"].items()])
    parts = [f"%{i}" for i in line.operands]
    defaults = line.op.settings
    for name, value in line.settings.items():
        default = defaults.get(name)
        if value is not default and not (isinstance(value, (int, float, str)) and value == default):
            parts.append(f"{name}={told(value)}")
    return ", ".join(parts)


def told(setting: Any) -> str:
    """A setting as it is shown."""
    if isinstance(setting, Ref):
        return f"%{setting.number}"
    if isinstance(setting, slice):
        return (
            ":".join(
                "" if p is None else str(p) for p in (setting.start, setting.stop, setting.step)
            ).removesuffix(":")
            or ":"
        )
    if isinstance(setting, np.ndarray):
        return f"array{setting.shape}" if setting.size > 6 else str(setting.tolist())
    if isinstance(setting, (tuple, list)):
        inner = ", ".join(map(told, setting))
        return (
            f"[{inner}]" if isinstance(setting, list) else f"({inner}{',' * (len(setting) == 1)})"
        )
    return "..." if setting is Ellipsis else str(setting)


def shape_and_type(value: Value) -> str:
    return f"{value.shape} {value.dtype}"
