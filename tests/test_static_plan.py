"""Plans: programs in fixed memory. Text that can be run, buffers that are shared, no aliasing."""

import os

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minigrad
from minigrad import static
from tests.numeric import assert_close

# STATIC_EXAMPLES=2000 pytest tests/test_static_plan.py    looks longer
MANY = settings(max_examples=int(os.environ.get("STATIC_EXAMPLES", "60")), deadline=None)


def test_the_source_is_plain_numpy_that_runs_by_itself():
    program = static.record(lambda x, w: (x @ w).relu() + 1)(np.ones((8, 4)), np.ones((4, 2)))

    scope = {}
    exec(program.source(), scope)
    x, w = np.arange(32.0).reshape(8, 4) - 16, np.ones((4, 2))
    assert_close(scope["run"](x, w)[0], np.maximum(x @ w, 0) + 1, rtol=0, atol=0)
    assert "x.dot(w, " in program.source() and "minigrad" not in program.source()


def test_numbers_without_axes_are_python_variables_with_operators():
    source = static.record(lambda x, a: x * a + 1)(np.float64(2.0), np.float64(3.0)).source()

    assert "v3 = x * a" in source and "v4 = v3 + n0" in source and "empty" not in source


def test_a_chain_of_elementwise_ops_needs_one_buffer():
    program = static.record(lambda x: (x * 2 + 1).exp().sin() - 3)(np.ones((100, 100)))

    assert program.plan().buffer_bytes == 100 * 100 * 8
    assert program.plan(reuse=False).buffer_bytes == 5 * 100 * 100 * 8


def test_results_are_copies_unless_they_are_asked_to_share():
    program = static.record(lambda x: x * 2)(np.ones(3))
    copying, sharing = program.plan(), program.plan(copy=False)

    first, second = copying(np.ones(3)), copying(np.zeros(3))
    assert first.tolist() == [2.0] * 3 and second.tolist() == [0.0] * 3
    first, _ = sharing(np.ones(3)), sharing(np.zeros(3))
    assert first.tolist() == [0.0] * 3  # the second run has written over it


def test_a_replay_allocates_no_arrays():
    import tracemalloc

    program = static.record(lambda x, w: ((x @ w).relu() * 2).sum())(
        np.ones((128, 128)), np.ones((128, 128))
    )
    plan = program.gradient().plan(copy=False)
    arrays = np.ones((128, 128)), np.ones((128, 128))
    plan(*arrays)

    tracemalloc.start()
    plan(*arrays)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 128 * 128 * 8  # less than one array


def test_inputs_are_never_written_to():
    program = static.record(lambda x: (x + 1) * (x - 1))(np.ones(4))
    x = np.arange(4.0)

    program.plan()(x)

    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_memory_in_another_order_is_kept_in_that_order():
    x = np.ones((2, 3, 4)).transpose(2, 0, 1)
    program = static.record(lambda x: (x * 2).reshape(8, 3) + 1)(x)

    y = np.arange(24.0).reshape(4, 2, 3)
    for a in (y, np.asfortranarray(y), y.transpose(0, 2, 1).copy().transpose(0, 2, 1)):
        assert_close(program.plan()(a), (a * 2).reshape(8, 3) + 1, rtol=0, atol=0)


# ------------------------------------------------------------------ random programs

UNARY = [
    lambda x: x.sin(), lambda x: x * 0.5, lambda x: x.relu(), lambda x: -x, lambda x: x.sigmoid(), lambda x: x.t(),
    lambda x: x.reshape(-1).reshape(x.shape), lambda x: x.softmax(1), lambda x: x.sum(0, keepdim=True) + x,
    lambda x: x[::-1] if isinstance(x, np.ndarray) else x.flip(0), lambda x: x**2, lambda x: x.mean() * x,
    lambda x: x.t().contiguous(), lambda x: x[1:2].expand(3, 3), lambda x: (x > 0).to(x.dtype), lambda x: x.cumsum(1),
    lambda x: x.max(1, keepdim=True).values - x, lambda x: x.clone(), lambda x: x.transpose(0, 1)[:, [2, 0, 1]],
    lambda x: (-x).sigmoid(),
    lambda x: x.neg().neg() * -1.0,
    lambda x: minigrad.nn.functional.logsigmoid(-x),
    lambda x: x.abs().sqrt(),
    lambda x: x.norm(dim=1, keepdim=True) + x, lambda x: x.var(0, keepdim=True) * x, lambda x: x.diagonal() * x,
    lambda x: x.amax(0) + x, lambda x: x.prod(1, keepdim=True) - x, lambda x: x.tril() + 1, lambda x: x.roll(1, 0),
    lambda x: x.logsumexp(0) - x,
    lambda x: x.log_softmax(0),
    lambda x: x.reshape(9)[[0, 4, 8, 1, 5, 6, 2, 3, 7]].view(3, 3),
    lambda x: x.unsqueeze(0).expand(2, 3, 3).sum(0), lambda x: x.t().reshape(-1).reshape(3, 3), lambda x: x[:, 1] + x,
    lambda x: x.permute(1, 0).contiguous().view(-1)[:3] * x,
    lambda x: x.gather(1, x.argsort(1)),
    lambda x: x.sort(0).values,
    lambda x: x.index_select(0, minigrad.tensor([2, 2, 0])),
    lambda x: x.masked_fill(x > 1, 0.5),
    lambda x: x.clamp(-1, 1),
    lambda x: minigrad.cat([x[0], x[1].sin(), x[2] * 2]).reshape(3, 3),
    lambda x: minigrad.stack([x[2], x[0].exp().tanh(), x[1]], 1),
]  # fmt: skip
BINARY = [
    lambda x, y: x + y, lambda x, y: x * y, lambda x, y: x - y, lambda x, y: x @ y * 0.1,
    lambda x, y: minigrad.maximum(x, y), lambda x, y: minigrad.where(x > y, x, y), lambda x, y: x + y.t(),
    lambda x, y: minigrad.cat([x.sin(), y.cos(), x * y], 1)[:, 2:5],
    lambda x, y: minigrad.cat([x.reshape(-1), (x * y).reshape(-1)])[4:13].view(3, 3),
    lambda x, y: (x[0] @ y) + x, lambda x, y: (x @ y[:, 0]) * y, lambda x, y: minigrad.einsum("ij,kj->ik", x, y) * 0.1,
    lambda x, y: x.lerp(y, 0.25), lambda x, y: x.index_put((minigrad.tensor([0, 0]),), y[:2], accumulate=True),
    lambda x, y: (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(2),
    lambda x, y: x * y[1] - y[:, :1],
    lambda x, y: minigrad.minimum(x, -y),
    lambda x, y: lstm(x, y),
    lambda x, y: x.addmm(x, y) * 0.1, lambda x, y: minigrad.cat([x, y])[1:4], lambda x, y: x / (y * y + 1),
]  # fmt: skip


def overwritten(x, y):
    """x += y, on a copy, and through a view of it."""
    z = x.clone()
    row = z[1]
    z += y
    row *= 0.5
    return z


def written_by_rows(x, y):
    """A tensor that is made inside and filled; views of it see what is written later."""
    z = minigrad.zeros(3, 3, dtype=x.dtype)
    column = z[:, 1]
    for i in range(3):
        z[i] = x[i] * y[:, i]
    z[2] += y[0]
    z.mul_(0.5)
    return z + column


def lstm(x, y):
    """The gates and the cell of a long short-term memory, of size 3."""
    gates = minigrad.cat([x, y, x + y, x - y], 1).tanh()
    i, f, g, o = gates.chunk(4, 1)
    c = f * y + i * g
    return o * c.tanh()


def updated(x, y):
    """In place, through several kinds of views, of a value that is read before and after."""
    z = (x * 1).contiguous()
    before = z * 2
    z.t()[0] -= y[0]
    z.view(-1)[::4] *= 0.5
    z[1:, :2].add_(1)
    return z * before


BINARY += [overwritten, written_by_rows, updated]


def run_of(steps, keep, x, y):
    """A random program: each step applies a function to two of the values so far."""
    values = [x, y]
    for which, i, j in steps:
        a, b = values[i % len(values)], values[j % len(values)]
        values.append(UNARY[which](a) if which < len(UNARY) else BINARY[which - len(UNARY)](a, b))
    return [values[k % len(values)] for k in keep] + [values[-1]]


STEPS = st.lists(
    st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 30), st.integers(0, 30)),
    min_size=1,
    max_size=25,
)


# A view that was possible when recorded, and is none in the program made simpler.
LIES_OTHERWISE = [(7, 1, 29), (60, 1, 10), (13, 29, 14), (42, 6, 14), (67, 16, 14), (6, 13, 21)]


@MANY
@example(LIES_OTHERWISE, [14, 28, 5], 999)
@given(STEPS, st.lists(st.integers(0, 30), max_size=3), st.integers(0, 1000))
def test_no_reuse_of_buffers_changes_a_result(steps, keep, seed):
    r = np.random.default_rng(seed)
    examples, inputs = ([minigrad.tensor(r.normal(size=(3, 3))) for _ in "xy"] for _ in range(2))
    program = static.record(lambda x, y: tuple(run_of(steps, keep, x, y)))(*examples)
    plan = program.plan()

    for given_ in (inputs, examples, inputs):
        expected = run_of(steps, keep, *given_)
        for a, b in zip(plan(*given_), expected, strict=True):
            assert_close(a, b, rtol=1e-12, atol=1e-12)


@MANY
@given(STEPS, st.integers(0, 1000))
def test_no_reuse_of_buffers_changes_a_gradient(steps, seed):
    r = np.random.default_rng(seed)
    x, y = (minigrad.tensor(r.normal(size=(3, 3)), requires_grad=True) for _ in "xy")
    loss = sum(z.sum() for z in run_of(steps, [], x, y))
    program = static.record(lambda x, y: sum(z.sum() for z in run_of(steps, [], x, y)))(
        x.detach(), y.detach()
    )
    if loss.requires_grad:
        loss.backward()

    gradient = program.gradient()
    for run in (gradient, gradient.plan(), gradient.plan(reuse=False)):
        for a, leaf in zip(run(x.detach(), y.detach()), (x, y), strict=True):
            assert_close(
                a, np.zeros((3, 3)) if leaf.grad is None else leaf.grad, rtol=1e-9, atol=1e-10
            )


def test_a_bias_is_copied_to_each_row_and_one_buffer_serves_all_who_read_it():
    a, b = np.arange(12.0).reshape(4, 3), np.array([1.0, 2.0, 3.0])
    program = static.record(lambda x, b: ((x * 2 + b) * x - b).exp() + b)(a, b)

    source = program.source()
    assert source.count("= b\n") == 1
    assert_close(program.plan()(a, b), program(a, b), rtol=0, atol=0)
    assert_close(program.plan()(a, b + 1), program(a, b + 1), rtol=0, atol=0)


def test_the_weight_of_a_loop_is_copied_row_by_row_and_read_anew_in_each_run():
    w = minigrad.full((32, 8), 0.5, dtype=minigrad.float64)

    def loop(h):
        for _ in range(6):
            h = (h @ w.T)[:, :8].tanh()
        return h

    h = np.linspace(-1, 1, 40).reshape(5, 8)
    plan, program = static.record(loop)(h).plan(), static.record(loop)(h)
    plan(h)
    w.mul_(-0.25)
    assert_close(plan(h), program(h), rtol=0, atol=0)


def test_a_product_is_laid_out_anew_only_where_its_sums_stay_the_same():
    from minigrad.static.codegen import same_sums

    assert same_sums(4, 1, 4, np.dtype("f4"))  # one product: nothing is added up
    x, w = np.random.default_rng(1).standard_normal((2, 16, 16))
    if same_sums(16, 16, 16, x.dtype):
        assert (x.dot(w.T) == x.dot(w.T.copy())).all()


def test_recording_lets_the_allocator_keep_what_is_freed(monkeypatch):
    from minigrad.static import tracing

    said = []
    monkeypatch.setattr(tracing, "keep_freed_memory", lambda: said.append(True))

    static.record(lambda x: x * 2)(np.ones(3))
    assert said == [True]


def test_a_small_constant_that_is_not_finite_is_planned_as_it_is():
    program = static.record(lambda x: x * np.array([np.inf, 1.0, np.nan]))(np.ones(3))
    assert str(program.plan()(np.ones(3)).tolist()) == "[inf, 1.0, nan]"
