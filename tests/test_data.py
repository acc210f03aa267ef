"""utils.data: from examples to batches."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import minigrad
from minigrad import Generator, arange
from minigrad.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    get_worker_info,
    random_split,
)

Pair = namedtuple("Pair", "x y")


class Counting(IterableDataset):
    """0, 1, ... one after the other."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))


def numbers(batches):
    return [b.tolist() for b in batches]


# ------------------------------------------------------------------------ datasets


def test_a_tensor_dataset_has_rows_as_examples():
    dataset = TensorDataset(arange(4), arange(8).view(4, 2))
    x, y = dataset[3]

    assert len(dataset) == 4
    assert x.item() == 3 and y.tolist() == [6, 7]


def test_tensors_of_unequal_length_are_no_dataset():
    with pytest.raises(AssertionError, match=r"Size mismatch between tensors.*\[4, 3\]"):
        TensorDataset(arange(4), arange(3))


def test_a_dataset_must_say_what_the_examples_are():
    with pytest.raises(NotImplementedError, match="should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(NotImplementedError, match="should implement __iter__"):
        iter(IterableDataset())
    with pytest.raises(NotImplementedError, match="should implement __iter__"):
        iter(Sampler())
    with pytest.raises(TypeError, match="len"):
        len(Dataset())


def test_datasets_can_be_added():
    both = TensorDataset(arange(3)) + TensorDataset(arange(10, 12))

    assert [both[i][0].item() for i in range(-2, 3)] == [10, 11, 0, 1, 2]
    with pytest.raises(IndexError, match="5 was asked for"):
        both[5]
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-6]


def test_iterable_datasets_can_be_added():
    both = Counting(2) + Counting(3)

    assert isinstance(both, ChainDataset) and list(both) == [0, 1, 0, 1, 2]
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(Counting(2) + [1, 2])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        ConcatDataset([Counting(2)])
    with pytest.raises(AssertionError, match="should not be an empty iterable"):
        ConcatDataset([])


def test_a_subset_of_a_subset():
    inner = Subset(range(10, 20), [2, 4, 6, 8])
    outer = Subset(inner, [3, 0])

    assert [outer[0], outer[1]] == [18, 12] and len(outer) == 2
    assert outer.__getitems__([1, 0]) == [12, 18]


def test_a_split_shares_out_every_example_once():
    parts = random_split(range(10), [7, 3], generator=Generator().manual_seed(1))

    assert [len(p) for p in parts] == [7, 3]
    assert sorted(i for p in parts for i in p.indices) == list(range(10))


def test_a_split_may_be_given_as_shares():
    assert [len(p) for p in random_split(range(11), [0.5, 0.25, 0.25])] == [6, 3, 2]
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(10), [0.9, 0.0, 0.1])
    with pytest.raises(ValueError, match="at index 0 is not between"):
        random_split(range(3), [1.5, -0.5])
    with pytest.raises(ValueError, match="add up to 11, but there are 10"):
        random_split(range(10), [7, 4])


# ------------------------------------------------------------------------ samplers


def test_samplers_yield_numbers_of_examples():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(RandomSampler("abcd")) == [0, 1, 2, 3]
    assert sorted(SubsetRandomSampler([3, 5, 9])) == [3, 5, 9]
    assert sorted(WeightedRandomSampler([0, 2, 1], 2, replacement=False)) == [1, 2]
    assert set(WeightedRandomSampler([0.0, 1.0], 5)) == {1}


def test_a_random_sampler_goes_through_all_examples_before_it_begins_again():
    z = list(RandomSampler(range(4), num_samples=10))

    assert sorted(z[:4]) == sorted(z[4:8]) == [0, 1, 2, 3] and len(z) == 10


def test_with_replacement_any_number_may_follow():
    sampler = RandomSampler(range(3), replacement=True, num_samples=70)
    z = list(sampler)

    assert len(z) == len(sampler) == 70 and set(z) == {0, 1, 2}


@pytest.mark.parametrize("drop_last, batches", [(False, 3), (True, 2)])
def test_batches_of_numbers(drop_last, batches):
    sampler = BatchSampler(range(5), 2, drop_last)

    assert list(sampler) == [[0, 1], [2, 3], [4]][:batches]
    assert len(sampler) == batches


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: RandomSampler([]), ValueError, "num_samples=0"),
        (lambda: RandomSampler("abc", replacement=1), TypeError, "replacement should be a boolean"),
        (lambda: BatchSampler(range(3), 0, False), ValueError, "batch_size should be a positive"),
        (lambda: BatchSampler(range(3), 2, 1), ValueError, "drop_last should be a boolean"),
        (lambda: WeightedRandomSampler([[1.0]], 2), ValueError, "weights should be a 1d sequence"),
        (lambda: WeightedRandomSampler([1.0], 0), ValueError, "num_samples should be a positive"),
        (lambda: WeightedRandomSampler([1.0], 1, 1), ValueError, "replacement should be a boolean"),
    ],
)
def test_samplers_refuse_what_makes_no_sense(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ------------------------------------------------------------------------ collating


@pytest.mark.parametrize(
    "batch, dtype",
    [
        ([1, 2], minigrad.int64),
        ([0.5, 1.5], minigrad.float64),
        ([True, False], minigrad.bool),
        ([np.float32(1), np.float32(2)], minigrad.float32),
        ([np.array(1), np.array(2)], minigrad.int64),
        ([np.ones(2), np.zeros(2)], minigrad.float64),
        ([minigrad.tensor(1.0), minigrad.tensor(2.0)], minigrad.float32),
        ([arange(2), arange(2)], minigrad.int64),
    ],
)
def test_numbers_and_tensors_get_an_axis(batch, dtype):
    z = default_collate(batch)

    assert z.dtype == dtype
    np.testing.assert_array_equal(z.numpy(), np.array([np.asarray(b) for b in batch]))


def test_a_batch_has_the_structure_of_its_examples():
    example = {"x": (1, [2.0, "a"]), "y": Pair(np.ones(2), b"b")}
    z = default_collate([example, example])

    assert z["x"][0].tolist() == [1, 1]
    assert z["x"][1][0].tolist() == [2.0, 2.0] and z["x"][1][1] == ("a", "a")
    assert isinstance(z["y"], Pair) and z["y"].x.shape == (2, 2) and z["y"].y == (b"b", b"b")


def test_the_types_of_dicts_are_kept():
    z = default_collate([OrderedDict(a=1), OrderedDict(a=2)])

    assert isinstance(z, OrderedDict) and z["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "batch, error, message",
    [
        ([None], TypeError, "found <class 'NoneType'>"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([(1, 2), (1,)], RuntimeError, "should be of equal size"),
        ([arange(2), arange(3)], RuntimeError, "stack expects each tensor to be equal size"),
    ],
)
def test_what_cannot_be_collated(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


# ------------------------------------------------------------------------ the loader


def test_a_loader_gives_batches():
    x, y = next(iter(DataLoader(TensorDataset(arange(5), arange(10).view(5, 2)), batch_size=3)))

    assert x.tolist() == [0, 1, 2] and y.shape == (3, 2)


@pytest.mark.parametrize(
    "settings, batches",
    [
        ({}, [[0], [1], [2], [3], [4]]),
        ({"batch_size": 2}, [[0, 1], [2, 3], [4]]),
        ({"batch_size": 2, "drop_last": True}, [[0, 1], [2, 3]]),
        ({"batch_size": 2, "sampler": [4, 0, 2]}, [[4, 0], [2]]),
        ({"batch_sampler": [[1, 2], [0]]}, [[1, 2], [0]]),
        ({"batch_size": 3, "num_workers": 2}, [[0, 1, 2], [3, 4]]),
    ],
)
def test_settings(settings, batches):
    loader = DataLoader(range(5), **settings)

    assert numbers(loader) == numbers(loader) == batches
    assert len(loader) == len(iter(loader)) == len(batches)


def test_every_pass_has_its_own_order_and_a_seed_repeats_them():
    loader = DataLoader(range(20), batch_size=7, shuffle=True)
    minigrad.manual_seed(0)
    first, second = numbers(loader), numbers(loader)
    minigrad.manual_seed(0)

    assert first != second and numbers(loader) == first
    assert sorted(sum(second, [])) == list(range(20))


def test_without_a_batch_size_examples_come_one_by_one():
    loader = DataLoader([(1, np.ones(2)), (2, np.zeros(2))], batch_size=None)

    assert len(loader) == 2
    assert [(k, x.tolist()) for k, x in loader] == [(1, [1.0, 1.0]), (2, [0.0, 0.0])]


def test_collate_fn_makes_the_batches():
    assert list(DataLoader("abcd", batch_size=3, collate_fn="".join)) == ["abc", "d"]


@pytest.mark.parametrize("batch_size", [2, None])
def test_a_pass_goes_on_after_an_error(batch_size):
    class OneIsBroken(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, k):
            return 1 // (k - 1)

    batches = iter(DataLoader(OneIsBroken(), batch_size))
    while True:
        try:
            next(batches)
        except ZeroDivisionError:
            break

    assert len(list(batches)) == (1 if batch_size else 2)


def test_an_iterable_dataset_is_taken_as_it_comes():
    assert numbers(DataLoader(Counting(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert numbers(DataLoader(Counting(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Counting(3), batch_size=None)) == [0, 1, 2]
    with pytest.raises(TypeError, match="has no len"):
        len(DataLoader(Counting(5)))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"shuffle": True, "sampler": [0]}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified"),
        ({"num_workers": 1, "prefetch_factor": -2}, "prefetch_factor option should be non-neg"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"multiprocessing_context": "spawn"}, "multiprocessing_context can only be used"),
    ],
)
def test_settings_that_contradict_each_other(settings, message):
    with pytest.raises(ValueError, match=message):
        DataLoader(range(3), **settings)


@pytest.mark.parametrize("setting", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_an_iterable_dataset_has_no_order_to_choose(setting):
    with pytest.raises(ValueError, match=f"expected unspecified {next(iter(setting))} option"):
        DataLoader(Counting(3), **setting)


def test_a_loader_stays_what_it_was_made():
    loader = DataLoader(range(3))

    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        loader.batch_size = 2


def test_there_are_no_workers():
    assert get_worker_info() is None


def test_the_module_is_there_without_an_import():
    assert minigrad.utils.data.DataLoader is DataLoader
