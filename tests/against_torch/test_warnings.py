"""What a program is warned of: as in PyTorch, in the same words, at the user's line."""

import warnings

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import calls, torch

CALLS = """
m.tensor(m.ones(2)) | m.tensor([np.ones(2), np.ones(2)]) | m.tensor((np.ones(2), np.ones(2))) | m.tensor([np.float32(1)])
m.as_tensor(m.ones(2)) | m.FloatTensor([np.ones(2)]) | m.from_numpy(np.broadcast_to(1.0, 3)) | m.as_tensor(np.ones(2))
m.meshgrid(m.ones(2), m.ones(3)) | m.meshgrid(m.ones(2), m.ones(3), indexing="ij") | m.cartesian_prod(m.ones(2), m.ones(2))
m.ones(2, 3, 4).T | m.ones(2).T | m.ones(2, 3).T | m.cross(m.ones(3), m.ones(3)) | m.cross(m.ones(3), m.ones(3), dim=0)
float(x.sum()) | int(x.sum()) | float(x.sum().detach()) | m.no_grad()(float)(x.sum()) | x.sum().item() | bool(x.sum()) | m.tensor([x.sum()]) | f"{x.sum():.2f}"
F.kl_div(x, x) | F.kl_div(x, x, reduction="batchmean") | F.kl_div(x, x, reduction="sum") | m.nn.KLDivLoss()(x, x)
F.mse_loss(x, x, reduction="elementwise_mean") | F.softmax(x) | F.log_softmax(x) | F.softmin(x) | m.nn.LogSoftmax()(x)
m.triangular_solve(m.ones(2, 1), m.eye(2)) | m.set_default_tensor_type("torch.FloatTensor") | m.ones(1).var()
m.autocast("cuda") | m.amp.autocast("cuda", dtype=m.float16) | m.autocast("cuda", enabled=False) | m.autocast("mps") | m.amp.GradScaler() | m.amp.GradScaler(enabled=False)
m.cuda.amp.autocast() | m.cuda.amp.autocast(enabled=False) | m.cuda.amp.GradScaler() | m.cuda.amp.GradScaler(enabled=False) | m.cuda.amp.custom_fwd(len) | m.cuda.amp.custom_bwd(len)
m.zeros(2).random_(0, 2**24) | m.zeros(2).random_(0, 2**30) | m.zeros(2).half().random_(-4000, 1) | m.randint(0, 2**30, (2,), dtype=m.float64)
F.dropout2d(m.ones(1, 2, 2)) | F.dropout2d(m.ones(1, 2)) | m.add(m.ones(2), 1, out=m.ones(3)) | m.add(m.ones(2), 1, out=m.ones(0)) | F.affine_grid(m.ones(1, 2, 3), (1, 1, 2, 1), align_corners=True)
m.cholesky(m.eye(2)) | m.eye(2).cholesky() | m.linalg.cholesky(m.eye(2)) | m.linalg.cholesky_ex(m.eye(2)) | m.chain_matmul(m.eye(2), m.eye(2)) | m.tensor(1.0).T | m.tensor(1.0).H
m.eye(2).index_reduce(0, m.tensor([0]), m.ones(1, 2), "prod") | m.eye(2).index_reduce_(0, m.tensor([0]), m.ones(1, 2), "mean") | m.eye(2).scatter_reduce(0, m.tensor([[0]]), m.ones(1, 1), "sum")
m.eye(2).scatter(0, m.tensor([[0]]), m.ones(1, 1), reduce="add") | m.eye(2).scatter_(0, m.tensor([[0]]), m.ones(1, 1), reduce="multiply") | m.eye(2).scatter_(0, m.tensor([[0]]), 2.0, reduce="add") | m.eye(2).scatter_add_(0, m.tensor([[0]]), m.ones(1, 1))
m.autograd.Variable(x, volatile=True) | m.autograd.Variable(x) | F.gumbel_softmax(x, eps=1e-9) | F.gumbel_softmax(x, hard=True)
m.utils.checkpoint.checkpoint_sequential(m.nn.Sequential(m.nn.Linear(3, 2)), 1, x) | m.utils.checkpoint.checkpoint(m.sin, x)
encoder(8) | encoder(8, batch_first=True) | encoder(8, norm_first=True) | encoder(8, batch_first=True, bias=False) | encoder(6, 3, batch_first=True) | encoder(8, batch_first=True, activation=m.tanh)
encoder(8, batch_first=True, activation=F.gelu) | encoder(8, batch_first=True, activation=m.nn.ReLU()) | m.nn.TransformerEncoder(m.nn.Linear(2, 2), 1) | m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(4, 2), 1, enable_nested_tensor=False)
m.nn.Transformer(4, 2, 1, 1) | m.nn.Transformer(4, 2, 1, 1, batch_first=True)
encoder(8, batch_first=True)(m.ones(2, 3, 8), later, padding) | encoder(8, batch_first=True)(m.ones(2, 3, 8), later == 0, padding) | encoder(8, batch_first=True)(m.ones(2, 3, 8), later == 0, padding.float())
encoder(8, batch_first=True).layers[0](m.ones(2, 3, 8), later, padding) | m.nn.MultiheadAttention(8, 2, batch_first=True)(*[m.ones(2, 3, 8)] * 3, padding, attn_mask=later)
m.nn.TransformerDecoderLayer(8, 2, batch_first=True)(m.ones(2, 3, 8), m.ones(2, 3, 8), memory_mask=later, memory_key_padding_mask=padding)
list(m.utils.data.DataLoader([1, 2], pin_memory=True)) | m.utils.data.DataLoader([1, 2], pin_memory=True)
"""


def warned(m, call):
    """The categories of the warnings, and how they begin."""
    scope = {"m": m, "F": m.nn.functional, "np": np, "x": m.ones(2, 3, requires_grad=True)}
    scope["encoder"] = lambda width, heads=2, **settings: m.nn.TransformerEncoder(
        m.nn.TransformerEncoderLayer(width, heads, 4, **settings), 1
    )
    scope["later"] = m.nn.Transformer.generate_square_subsequent_mask(3)
    scope["padding"] = m.zeros(2, 3, dtype=m.bool)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", category=RuntimeWarning)  # of NumPy
        eval(call, scope)
    return {
        (w.category, str(w.message).replace("minigrad", "torch")[:36], w.filename) for w in caught
    }


@pytest.mark.parametrize("call", calls(CALLS))
def test_a_call_warns_as_in_pytorch(call):
    torch.set_warn_always(True)
    try:
        theirs = warned(torch, call)
    finally:
        torch.set_warn_always(False)

    ours = warned(minigrad, call)

    assert {w[:2] for w in ours} == {w[:2] for w in theirs}
    assert all(file in ("<string>", __file__) for *_, file in ours)
