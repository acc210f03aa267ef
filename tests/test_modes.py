"""Recording on and off: blocks, decorators, generators, threads."""

import threading

import pytest

import minigrad
from minigrad import modes


@pytest.fixture
def x():
    return minigrad.tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture(autouse=True)
def everything_is_undone():
    yield
    assert modes.unusual == 0 and minigrad.is_grad_enabled()


def test_no_grad_records_nothing(x):
    with minigrad.no_grad():
        y = x * 2

    assert not y.requires_grad and y.grad_fn is None and y.is_leaf


def test_blocks_nest_and_are_undone_by_an_exception(x):
    with pytest.raises(ZeroDivisionError), minigrad.no_grad():
        with minigrad.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
        raise ZeroDivisionError
    assert (x * 2).requires_grad


def test_one_block_object_may_be_entered_inside_itself(x):
    block = minigrad.no_grad()
    with block, block:
        pass
    assert minigrad.is_grad_enabled()


def test_decorated_functions(x):
    @minigrad.no_grad()
    def double(x):
        return x * 2

    @minigrad.no_grad
    def triple(x):
        """Three times x."""
        return x * 3

    assert not double(x).requires_grad and not triple(x).requires_grad
    assert triple.__doc__ == "Three times x." and triple.__name__ == "triple"


def test_a_decorated_generator_switches_back_at_each_yield(x):
    @minigrad.no_grad()
    def halves(x):
        while True:
            x = x / 2
            factor = yield x
            x = x * factor

    generator = halves(x)
    first = next(generator)
    assert minigrad.is_grad_enabled() and not first.requires_grad
    second = generator.send(10)
    assert minigrad.is_grad_enabled() and second.tolist() == [2.5, 5.0]
    generator.close()


def test_set_grad_enabled_as_function_block_and_decorator(x):
    minigrad.set_grad_enabled(False)
    assert not (x * 2).requires_grad
    minigrad.set_grad_enabled(True)
    with minigrad.set_grad_enabled(False):
        assert not (x * 2).requires_grad

    @minigrad.set_grad_enabled(False)
    def double(x):
        return x * 2

    assert (x * 2).requires_grad and not double(x).requires_grad


def test_inference_mode(x):
    with minigrad.inference_mode():
        assert not (x * 2).requires_grad
    with minigrad.inference_mode(False):
        assert (x * 2).requires_grad


def test_each_thread_has_a_mode_of_its_own(x):
    inside, go = threading.Event(), threading.Event()
    seen = []

    def work():
        with minigrad.no_grad():
            inside.set()
            go.wait(10)
            seen.append((x * 2).requires_grad)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    here = (x * 2).requires_grad
    go.set()
    thread.join()

    assert here is True and seen == [False]


def test_backward_from_several_threads_adds_up():
    w = minigrad.ones(1000, dtype=minigrad.float64, requires_grad=True)

    def work():
        for _ in range(50):
            (w * 3).sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()

    assert set(w.grad.tolist()) == {600.0}
