"""What can be drawn, as functions of the library (minigrad or PyTorch): the same lines run on both.

tests/against_torch/write_random_reference.py writes down what PyTorch draws, and
tests/test_random.py compares without it.
"""

SIZES = (0, 1, 2, 15, 16, 17, 31, 100, 1000)

# Equal bit for bit: (library, how many, generator) -> tensor
EXACT = {
    "rand": lambda m, n, g: m.rand(n, generator=g),
    "rand float64": lambda m, n, g: m.rand(n, generator=g, dtype=m.float64),
    "rand float16": lambda m, n, g: m.rand(n, generator=g, dtype=m.float16),
    "uniform_": lambda m, n, g: m.empty(n).uniform_(-0.31, 0.46, generator=g),
    "uniform_ float16": lambda m, n, g: m.empty(n, dtype=m.float16).uniform_(7, 8, generator=g),
    "randint": lambda m, n, g: m.randint(10, (n,), generator=g),
    "randint negative": lambda m, n, g: m.randint(-5, 7, (n,), generator=g),
    "randint wide": lambda m, n, g: m.randint(2**28 - 1, (n,), generator=g),
    "randint wider": lambda m, n, g: m.randint(2**28, (n,), generator=g),
    "randint widest": lambda m, n, g: m.randint(-(2**62), 2**62, (n,), generator=g),
    "randperm": lambda m, n, g: m.randperm(n, generator=g),
    "random_": lambda m, n, g: m.zeros(n, dtype=m.int64).random_(generator=g),
    "random_ int32": lambda m, n, g: m.zeros(n, dtype=m.int32).random_(generator=g),
    "random_ uint8": lambda m, n, g: m.zeros(n, dtype=m.uint8).random_(generator=g),
    "random_ bool": lambda m, n, g: m.zeros(n, dtype=m.bool).random_(generator=g),
    "random_ float32": lambda m, n, g: m.zeros(n).random_(generator=g),
    "random_ float64": lambda m, n, g: m.zeros(n, dtype=m.float64).random_(generator=g),
    "random_ to": lambda m, n, g: m.zeros(n, dtype=m.int64).random_(3, 90, generator=g),
    "bernoulli": lambda m, n, g: m.bernoulli(m.full((n,), 0.3), generator=g),
    "bernoulli float64": lambda m, n, g: m.full((n,), 0.3, dtype=m.float64).bernoulli(generator=g),
    "bernoulli_ tensor": lambda m, n, g: m.empty(n).bernoulli_(m.full((n,), 0.4), generator=g),
    "along columns": lambda m, n, g: m.empty(n, 2).t().uniform_(generator=g),
    "with replacement": lambda m, n, g: m.multinomial(
        m.arange(1, 28).float(), n + 2, True, generator=g
    ),
    "rows with replacement": lambda m, n, g: m.multinomial(
        m.arange(1, 29).float().view(4, 7), n + 2, True, generator=g
    ),
}

# Equal as well, but on Intel's processors PyTorch may take a stream of Intel's library.
EXACT_BUT_ON_INTEL = {
    "bernoulli_": lambda m, n, g: m.empty(n).bernoulli_(0.3, generator=g),
    "bernoulli p": lambda m, n, g: m.bernoulli(m.zeros(n), 0.3, generator=g),
    "multinomial of one": lambda m, n, g: m.multinomial(m.arange(1, n + 2).float(), 1, generator=g),
    "without replacement": lambda m, n, g: m.multinomial(
        m.arange(1, n + 2).float(), n // 2 + 1, generator=g
    ),
}

# Equal up to the last digits, as numbers pass through logarithms and the like.
CLOSE = {
    "randn": lambda m, n, g: m.randn(n, generator=g),
    "randn float64": lambda m, n, g: m.randn(n, generator=g, dtype=m.float64),
    "normal_": lambda m, n, g: m.empty(n).normal_(1.5, 0.3, generator=g),
    "normal_ float64": lambda m, n, g: m.empty(n, dtype=m.float64).normal_(1.5, 0.3, generator=g),
    "normal": lambda m, n, g: m.normal(1.5, 0.3, (n,), generator=g),
    "normal of means": lambda m, n, g: m.normal(m.arange(n).float(), 0.3, generator=g),
    "normal of both": lambda m, n, g: m.normal(m.arange(n).float(), m.full((n,), 0.3), generator=g),
    "normal along columns": lambda m, n, g: m.empty(n, 3).t().normal_(generator=g),
    "uniform_ float64": lambda m, n, g: m.empty(n, dtype=m.float64).uniform_(
        -0.31, 0.46, generator=g
    ),
}

CLOSE_BUT_ON_INTEL = {
    "exponential_": lambda m, n, g: m.empty(n).exponential_(2.5, generator=g),
    "exponential_ float64": lambda m, n, g: m.empty(n, dtype=m.float64).exponential_(generator=g),
}

INTEL = {**EXACT_BUT_ON_INTEL, **CLOSE_BUT_ON_INTEL}
DRAWS = {**EXACT, **CLOSE, **INTEL}

# Modules, whose first weights are drawn from the default generator.
LAYERS = {
    "Linear": lambda nn: nn.Linear(5, 7),
    "Linear without bias": lambda nn: nn.Linear(5, 7, bias=False),
    "Bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "Conv1d": lambda nn: nn.Conv1d(3, 5, 3),
    "Conv2d": lambda nn: nn.Conv2d(4, 6, 3, groups=2),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(3, 5, 3),
    "no inputs": lambda nn: nn.Sequential(
        nn.Linear(0, 2), nn.Conv1d(0, 2, 3), nn.ConvTranspose2d(2, 0, 3), nn.Linear(2, 2)
    ),
    "Embedding": lambda nn: nn.Embedding(10, 3),
    "Embedding with padding": lambda nn: nn.Embedding(10, 3, padding_idx=1),
    "RNN": lambda nn: nn.RNN(3, 4, 2, bidirectional=True),
    "LSTM": lambda nn: nn.LSTM(3, 4, 2),
    "GRU": lambda nn: nn.GRU(3, 4),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 4),
    "several": lambda nn: nn.Sequential(
        nn.Linear(20, 10), nn.BatchNorm1d(10), nn.Dropout(), nn.Linear(10, 2)
    ),
}


def drawn(library, name):
    """Two draws each of 3, 16 and 31 numbers, one after the other, from one generator."""
    g = library.Generator().manual_seed(2147483647)
    return [
        _ends(DRAWS[name](library, n, g).reshape(-1).tolist()) for n in (3, 16, 31) for _ in "ab"
    ]


def weights(library, nn, name):
    """The first weights of a layer made after manual_seed(42)."""
    library.manual_seed(42)
    state = LAYERS[name](nn).state_dict()
    return {key: _ends(value.reshape(-1).tolist()) for key, value in state.items()}


def _ends(values):
    """All of a few numbers; of many, the first and the last."""
    return values if len(values) <= 16 else values[:8] + values[-8:]
