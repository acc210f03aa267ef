"""Hogwild: several processes train one model, without locks.

    python -m minigrad.teach.hogwild

The model is matrix factorization for recommendations (BPR): each user and each item is a
row of d numbers, and an item that a user likes should have the larger dot product:

    loss = -log sigmoid(u . (i - j))        u liked i, and has not seen j

One step reads three rows and, because the gradients are row-sparse, writes three rows. With many
users and items, two processes rarely write to the same row at the same time. When they do, one
of the writes may be lost, and training goes on. So no process has to wait.

Sources: Rendle, Freudenthaler, Gantner, Schmidt-Thieme, BPR (2009); Niu, Recht, Re, Wright,
Hogwild! (2011).
"""

from typing import NamedTuple

import numpy as np

import minigrad
from minigrad import static
from minigrad.core.tensor import Tensor
from minigrad.multiprocessing import start_processes
from minigrad.nn import functional as F
from minigrad.optim import SGD
from minigrad.teach.difference import Array


class Model(NamedTuple):
    """Two tables: a row for each user, a row for each item."""

    users: Tensor
    items: Tensor


class Likes(NamedTuple):
    """Who liked what: entry k says that user[k] liked item[k]. `of` is the number of items."""

    user: Array
    item: Array
    of: int


def invented(users: int = 60, items: int = 80, each: int = 8, seed: int = 0) -> Likes:
    """Made-up data: users with two hidden tastes, who like the items that match them."""
    r = np.random.default_rng(seed)
    taste, kind = r.normal(size=(users, 2)), r.normal(size=(items, 2))
    best = np.argsort(-(taste @ kind.T), axis=1)[:, :each]
    return Likes(np.repeat(np.arange(users), each), best.reshape(-1), items)


def new_model(users: int = 60, items: int = 80, d: int = 4, seed: int = 0) -> Model:
    """Small random rows."""
    generator = minigrad.Generator().manual_seed(seed)
    tables = [
        minigrad.randn(n, d, generator=generator).mul(0.1).requires_grad_() for n in (users, items)
    ]
    return Model(*tables)


def bpr(model: Model, user: Array, liked: Array, other: Array) -> Tensor:
    """The mean of -log sigmoid(u . (i - j)) over the examples."""
    u = F.embedding(minigrad.as_tensor(user), model.users, sparse=True)
    i = F.embedding(minigrad.as_tensor(liked), model.items, sparse=True)
    j = F.embedding(minigrad.as_tensor(other), model.items, sparse=True)
    return -F.logsigmoid((u * (i - j)).sum(1)).mean()


def loss_of(model: Model, likes: Likes, seed: int = 99) -> float:
    """The loss over all likes, each against an item drawn at random."""
    other = np.random.default_rng(seed).integers(0, likes.of, len(likes.user))
    with minigrad.no_grad():
        return float(bpr(model, likes.user, likes.item, other).item())


def learn(
    worker: int, model: Model, likes: Likes, steps: int, lr: float = 0.5, plan: bool = False
) -> None:
    """The work of one process. If the tables are shared, other processes do the same at the same time.

    plan   record the step once, and replay it? The numbers are the same, to the last bit; a
           program writes to the tables' own memory, shared or not
    """
    r = np.random.default_rng([worker, 7])
    sgd = SGD(list(model), lr=lr)

    def step(user: Array, liked: Array, other: Array) -> None:
        sgd.zero_grad()
        bpr(model, user, liked, other).backward()
        sgd.step()

    run = static.compile(step) if plan else step
    for _ in range(steps):
        k = r.integers(0, len(likes.user), 16)
        run(likes.user[k], likes.item[k], r.integers(0, likes.of, 16))


def hogwild(
    model: Model,
    likes: Likes,
    steps: int,
    workers: int = 2,
    lr: float = 0.5,
    start_method: str = "spawn",
    plan: bool = False,
) -> None:
    """Train one model in several processes, without locks: `steps` steps in total.

    plan   does each process record its step once, and replay it?

    Raises ProcessRaisedException or ProcessExitedException if a worker fails.
    """
    for table in model:
        table.share_memory_()
    start_processes(
        learn, (model, likes, steps // workers, lr, plan), workers, start_method=start_method
    )


def compare_processes(steps: int = 2000) -> None:
    """Compare one process with two."""
    likes = invented()
    alone, together = new_model(), new_model()
    print(f"before          loss {loss_of(alone, likes):.3f}")
    learn(0, alone, likes, steps)
    print(f"one process     loss {loss_of(alone, likes):.3f}")
    hogwild(together, likes, steps)
    print(f"two, no locks   loss {loss_of(together, likes):.3f}")
    planned = new_model()
    hogwild(planned, likes, steps, plan=True)
    print(f"two, with plans loss {loss_of(planned, likes):.3f}")


if __name__ == "__main__":
    compare_processes()
