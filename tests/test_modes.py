"""Recording on and off: blocks, decorators, generators, threads."""

import threading

import pytest

import minigrad
from minigrad.core import modes


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


# ------------------------------------------------------------------ inference mode


def inference_tensor():
    with minigrad.inference_mode():
        return minigrad.ones(2) * 2


def test_what_is_made_in_inference_mode_is_an_inference_tensor():
    x = minigrad.ones(2, requires_grad=True)
    with minigrad.inference_mode():
        made = [x * 2, minigrad.zeros(2), x.detach().clone(), minigrad.tensor([1.0]), x.sum()]
        inside = minigrad.is_inference_mode_enabled()
        view = x.detach()[0:1]

    assert inside and not minigrad.is_inference_mode_enabled()
    assert all(z.is_inference() and not z.requires_grad for z in made)
    assert not x.is_inference() and not view.is_inference()
    assert inference_tensor()[0].is_inference() and not inference_tensor().clone().is_inference()


def test_an_inference_tensor_is_a_constant_where_nothing_of_it_is_saved():
    x = minigrad.ones(2, requires_grad=True)

    (x + inference_tensor()).sum().backward()

    assert x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "use, phrase",
    [
        (lambda x, y: x * y, "cannot be saved for backward"),
        (lambda x, y: x @ y, "cannot be saved for backward"),
        (lambda x, y: y.add_(1), "Inplace update to inference tensor outside InferenceMode"),
        (lambda x, y: y[0].zero_(), "Inplace update to inference tensor outside InferenceMode"),
        (lambda x, y: y.requires_grad_(), "Setting requires_grad=True on inference tensor"),
        (lambda x, y: y._version, "do not track version counter"),
    ],
)
def test_an_inference_tensor_is_refused_where_its_value_would_have_to_last(use, phrase):
    x, y = minigrad.ones(2, requires_grad=True), inference_tensor()

    with pytest.raises(RuntimeError, match=phrase):
        use(x, y)
    assert y.tolist() == [2.0, 2.0]


def test_a_cell_that_ends_with_set_grad_enabled_shows_the_mode():
    assert (
        repr(minigrad.set_grad_enabled(True))
        == "minigrad.autograd.grad_mode.set_grad_enabled(mode=True)"
    )


def test_nothing_is_recorded_in_inference_mode_unless_it_is_switched_off():
    x = minigrad.ones(2, requires_grad=True)
    with minigrad.inference_mode():
        with minigrad.enable_grad():
            inner = x * 2
        with minigrad.inference_mode(False):
            outer = x * 2

    assert not inner.requires_grad and outer.requires_grad and not outer.is_inference()
