"""utils.data beside PyTorch's: the same order for the same seed, the same batches, the same errors."""

from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest

import minigrad
import minigrad.utils.data

torch = pytest.importorskip("torch")
torch_data = pytest.importorskip("torch.utils.data")

BOTH = [(minigrad, minigrad.utils.data), (torch, torch_data)]
Pair = namedtuple("Pair", "x y")


def plain(x):
    """Tensors as lists, with their type of number; the rest as it is."""
    if isinstance(x, (minigrad.Tensor, torch.Tensor)):
        return (x.tolist(), str(x.numpy().dtype))
    if isinstance(x, dict):
        return (type(x), {k: plain(v) for k, v in x.items()})
    if isinstance(x, (list, tuple)):
        return (type(x), [plain(v) for v in x])
    return x


# (library, its utils.data, a generator or None) -> anything that plain() can read
ORDERS = {
    "loader": lambda m, d, g: list(d.DataLoader(range(10), 4, generator=g)),
    "shuffled": lambda m, d, g: list(d.DataLoader(range(10), 4, shuffle=True, generator=g)),
    "two passes": lambda m, d, g: [
        list(loader)
        for loader in [d.DataLoader(range(50), 8, shuffle=True, drop_last=True, generator=g)] * 2
    ],
    "begun": lambda m, d, g: [next(iter(d.DataLoader(range(9), 2, shuffle=True, generator=g)))],
    "one by one": lambda m, d, g: list(d.DataLoader(range(9), None, shuffle=True, generator=g)),
    "random": lambda m, d, g: list(d.RandomSampler(range(10), generator=g)),
    "random, more": lambda m, d, g: list(d.RandomSampler(range(10), num_samples=25, generator=g)),
    "random, fewer": lambda m, d, g: list(d.RandomSampler(range(10), num_samples=4, generator=g)),
    "random, with replacement": lambda m, d, g: list(
        d.RandomSampler(range(9), True, 70, generator=g)
    ),
    "random, 64 with replacement": lambda m, d, g: list(
        d.RandomSampler(range(9), True, 64, generator=g)
    ),
    "subset": lambda m, d, g: list(d.SubsetRandomSampler([3, 5, 7, 9], generator=g)),
    "weighted": lambda m, d, g: list(d.WeightedRandomSampler([1, 2.0, 3], 7, generator=g)),
    "split": lambda m, d, g: [
        s.indices for s in d.random_split(range(10), [7, 3], generator=g or m.default_generator)
    ],
    "split by shares": lambda m, d, g: [
        s.indices
        for s in d.random_split(range(11), [0.5, 0.3, 0.2], generator=g or m.default_generator)
    ],
}


@pytest.mark.parametrize("own", [False, True], ids=["default generator", "own generator"])
@pytest.mark.parametrize("case", ORDERS.values(), ids=ORDERS)
def test_the_same_seed_gives_the_same_order(case, own):
    results = []
    for m, data in BOTH:
        m.manual_seed(42)
        g = m.Generator().manual_seed(1) if own else None
        results.append([plain(case(m, data, g)), m.rand(1).item(), m.rand(1, generator=g).item()])

    assert results[0] == results[1]


def test_workers_load_in_the_same_order():
    theirs = torch_data.DataLoader(range(10), 4, shuffle=True)
    ours = minigrad.utils.data.DataLoader(range(10), 4, shuffle=True, num_workers=2)
    torch.manual_seed(1)
    minigrad.manual_seed(1)

    assert plain(list(ours)) == plain(list(theirs))


BATCHES = [
    lambda m: [1, 2],
    lambda m: [1.5, 2],
    lambda m: [1, 2.5],
    lambda m: [True, False],
    lambda m: ["a", "b"],
    lambda m: [b"a", b"b"],
    lambda m: [np.ones(2), np.zeros(2)],
    lambda m: [np.float32(1), np.float32(2)],
    lambda m: [np.float64(1), np.float64(2)],
    lambda m: [np.array(1), np.array(2)],
    lambda m: [np.bool_(True)],
    lambda m: [(1, 2.0), (3, 4.0)],
    lambda m: [[1, 2], [3, 4]],
    lambda m: [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
    lambda m: [OrderedDict(a=1)],
    lambda m: [defaultdict(int, a=1)],
    lambda m: [Pair(1, 2), Pair(3, 4)],
    lambda m: [m.arange(3), m.arange(3)],
    lambda m: [m.tensor(1.0), m.tensor(2.0)],
    lambda m: [range(2), range(2)],
    lambda m: [[], []],
    lambda m: [{"x": [(m.ones(2), 3), "s"]}] * 2,
]


@pytest.mark.parametrize("batch", BATCHES)
def test_the_same_batches(batch):
    ours, theirs = (plain(d.default_collate(batch(m))) for m, d in BOTH)

    assert ours == theirs


@pytest.mark.parametrize("batch", BATCHES)
def test_the_same_conversion_without_batches(batch):
    ours, theirs = (plain(d.default_convert(batch(m))) for m, d in BOTH)

    assert ours == theirs


def counting(d):
    class Counting(d.IterableDataset):
        def __iter__(self):
            return iter(range(7))

        def __len__(self):
            return 7

    return Counting()


LENGTHS = [
    lambda m, d: len(d.DataLoader(range(10), 4)),
    lambda m, d: len(d.DataLoader(range(10), 4, drop_last=True)),
    lambda m, d: len(d.DataLoader(range(10), None)),
    lambda m, d: len(d.DataLoader(counting(d), 4)),
    lambda m, d: len(d.DataLoader(counting(d), 4, drop_last=True)),
    lambda m, d: len(d.DataLoader(counting(d), None)),
    lambda m, d: len(iter(d.DataLoader(range(10), 4))),
    lambda m, d: [len(x) for x in d.DataLoader(counting(d), 4)],
    lambda m, d: [len(x) for x in d.DataLoader(counting(d), 4, drop_last=True)],
    lambda m, d: len(d.ConcatDataset(["ab", "c"])),
    lambda m, d: len(counting(d) + counting(d)),
    lambda m, d: [[b[0].tolist(), b[1]] for b in d.DataLoader(d.StackDataset(range(3), "abc"), 2)],
    lambda m, d: d.StackDataset(a=range(3), b="abc")[-1],
    lambda m, d: len(d.StackDataset(a=range(3))),
    lambda m, d: d.StackDataset(d.Subset("abc", [2, 0, 1]), range(3)).__getitems__([2, 0]),
    lambda m, d: d.StackDataset(a=d.Subset("abc", [2, 0, 1]), b=range(3)).__getitems__([2, 0]),
    lambda m, d: [len(s) for s in d.random_split(range(10), [0.45, 0.35, 0.2])],
    lambda m, d: d.Subset(m.arange(9), [1, 5, 7])[[0, 2]].tolist(),
    lambda m, d: d.TensorDataset(m.arange(9), m.ones(9))[2:4][0].tolist(),
]


@pytest.mark.parametrize("case", LENGTHS)
def test_the_same_lengths(case):
    ours, theirs = (case(m, d) for m, d in BOTH)

    assert ours == theirs


def set_dataset(d):
    d.DataLoader(range(3)).dataset = range(4)


MISTAKES = {
    "rows": lambda m, d: d.TensorDataset(m.ones(2), m.ones(3)),
    "no example": lambda m, d: d.Dataset()[0],
    "no length": lambda m, d: len(d.Dataset()),
    "nothing to join": lambda m, d: d.ConcatDataset([]),
    "join iterables": lambda m, d: d.ConcatDataset([counting(d)]),
    "nothing to stack": lambda m, d: d.StackDataset(),
    "stack unequal datasets": lambda m, d: d.StackDataset("ab", "abc"),
    "stack with and without names": lambda m, d: d.StackDataset("ab", x="ab"),
    "beyond": lambda m, d: d.ConcatDataset(["ab"])[2],
    "before": lambda m, d: d.ConcatDataset(["ab"])[-3],
    "sum": lambda m, d: d.random_split(range(10), [7, 4]),
    "sum of shares": lambda m, d: d.random_split(range(10), [0.3, 0.3]),
    "share": lambda m, d: d.random_split(range(10), [1.5, -0.5]),
    "nothing to draw": lambda m, d: d.RandomSampler([]),
    "how many": lambda m, d: d.RandomSampler("ab", num_samples="a"),
    "replacement": lambda m, d: d.RandomSampler("ab", replacement=2),
    "batch size": lambda m, d: d.BatchSampler(range(3), 2.0, True),
    "drop_last": lambda m, d: d.BatchSampler(range(3), 2, 1),
    "weights": lambda m, d: d.WeightedRandomSampler([[1.0]], 2),
    "weights, how many": lambda m, d: d.WeightedRandomSampler([1.0], 0),
    "too many": lambda m, d: list(d.WeightedRandomSampler([1.0], 2, replacement=False)),
    "loader, batch size": lambda m, d: d.DataLoader(range(3), 0),
    "loader, sampler": lambda m, d: d.DataLoader(range(3), sampler=[1], shuffle=True),
    "loader, batch sampler": lambda m, d: d.DataLoader(range(3), 2, batch_sampler=[[1]]),
    "loader, nothing to shuffle": lambda m, d: d.DataLoader([], shuffle=True),
    "loader, iterable": lambda m, d: d.DataLoader(counting(d), shuffle=True),
    "loader, changed": lambda m, d: set_dataset(d),
    "collate None": lambda m, d: d.default_collate([None]),
    "collate strings": lambda m, d: d.default_collate([np.array(["a"])]),
    "collate lengths": lambda m, d: d.default_collate([(1, 2), (1,)]),
    "collate shapes": lambda m, d: d.default_collate([m.ones(2), m.ones(3)]),
    "collate nothing": lambda m, d: d.default_collate([]),
}


@pytest.mark.parametrize("case", MISTAKES.values(), ids=MISTAKES)
def test_the_same_errors(case):
    with pytest.raises(Exception) as theirs:
        case(torch, torch_data)
    with pytest.raises(theirs.type):
        case(minigrad, minigrad.utils.data)


def test_a_subclass_may_read_whole_batches():
    def batches(m, data):
        class Batches(data.DataLoader):  # as in torchtuples: the dataset gets a list of indices
            _auto_collation = property(lambda self: False)
            _index_sampler = property(lambda self: self.batch_sampler)

        loader = Batches(m.arange(10.0), batch_size=4, collate_fn=lambda x: x)
        return len(loader), [x.tolist() for x in loader]

    assert batches(minigrad, minigrad.utils.data) == batches(torch, torch_data)
