"""Programs of the kinds that PyTorch's tutorials teach with, written for the tests of its tapes.

Each returns what it made, to be compared, as in torch_programs.py.
"""

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, jacrev, vmap
from torch.utils.checkpoint import checkpoint_sequential


def a_vector_and_its_gradient():
    """Autograd mechanics: the result is a vector, so the gradient is given."""
    a = torch.tensor([2.0, 3.0], requires_grad=True)
    b = torch.tensor([6.0, 4.0], requires_grad=True)
    q = 3 * a**3 - b**2
    q.backward(gradient=torch.tensor([1.0, 0.5]))
    return [a, b, q]


def sine_by_a_polynomial():
    """Four numbers are fitted with a loop and no_grad."""
    x = torch.linspace(-math.pi, math.pi, 20)
    y = torch.sin(x)
    a, b, c, d = (torch.randn((), requires_grad=True) for _ in range(4))
    for _ in range(2):
        guess = a + b * x + c * x**2 + d * x**3
        loss = (guess - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            for p in (a, b, c, d):
                p -= 1e-4 * p.grad
                p.grad = None
    return [a, b, c, d, loss]


class Legendre(torch.autograd.Function):
    """z = (5x^3 - 3x) / 2"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (5 * x**3 - 3 * x) / 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (7.5 * x**2 - 1.5)


def sine_by_a_function_of_its_own():
    x = torch.linspace(-1, 1, 8)
    a, b = (torch.full((), v, requires_grad=True) for v in (0.3, -0.8))
    loss = (a + b * Legendre.apply(b * x) - torch.sin(x)).square().sum()
    loss.backward()
    return [a, b, loss]


def sine_by_layers():
    x = torch.linspace(-3, 3, 12)
    powers = x[:, None].pow(torch.tensor([1, 2, 3]))
    model = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    measure = nn.MSELoss(reduction="sum")
    for _ in range(2):
        loss = measure(model(powers), x.sin())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return [*model.parameters(), loss]


class Dynamic(nn.Module):
    """A polynomial whose last term is taken once or twice: the graph differs from call to call."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.e = (nn.Parameter(torch.randn(())) for _ in range(3))

    def forward(self, x, times):
        y = self.a + self.b * x
        for power in range(4, 4 + times):
            y = y + self.e * x**power
        return y


def weights_that_are_shared():
    model, x = Dynamic(), torch.tensor([0.5, -1.0])
    losses = [model(x, times).square().mean() for times in (1, 2)]
    sum(losses).backward()
    return [*model.parameters(), *losses]


class Sinh(torch.autograd.Function):
    """z = sinh(x)"""

    @staticmethod
    def forward(ctx, x):
        up, down = torch.exp(x), torch.exp(-x)
        ctx.save_for_backward(up, down)
        return (up - down) / 2, up, down

    @staticmethod
    def backward(ctx, g, g_up, g_down):
        up, down = ctx.saved_tensors
        return g * (up + down) / 2 + g_up * up - g_down * down


def twice_through_a_function():
    """Intermediate values are returned, so that the backward pass can be differentiated."""
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    (once,) = torch.autograd.grad(Sinh.apply(x)[0].sum(), x, create_graph=True)
    (again,) = torch.autograd.grad(once.sum(), x, create_graph=True)
    again.sum().backward()
    return [x, once, again]


def what_is_saved_is_packed_elsewhere():
    x, kept = torch.randn(4, requires_grad=True), {}

    def pack(t):
        kept[len(kept)] = t.detach().numpy().copy()
        return len(kept) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda key: torch.from_numpy(kept[key])):
        y = (x.tanh() * x).pow(2)
    y.sum().backward()
    return [x, y, str(sorted(kept))]


def gradients_per_example():
    model, x, y = nn.Linear(3, 2), torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    parameters = {k: v.detach() for k, v in model.named_parameters()}

    def loss_of(parameters, x, y):
        return F.cross_entropy(functional_call(model, parameters, (x[None],)), y[None])

    each = vmap(grad(loss_of), in_dims=(None, 0, 0))(parameters, x, y)
    return [each["weight"], each["bias"], jacrev(torch.sin)(x[0])]


def digits_from_scratch():
    """A classifier from bare tensors, and then the same from modules."""
    images, labels = torch.rand(6, 16), torch.tensor([0, 1, 2, 2, 1, 0])
    weights = torch.randn(16, 3) / 4
    weights.requires_grad_()
    bias = torch.zeros(3, requires_grad=True)
    scores = images @ weights + bias
    logs = scores - scores.exp().sum(-1).log().unsqueeze(-1)
    loss = -logs[range(6), labels].mean()
    loss.backward()
    model = nn.Linear(16, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    F.cross_entropy(model(images), labels).backward()
    optimizer.step()
    return [weights, bias, loss, *model.parameters()]


class NameReader(nn.Module):
    """Reads a name letter by letter, and says which language it is from."""

    def __init__(self, letters, hidden, languages):
        super().__init__()
        self.i2h = nn.Linear(letters + hidden, hidden)
        self.h2o = nn.Linear(hidden, languages)

    def forward(self, letter, hidden):
        hidden = torch.tanh(self.i2h(torch.cat([letter, hidden], 1)))
        return F.log_softmax(self.h2o(hidden), dim=1), hidden


def a_name_letter_by_letter():
    reader, hidden = NameReader(5, 4, 3), torch.zeros(1, 4)
    for letter in F.one_hot(torch.tensor([2, 0, 4]), 5).float():
        output, hidden = reader(letter[None], hidden)
    loss = F.nll_loss(output, torch.tensor([1]))
    loss.backward()
    for p in reader.parameters():
        p.data.add_(p.grad, alpha=-0.005)
    return [*reader.parameters(), loss]


def one_step_of_a_gan():
    """Two updates: of the judge, on real and on made images, and of the maker."""
    maker = nn.Sequential(
        nn.ConvTranspose2d(4, 6, 4, 1, 0, bias=False), nn.BatchNorm2d(6), nn.ReLU(True),
        nn.ConvTranspose2d(6, 1, 4, 2, 1, bias=False), nn.Tanh(),
    )  # fmt: skip
    judge = nn.Sequential(
        nn.Conv2d(1, 6, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(6, 1, 4, 1, 0, bias=False), nn.Sigmoid(),
    )  # fmt: skip
    opt_judge, opt_maker = (
        torch.optim.Adam(m.parameters(), 2e-4, (0.5, 0.999)) for m in (judge, maker)
    )
    measure, real, fake = nn.BCELoss(), torch.ones(2), torch.zeros(2)
    made = maker(torch.randn(2, 4, 1, 1))
    opt_judge.zero_grad()
    on_real = measure(judge(torch.randn(2, 1, 8, 8)).view(-1), real)
    on_real.backward()
    on_made = measure(judge(made.detach()).view(-1), fake)
    on_made.backward()
    opt_judge.step()
    opt_maker.zero_grad()
    loss = measure(judge(made).view(-1), real)
    loss.backward()
    opt_maker.step()
    return [*maker.parameters(), *judge.parameters(), on_real, on_made, loss]


class Block(nn.Module):
    """A transformer block: attention that looks back only, and a small network, each added."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def attention(self, x):
        n, t, width = x.shape
        q, k, v = (
            p.view(n, t, self.heads, -1).transpose(1, 2) for p in self.qkv(x).split(width, dim=2)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        ahead = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        mixed = scores.masked_fill(ahead, float("-inf")).softmax(-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(n, t, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


def a_transformer_block():
    block, x = Block(8, 2), torch.randn(2, 3, 8)
    loss = block(x).square().mean()
    loss.backward()
    fused = F.scaled_dot_product_attention(x[:, None], x[:, None], x[:, None], is_causal=True)
    return [*block.parameters(), loss, fused]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.tag = nn.Embedding(6, 4), nn.LSTM(4, 5), nn.Linear(5, 3)

    def forward(self, sentence):
        out, _ = self.lstm(self.words(sentence)[:, None])
        return F.log_softmax(self.tag(out.view(len(sentence), -1)), dim=1)


def words_and_their_tags():
    model = Tagger()
    loss = F.nll_loss(model(torch.tensor([0, 3, 5, 3])), torch.tensor([0, 1, 2, 1]))
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    return [*model.parameters(), loss]


def layers_in_segments():
    layers = [nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Dropout(0.2)) for _ in range(4)]
    x = torch.randn(2, 4, requires_grad=True)
    out = checkpoint_sequential(layers, 2, x, use_reentrant=False)
    out.sum().backward()
    return [x, out, *(p for layer in layers for p in layer.parameters())]


def writes_that_are_refused():
    x, errors = torch.tensor([1.0, 2.0], requires_grad=True), []
    for write in (lambda: x.add_(1), lambda: x.exp().mul_(2).sum().backward()):
        try:
            write()
        except RuntimeError as error:
            errors.append(str(error).partition(", which")[0])
    y = x.clone()
    y[0] = 5.0
    (y.sigmoid_() * 3).sum().backward()
    return [x, y, *errors]


def a_frozen_body_and_a_new_head():
    body, head = nn.Sequential(nn.Linear(4, 6), nn.ReLU()), nn.Linear(6, 2)
    body.requires_grad_(False)
    optimizer = torch.optim.AdamW([p for p in head.parameters() if p.requires_grad], lr=0.01)
    loss = F.cross_entropy(head(body(torch.randn(3, 4))), torch.tensor([0, 1, 1]))
    loss.backward()
    optimizer.step()
    return [*body.parameters(), *head.parameters(), loss]


TUTORIALS = {
    f.__name__: f
    for f in (
        a_vector_and_its_gradient, sine_by_a_polynomial, sine_by_a_function_of_its_own,
        sine_by_layers, weights_that_are_shared, twice_through_a_function,
        what_is_saved_is_packed_elsewhere, gradients_per_example, digits_from_scratch,
        a_name_letter_by_letter, one_step_of_a_gan, a_transformer_block, words_and_their_tags,
        layers_in_segments, writes_that_are_refused, a_frozen_body_and_a_new_head,
    )
}  # fmt: skip
