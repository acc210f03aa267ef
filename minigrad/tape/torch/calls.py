"""Calls our operation in place of a recorded operation of PyTorch.

Our functions have PyTorch's names and settings, so most operations can be called as recorded; the tables
below list the operations that have another name or other arguments in the dispatcher. tape/rerun.py uses it.
"""

import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from minigrad.core.tensor import Tensor
from minigrad.nn.recurrent_cells import lstm_step
from minigrad.tape.events import CannotRepeat, TorchCall
from minigrad.tape.torch.operations import REDUCTIONS, documented

Given = dict[str, Any]


def _reshaped(F: ModuleType, given: Given) -> Tensor:
    return given["self"].reshape(given.get("size") or given.get("shape"))


def _sliced(F: ModuleType, given: Given) -> Tensor:
    dim = given["dim"] % given["self"].ndim
    part = slice(given["start"], given["end"], given["step"])
    return given["self"][(*[slice(None)] * dim, part)]


def _indexed(F: ModuleType, given: Given) -> Tensor:
    return given["self"][tuple(slice(None) if i is None else i for i in given["indices"])]


def _convolution(F: ModuleType, given: Given) -> Tensor:
    settings = {k: given[k] for k in ("stride", "padding", "dilation", "groups")}
    name = "conv"
    if given["transposed"]:
        name, settings["output_padding"] = "conv_transpose", given["output_padding"]
    function = getattr(F, f"{name}{given['input'].ndim - 2}d")
    return function(given["input"], given["weight"], given["bias"], **settings)


def _lstm_layer(F: ModuleType, given: Given) -> tuple[Tensor, ...]:
    """One direction of one layer of nn.LSTM: the outputs of all steps, the last one, and the last cell."""
    if given["mode"] != 2:
        raise CannotRepeat("only an LSTM can be run again as one operation")
    input, size = given["input"], given["hidden_size"]
    h, c = (given[k].reshape(-1, size) for k in ("hx_", "cx_"))
    outputs = []
    for x in input.flip(0) if given["reverse"] else input:
        a = F.linear(x, given["weight0"], given["weight2"])
        h, c = lstm_step(a, (h, c), given["weight1"], given["weight3"])
        outputs.append(h)
    z = _ours().stack(outputs[::-1] if given["reverse"] else outputs)
    return z, h.reshape(given["hx_"].shape), c.reshape(given["cx_"].shape)


def _attention(F: ModuleType, given: Given) -> Tensor:
    operands = (given[k] for k in ("query", "key", "value", "attn_mask"))
    settings = {k: given[k] for k in ("dropout_p", "is_causal", "scale")}
    return F.scaled_dot_product_attention(*operands, **settings)


def _elu(F: ModuleType, given: Given) -> Tensor:
    negative = given["alpha"] * (given["input_scale"] * given["self"]).clamp(max=0).expm1()
    return given["scale"] * (given["self"].clamp(min=0) + negative)


def _resized(mode: str) -> Callable[[ModuleType, Given], Tensor]:
    def resized(F: ModuleType, given: Given) -> Tensor:
        settings = {"align_corners": given["align_corners"]} if mode != "nearest" else {}
        return F.interpolate(given["self"], given["output_size"], mode=mode, **settings)

    return resized


# Operations whose arguments in the dispatcher differ from ours, by the documented names: losses,
# whose reduction is a number; those that take these arguments by position; and the others.
LOSSES = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "mse_loss", "nll_loss",
    "smooth_l1_loss",
)  # fmt: skip
BY_POSITION = {
    "batch_norm": "input running_mean running_var weight bias training momentum eps",
    "embedding": "indices weight",
    "im2col": "self kernel_size dilation padding stride",
    "layer_norm": "input normalized_shape weight bias eps",
    "log_sigmoid": "self",
    "log_softmax": "self dim",
    "max_pool2d": "self kernel_size stride padding dilation ceil_mode",
    "softmax": "self dim",
}
OTHERWISE: dict[str, Callable[[ModuleType, Given], object]] = {
    "cdist": lambda F, g: _ours().cdist(g["x1"], g["x2"], g["p"]),
    "prelu_kernel": lambda F, g: g["self"].clamp(min=0) + g["weight"] * g["self"].clamp(max=0),
    "constant_pad_nd": lambda F, g: F.pad(g["self"], g["pad"], value=g["value"]),
    "convolution": _convolution,
    "elu": _elu,
    "index": _indexed,
    "rnn_layer": _lstm_layer,
    "group_norm": lambda F, g: F.group_norm(
        g["input"], g["group"], g["weight"], g["bias"], g["eps"]
    ),
    "rsub": lambda F, g: g["other"] - g["alpha"] * g["self"],
    "select": lambda F, g: g["self"].select(g["dim"], g["index"]),
    "slice": _sliced,
    "to": lambda F, g: g["self"].clone(),
    "scaled_dot_product_attention": _attention,
    "unsafe_split": lambda F, g: [
        part.clone() for part in g["self"].split(g["split_size"], g["dim"])
    ],
    "upsample_bilinear2d": _resized("bilinear"),
    "upsample_nearest2d": _resized("nearest"),
    "view": _reshaped,
    "where": lambda F, g: _ours().where(g["condition"], g["self"], g["other"]),
}
RENAMED = {"im2col": "unfold", "log_sigmoid": "logsigmoid"}
IGNORED = (
    "dtype", "layout", "device", "pin_memory", "memory_format", "non_blocking", "implicit", "check_errors",
    "compute_uv", "compute_v",
)  # fmt: skip


def _ours() -> ModuleType:
    return sys.modules["minigrad"]


def call_ours(call: TorchCall, operands: Given) -> object:
    """Call our operation with the name of PyTorch's, as the tables say.

    operands    our tensors, or lists of them, by the names of the arguments
    """
    ours, known = _ours(), documented(call.name)
    given = {k: v for k, v in call.settings.items() if k not in IGNORED} | operands
    F, whole = ours.nn.functional, {**call.defaults, **given}
    if known in LOSSES:
        whole["reduction"] = REDUCTIONS[whole["reduction"]]
        return getattr(F, known)(whole.pop("self"), **_not_none(whole))
    if known in BY_POSITION:
        values = (whole[key] for key in BY_POSITION[known].split())
        function = getattr(F, RENAMED.get(known, known))
        return function(*[None if value == [] else value for value in values])
    if known in OTHERWISE:
        return OTHERWISE[known](F, whole)
    first = next(iter(given))
    group, _, name = known.lstrip("_").partition("_")
    if group == "linalg" and hasattr(ours.linalg, name := name.removesuffix("_ex")):
        return getattr(ours.linalg, name)(given.pop(first), **_not_none(given))
    for place in (*[Tensor] * (first == "self"), ours, F):
        if hasattr(place, call.name):
            return getattr(place, call.name)(given.pop(first), **_not_none(given))
    if first == "self" and hasattr(Tensor, f"{call.name}_"):  # copy_, zero_, index_put_
        return getattr(given.pop(first).clone(), f"{call.name}_")(**_not_none(given))
    raise CannotRepeat(f"minigrad has no {call.name}")


def _not_none(given: Mapping[str, Any]) -> Given:
    """The settings that are not None: our functions have the same defaults."""
    return {k: v for k, v in given.items() if v is not None}
