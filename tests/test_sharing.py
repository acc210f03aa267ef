"""Shared memory, processes, and learning without locks."""

import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import minigrad
from minigrad import multiprocessing as mp
from minigrad.teach import hogwild

METHODS = [m for m in ("fork", "spawn") if m in mp.get_all_start_methods()]
QUICK = METHODS[0]

# Python 3.12 and later warn when a process with threads is forked; pytest may have some.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def shared(*values):
    return minigrad.tensor(list(values), requires_grad=True).share_memory_()


# ------------------------------------------------------------------------ tensors


def test_sharing_keeps_the_tensor_and_its_values():
    x = minigrad.tensor([1.0, 2.0], requires_grad=True)
    assert not x.is_shared()

    assert x.share_memory_() is x

    assert x.is_shared() and x.tolist() == [1.0, 2.0] and x.is_leaf and x.requires_grad


def test_what_shows_the_same_memory_is_shared_and_what_is_computed_is_not():
    x = shared(1.0, 2.0)

    assert x.detach().is_shared() and x[1:].is_shared() and x.data.is_shared()
    assert not (x * 1).is_shared() and not copy.deepcopy(x).is_shared()
    assert x.share_memory_().is_shared()


def test_gradients_and_steps_work_in_shared_memory():
    x, y = shared(1.0, 2.0), minigrad.tensor(3.0, requires_grad=True).share_memory_()
    sgd = minigrad.optim.SGD([x, y], lr=0.5)

    (x * x * y).sum().backward()
    sgd.step()

    assert x.tolist() == [-2.0, -4.0] and y.item() == 0.5 and x.is_shared() and y.is_shared()


def test_an_optimizer_made_before_sharing_writes_to_the_shared_memory():
    x = minigrad.tensor([1.0], requires_grad=True)
    sgd = minigrad.optim.SGD([x], lr=1.0)
    x.grad = minigrad.ones(1)
    sgd.step()

    x.share_memory_()
    sgd.step()

    assert x.tolist() == [-1.0]


def test_views_and_sparse_gradients_are_refused():
    with pytest.raises(RuntimeError, match="share_memory_.*view"):
        minigrad.ones(3)[1:].share_memory_()
    table = minigrad.ones(3, 2, requires_grad=True)
    minigrad.nn.functional.embedding(minigrad.tensor([1]), table, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match="sparse"):
        table.grad.share_memory_()


def share_one_more(i, x):
    y = minigrad.full((4,), 9.0).share_memory_()
    assert y.tolist() == [9.0] * 4


def test_a_child_shares_in_memory_of_its_own():
    x = shared(0.0)

    mp.start_processes(share_one_more, (x,), start_method=QUICK)
    y = minigrad.full((4,), 5.0).share_memory_()
    mp.start_processes(share_one_more, (x,), start_method=QUICK)

    assert x.tolist() == [0.0] and y.tolist() == [5.0] * 4


def test_an_empty_tensor_can_be_shared():
    assert minigrad.zeros(0).share_memory_().shape == (0,)


def test_an_ordinary_pickle_holds_the_values():
    x = shared(1.0, 2.0)

    y = pickle.loads(pickle.dumps(x))

    assert y.tolist() == [1.0, 2.0] and y.requires_grad and not y.is_shared()


def test_a_pickle_holds_the_attributes_that_a_program_has_set():
    m = minigrad.nn.Linear(1, 1)
    m.weight.tag, m.x = "frozen", minigrad.ones(1)
    m.x.tag = [1]

    n = pickle.loads(pickle.dumps(m))

    assert n.weight.tag == "frozen" and n.x.tag == [1] and n.x.tag is not m.x.tag


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files in /proc")
def test_shared_memory_is_given_back():
    def open_files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    before = open_files()
    large = [minigrad.ones(1 << 18).share_memory_() for _ in range(10)]
    small = [minigrad.ones(5).share_memory_() for _ in range(500)]
    assert before < open_files() < before + 30
    assert all(x.tolist() == [1.0] * 5 for x in small)

    large.clear()
    small.clear()

    assert open_files() <= before


# ------------------------------------------------------------------------ processes


def fill(i, x):
    assert x.is_shared() and x.requires_grad
    with minigrad.no_grad():
        x[i] = i + 1.0


def fill_what_arrives(queue):
    x = queue.get()
    with minigrad.no_grad():
        x[0] = 7.0


def fail(i):
    if i == 1:
        raise ValueError("a bad example")
    time.sleep(600)


def fail_at_length(i):
    raise ValueError("x" * 200_000)


def be_killed(i):
    if i == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)


def leave(i):
    sys.exit(3)


@pytest.mark.parametrize("method", METHODS)
def test_children_write_to_the_same_memory(method):
    x = shared(0.0, 0.0, 0.0)

    mp.start_processes(fill, (x,), 2, start_method=method)

    assert x.tolist() == [1.0, 2.0, 0.0]


@pytest.mark.parametrize("method", METHODS)
def test_a_tensor_through_a_queue(method):
    x = shared(0.0, 0.0)
    context = mp.get_context(method)
    queue = context.Queue()
    process = context.Process(target=fill_what_arrives, args=(queue,))
    process.start()

    queue.put(x)
    process.join(30)

    assert process.exitcode == 0 and x.tolist() == [7.0, 0.0]
    queue.close()


def shift(i, net):
    assert type(net.bias) is minigrad.nn.Parameter
    with minigrad.no_grad():
        net.bias += 1.0


@pytest.mark.parametrize("method", METHODS)
def test_a_module_in_shared_memory(method):
    net = minigrad.nn.Linear(2, 2)
    net.share_memory()
    before = net.bias.detach().clone()

    mp.start_processes(shift, (net,), start_method=method)

    assert net.weight.is_shared() and minigrad.equal(net.bias.detach(), before + 1.0)


def test_a_tensor_that_is_not_shared_is_copied():
    x = minigrad.tensor([1.0], requires_grad=True)

    with pytest.raises(mp.ProcessRaisedException, match="AssertionError"):
        mp.spawn(fill, (x,), 1)


def test_a_failing_worker_is_an_error_and_stops_the_others():
    began = time.monotonic()

    with pytest.raises(mp.ProcessRaisedException, match="a bad example") as caught:
        mp.start_processes(fail, nprocs=3, start_method=QUICK)

    assert "-- Process 1 terminated with the following error:" in str(caught.value)
    assert caught.value.error_index == 1 and time.monotonic() - began < 300
    assert not mp.active_children()


def test_a_long_error_does_not_block():
    with pytest.raises(mp.ProcessRaisedException, match="xxx"):
        mp.start_processes(fail_at_length, start_method=QUICK)


def test_a_killed_worker_is_an_error_and_stops_the_others():
    began = time.monotonic()

    with pytest.raises(mp.ProcessExitedException, match="terminated with signal SIGKILL") as caught:
        mp.start_processes(be_killed, nprocs=2, start_method=QUICK)

    assert caught.value.exit_code == -signal.SIGKILL and caught.value.signal_name == "SIGKILL"
    assert time.monotonic() - began < 300 and not mp.active_children()


def test_an_exit_code_is_an_error():
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3"):
        mp.start_processes(leave, start_method=QUICK)


def test_join_may_be_left_to_the_caller():
    x = shared(0.0, 0.0)

    context = mp.start_processes(fill, (x,), 2, join=False, start_method=QUICK)
    while not context.join(timeout=30):
        pass

    assert x.tolist() == [1.0, 2.0] and len(context.pids()) == 2


def test_all_names_of_pythons_multiprocessing_are_there():
    assert set(multiprocessing.__all__) <= set(mp.__all__)
    assert all(hasattr(mp, name) for name in mp.__all__)


def test_the_errors_can_be_sent_on():
    error = pickle.loads(pickle.dumps(mp.ProcessExitedException("gone", 1, 22, -9, "SIGKILL")))

    assert (error.error_index, error.error_pid, error.exit_code) == (1, 22, -9)


# ------------------------------------------------------------------------ Hogwild


@pytest.mark.parametrize("method", METHODS)
def test_two_processes_without_locks_learn_as_well_as_one(method):
    likes = hogwild.invented()
    alone, together = hogwild.new_model(), hogwild.new_model()
    before = hogwild.loss_of(alone, likes)

    hogwild.learn(0, alone, likes, 1500)
    hogwild.hogwild(together, likes, 1500, start_method=method)

    one, two = hogwild.loss_of(alone, likes), hogwild.loss_of(together, likes)
    assert before > 0.68 and one < 0.35
    assert two == pytest.approx(one, abs=0.05)


def test_a_worker_that_is_killed_while_learning_is_noticed():
    likes, model = hogwild.invented(), hogwild.new_model()
    for table in model:
        table.share_memory_()
    context = mp.start_processes(
        hogwild.learn, (model, likes, 10_000_000), 2, join=False, start_method=QUICK
    )
    began = time.monotonic()

    os.kill(context.pids()[1], signal.SIGKILL)
    with pytest.raises(mp.ProcessExitedException, match="process 1 terminated with signal SIGKILL"):
        while not context.join():
            pass

    assert time.monotonic() - began < 20
    assert not any(process.is_alive() for process in context.processes)
    assert np.isfinite(hogwild.loss_of(model, likes))


def test_a_script_that_shares_leaves_no_word_behind():
    """No resource tracker's complaint, no leaked semaphore or segment, at the end of a program."""
    program = """
import minigrad
from minigrad import multiprocessing as mp
from tests.test_sharing import fill
if __name__ == "__main__":
    x = minigrad.zeros(3, requires_grad=True).share_memory_()
    mp.spawn(fill, (x,), 2)
    print(x.tolist())
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )

    assert (done.stdout.strip(), done.stderr) == ("[1.0, 2.0, 0.0]", "")
