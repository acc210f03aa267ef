"""How often is a diagnosis right? Random programs, wrong answers of a known kind, and a count.

    python -m tests.teach_accuracy [programs] [seed]

Programs of 3 to 12 operations are drawn, and run twice: by minigrad, and by the small tape
below, in NumPy, which knows nothing of minigrad and its table of mistakes. On that tape one
rule is spoilt as a student would, and the gradient that comes out is given to `diagnose`.

    first      the kind is the one that was made
    also       another kind is named, and this one among those that give the same numbers
    false      only other kinds are named
    silent     nothing is said

The last lines give answers that are wrong in no known way, of which every diagnosis is false.
A second table counts the same for the programs of teach_battery.py, whose wrong gradients were
derived by hand, and a third for teach_examination.py. Not a test: it prints tables.
"""

import sys
import time
from collections import Counter, defaultdict

import numpy as np

import minigrad
from minigrad.teach import compare_update, diagnose
from minigrad.teach.compare import compare_in
from tests.teach_battery import BATTERY
from tests.teach_examination import GS, P0, PROGRAMS, UPDATES, answers_of


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def restore(g, x, axis):
    return np.broadcast_to(np.expand_dims(g, axis) if axis is not None else g, x.shape)


def share(g, best, axis):
    return g * best / best.sum(axis, keepdims=True)


def scatter(g, x, index, add=True):
    d = np.zeros_like(x)
    if add:
        np.add.at(d, index, g)
    else:
        d[index] = g
    return d


# name -> NumPy, minigrad, the rule of each operand from (g, inputs, z, p)
OPS = {
    "add": (lambda a, b: a + b, lambda a, b: a + b,
            [lambda g, i, z, p: g, lambda g, i, z, p: g]),
    "sub": (lambda a, b: a - b, lambda a, b: a - b,
            [lambda g, i, z, p: g, lambda g, i, z, p: -g]),
    "mul": (lambda a, b: a * b, lambda a, b: a * b,
            [lambda g, i, z, p: g * i[1], lambda g, i, z, p: g * i[0]]),
    "div": (lambda a, b: a / b, lambda a, b: a / b,
            [lambda g, i, z, p: g / i[1], lambda g, i, z, p: -g * i[0] / i[1] ** 2]),
    "matmul": (lambda a, b: a @ b, lambda a, b: a @ b,
               [lambda g, i, z, p: g @ i[1].T, lambda g, i, z, p: i[0].T @ g]),
    "square": (lambda a: a**2, lambda a: a**2, [lambda g, i, z, p: g * 2 * i[0]]),
    "cube": (lambda a: a**3, lambda a: a**3, [lambda g, i, z, p: g * 3 * i[0] ** 2]),
    "triple": (lambda a: 3 * a, lambda a: 3 * a, [lambda g, i, z, p: 3 * g]),
    "sin": (np.sin, lambda a: a.sin(), [lambda g, i, z, p: g * np.cos(i[0])]),
    "cos": (np.cos, lambda a: a.cos(), [lambda g, i, z, p: -g * np.sin(i[0])]),
    "tanh": (np.tanh, lambda a: a.tanh(), [lambda g, i, z, p: g * (1 - z * z)]),
    "sigmoid": (sigmoid, lambda a: a.sigmoid(), [lambda g, i, z, p: g * z * (1 - z)]),
    "exp": (np.exp, lambda a: a.exp(), [lambda g, i, z, p: g * z]),
    "sqrt": (np.sqrt, lambda a: a.sqrt(), [lambda g, i, z, p: g / (2 * z)]),
    "log": (np.log, lambda a: a.log(), [lambda g, i, z, p: g / i[0]]),
    "relu": (lambda a: np.maximum(a, 0), lambda a: a.relu(), [lambda g, i, z, p: g * (i[0] > 0)]),
    "softmax": (softmax, lambda a: minigrad.softmax(a, dim=-1),
                [lambda g, i, z, p: z * (g - (g * z).sum(-1, keepdims=True))]),
    "sum": (lambda a, axis: a.sum(axis), lambda a, axis: a.sum(axis) if axis is not None else a.sum(),
            [lambda g, i, z, p: restore(g, i[0], p["axis"])]),
    "mean": (lambda a, axis: a.mean(axis), lambda a, axis: a.mean(axis) if axis is not None else a.mean(),
             [lambda g, i, z, p: restore(g, i[0], p["axis"]) / (i[0].size / z.size)]),
    "amax": (lambda a, axis: a.max(axis), lambda a, axis: a.amax(axis),
             [lambda g, i, z, p: share(restore(g, i[0], p["axis"]), i[0] == restore(z, i[0], p["axis"]), p["axis"])]),
    "rows": (lambda a, index: a[index], lambda a, index: a[minigrad.tensor(index)],
             [lambda g, i, z, p: scatter(g, i[0], p["index"])]),
    "transpose": (lambda a: a.T, lambda a: a.T, [lambda g, i, z, p: g.T]),
    "clamp": (lambda a: np.clip(a, -0.7, 0.7), lambda a: a.clamp(-0.7, 0.7),
              [lambda g, i, z, p: g * (np.abs(i[0]) <= 0.7)]),
}  # fmt: skip

UNARY = ["square", "cube", "triple", "sin", "cos", "tanh", "sigmoid", "exp", "sqrt", "log",
         "relu", "softmax", "transpose", "clamp", "rows"]  # fmt: skip
BINARY = ["add", "sub", "mul", "div", "matmul", "add", "mul"]


def fit(d, shape):
    """Sum what was broadcast."""
    d = np.asarray(d, np.float64)
    while d.ndim > len(shape):
        d = d.sum(0)
    for k, n in enumerate(shape):
        if n == 1 and d.shape[k] != 1:
            d = d.sum(k, keepdims=True)
    return d


# ------------------------------------------------------------------ programs


class Program:
    """Leaves, and steps (op, where its operands stand, settings); the last step is the result."""

    def __init__(self, rng):
        self.rng = rng
        n = int(rng.integers(2, 5))
        m = n if rng.random() < 0.4 else int(rng.integers(2, 6))
        self.type = np.float32 if rng.random() < 0.3 else np.float64
        shapes = [(n, m)] * int(rng.integers(1, 4))
        shapes += [(m,), (m, m), (n, 1), ()][: int(rng.integers(0, 5))]
        self.values = [rng.normal(size=s).astype(self.type).astype(np.float64) for s in shapes]
        self.leaves = len(self.values)
        self.steps = []
        for _ in range(int(rng.integers(2, 10))):
            self.grow()
        self.seed = None
        z = self.values[-1]
        if rng.random() < 0.3:
            self.seed = rng.normal(size=z.shape)
        elif z.size > 1:
            self.add(str(rng.choice(["sum", "mean"])), [len(self.values) - 1], axis=None)

    def add(self, op, at, **settings):
        z = np.asarray(OPS[op][0](*(self.values[k] for k in at), **settings))
        self.steps.append((op, at, settings))
        self.values.append(z)

    def grow(self):
        """One more operation: most often on the newest value, that the program is one chain."""
        rng, values = self.rng, self.values
        newest = len(values) - 1 if self.steps else 0
        a = newest if rng.random() < 0.8 else int(rng.integers(len(values)))
        x = values[a]
        if rng.random() < 0.5:
            op = str(rng.choice(BINARY))
            b = int(rng.integers(len(values)))
            if rng.random() < 0.5:
                a, b = b, a
            x, y = values[a], values[b]
            if op == "matmul":
                if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
                    return
            else:
                try:
                    if np.broadcast_shapes(x.shape, y.shape) not in (x.shape, y.shape):
                        return
                except ValueError:
                    return
            if op == "div" and np.min(np.abs(y)) < 0.2:
                return
            if np.max(np.abs(OPS[op][0](x, y)), initial=0) < 30:
                self.add(op, [a, b])
            return
        if rng.random() < 0.12 and x.ndim == 2:
            op = str(rng.choice(["sum", "mean", "amax"]))
            self.add(op, [a], axis=int(rng.integers(2)))
            return
        op = str(rng.choice(UNARY))
        if op in ("sqrt", "log") and np.min(x, initial=1) < 0.1:
            return
        if op in ("softmax", "transpose", "rows") and x.ndim != 2:
            return
        if op in ("exp", "cube") and np.max(np.abs(x), initial=0) > 3:
            return
        if op == "rows":
            if x.shape[0] < 2:
                return
            index = rng.integers(x.shape[0], size=x.shape[0])
            index[0] = index[-1]
            self.add(op, [a], index=index)
        else:
            self.add(op, [a])

    def backward(self, wrong=None, skip=()):
        """The gradient of every value. wrong: (step, operand) -> what passes there, from (g, right)."""
        wrong = wrong or {}
        z = self.values[-1]
        grads = {len(self.values) - 1: np.ones(z.shape) if self.seed is None else self.seed}
        for k in reversed(range(len(self.steps))):
            op, at, settings = self.steps[k]
            g = grads.get(self.leaves + k)
            if g is None:
                continue
            inputs = [self.values[j] for j in at]
            for i, j in enumerate(at):
                d = OPS[op][2][i](g, inputs, self.values[self.leaves + k], settings)
                d = fit(d, self.values[j].shape)
                if (k, i) in wrong:
                    d = fit(wrong[k, i](g, d), self.values[j].shape)
                    if d.shape != self.values[j].shape:
                        raise ValueError("this mistake leaves another shape")
                grads[j] = grads[j] + d if j in grads else d
        return grads

    def run(self):
        """The same in minigrad: the tensors, the last of which is the result."""
        tensors = [
            minigrad.tensor(v.astype(self.type), requires_grad=True)
            for v in self.values[: self.leaves]
        ]
        for op, at, settings in self.steps:
            tensors.append(OPS[op][1](*(tensors[j] for j in at), **settings))
        return tensors

    def uses(self, x):
        """The (step, operand) pairs from which something reaches the value x."""
        leading, found = {x}, []
        for k, (_, at, _) in enumerate(self.steps):
            for i, j in enumerate(at):
                if j in leading:
                    leading.add(self.leaves + k)
                    found.append((k, i))
        last = len(self.values) - 1
        reached = {last}
        for k in reversed(range(len(self.steps))):
            if self.leaves + k in reached:
                reached |= set(self.steps[k][1])
        return [(k, i) for k, i in found if self.leaves + k in reached]


# ------------------------------------------------------------------ mistakes, made on this tape


def mistakes(p, x):
    """(kind, wrong gradient of x), for each mistake that can be made in the program."""
    right = p.backward()
    uses = p.uses(x)
    fan = Counter(p.steps[k][1][i] for k, i in p.uses_all())

    p.made = []

    def made(kind, k, i, passes):
        p.made.append((kind, (k, i), passes))
        try:
            yield kind, p.backward({(k, i): passes})[x]
        except (ValueError, KeyError):
            return

    for k, i in uses:
        op, at, settings = p.steps[k]
        inputs, z = [p.values[j] for j in at], p.values[p.leaves + k]
        a = inputs[i]
        if fan[at[i]] > 1:
            yield from made("missing_path", k, i, lambda g, d: 0 * d)
            yield from made("double_counted", k, i, lambda g, d: 2 * d)
        if (op, i) in (("sub", 1), ("div", 1), ("cos", 0)):
            yield from made("sign", k, i, lambda g, d: -d)
        if op == "square":
            yield from made("scale", k, i, lambda g, d: d / 2)
        if op == "cube":
            yield from made("scale", k, i, lambda g, d: d / 3)
        if op == "mean":
            n = a.size // z.size
            yield from made("mean_for_sum", k, i, lambda g, d, n=n: d * n)
        if op == "sum":
            n = a.size // z.size
            if n > 1:
                yield from made("mean_for_sum", k, i, lambda g, d, n=n: d / n)
        if op in ("mul", "div") and inputs[0].shape == inputs[1].shape and at[0] != at[1]:
            rule, own = OPS[op][2], inputs
            yield from made("swapped_operands", k, i,
                            lambda g, d, r=rule[1 - i], own=own, z=z: r(g, own, z, {}))  # fmt: skip
        wrong_place = {
            "tanh": lambda g, d, a=a: g * (1 - a * a),
            "sigmoid": lambda g, d, a=a: g * a * (1 - a),
            "exp": lambda g, d, a=a: g * a,
            "sqrt": lambda g, d, a=a: g / (2 * a),
            "log": lambda g, d, z=z: g / z,
            "sin": lambda g, d, z=z: g * np.cos(z),
            "square": lambda g, d, z=z: g * 2 * z,
            "softmax": lambda g, d, a=a: a * (g - (g * a).sum(-1, keepdims=True)),
        }
        if op in wrong_place:
            yield from made("wrong_argument", k, i, wrong_place[op])
        if op in ("relu", "clamp"):
            yield from made("mask_missing", k, i, lambda g, d: g)
            yield from made("mask_inverted", k, i, lambda g, d: g - d)
        if op == "amax":
            wide = lambda g, a=a, s=settings: restore(g, a, s["axis"])
            yield from made("mask_missing", k, i, lambda g, d, w=wide: w(g))
            yield from made("mask_inverted", k, i, lambda g, d, w=wide: w(g) - d)
        if op == "softmax":
            yield from made("softmax_diagonal_only", k, i, lambda g, d, z=z: g * z * (1 - z))
        if op == "rows":
            yield from made("index_not_scattered", k, i,
                            lambda g, d, a=a, s=settings: scatter(g, a, s["index"], False))  # fmt: skip
        if op == "matmul":
            b = inputs[1 - i]
            sides = [lambda g, d: b.T @ g, lambda g, d: g @ b.T]  # noqa: B023 - used at once
            yield from made("matmul_order", k, i, sides[i])
            sides = [lambda g, d: g @ b, lambda g, d: b @ g]  # noqa: B023
            yield from made("transposed", k, i, sides[i])
        if op in ("sum", "mean", "amax") and a.ndim == 2 and a.shape[0] == a.shape[1]:
            if settings["axis"] is not None and op != "amax":
                yield from made("reduction_axis", k, i,
                                lambda g, d, a=a, z=z, o=op, s=settings: restore(g, a, 1 - s["axis"])
                                / (len(a) if o == "mean" else 1))  # fmt: skip
        if op not in ("add", "sum", "transpose", "rows", "amax", "mean", "relu", "clamp"):
            if op != "sub":
                rule = OPS[op][2][i]
                yield from made("upstream_ignored", k, i,
                                lambda g, d, r=rule, s=settings, n=inputs, z=z: r(0 * g + 1, n, z, s))  # fmt: skip
            if op not in ("matmul", "triple") and at.count(at[i]) == 1:
                inner = at[i] == x and op not in ("mul", "div") and p.curved_above(k)
                kind = "forgot_inner" if inner else "upstream_only"
                kind = "sign" if op == "sub" else kind  # g for -g
                yield from made(kind, k, i, lambda g, d: g)
        if len(at) == 2 and z.size > a.size and op != "matmul" and at[i] == x and fan[x] == 1:
            yield (
                "broadcast_not_summed",
                OPS[op][2][i](right[p.leaves + k], inputs, z, {}) * np.ones(z.shape),
            )
    g = right.get(x)
    if g is None:
        return
    if g.ndim == 2:
        yield "transposed", g.T
    if g.size > 1:
        yield "shape", g.reshape(-1) if g.ndim > 1 else g[:, None]
    for y in right:
        if y < p.leaves and y != x and right[y].shape == g.shape:
            yield "other_variable", right[y]


def two_mistakes(p, x, right, rng):
    """Two of the mistakes just made, at different places: ("kind+kind", gradient)."""
    if len(p.made) < 2 or len(p.steps) > 7 or right.size < 4:
        return
    for _ in range(2):
        one, two = (p.made[k] for k in rng.choice(len(p.made), 2, replace=False))
        if one[1] == two[1] or one[0] == two[0]:
            continue
        try:
            parts = [p.backward({m[1]: m[2]})[x] for m in (one, two)]
            both = p.backward({one[1]: one[2], two[1]: two[2]})[x]
        except (ValueError, KeyError):
            continue
        if all(np.max(np.abs(both - o)) > 1e-3 * np.max(np.abs(right)) for o in (right, *parts)):
            yield f"{one[0]}+{two[0]}", both


def curved_above(self, k):
    """Is there a function that is not linear above step k?"""
    curves = {"square", "cube", "sin", "cos", "tanh", "sigmoid", "exp", "sqrt", "log", "softmax",
              "relu", "clamp"}  # fmt: skip
    reached = {self.leaves + k}
    for j in range(k + 1, len(self.steps)):
        op, at, _ = self.steps[j]
        if reached & set(at):
            if op in curves:
                return True
            reached.add(self.leaves + j)
    return False


def uses_all(self):
    last, used = {len(self.values) - 1}, []
    for k in reversed(range(len(self.steps))):
        if self.leaves + k in last:
            last |= set(self.steps[k][1])
            used += [(k, i) for i in range(len(self.steps[k][1]))]
    return used


Program.curved_above, Program.uses_all = curved_above, uses_all


def unknown(rng, g):
    """Answers that are wrong in no known way."""
    size = np.max(np.abs(g)) + 0.1
    yield "random numbers", rng.normal(size=g.shape) * size
    yield "right + constant", g + 0.37 * size
    yield "right * 1.3", g * 1.3
    yield "right + noise", g + 0.2 * size * rng.normal(size=g.shape)
    if g.size > 2:
        yield "permuted", rng.permutation(g.reshape(-1)).reshape(g.shape)
        one = g.copy()
        one.reshape(-1)[int(rng.integers(g.size))] += 0.5 * size
        yield "one entry is wrong", one
    if len(np.unique(np.abs(g[g != 0]))) > 1:  # else it is a factor: that of a number to its square
        yield "right, squared", g * g


def main(programs=300, seed=0):
    rng = np.random.default_rng(seed)
    counts, named, slowest, examples = defaultdict(Counter), defaultdict(Counter), 0.0, []
    for number in range(programs):
        p = Program(rng)
        tensors = p.run()
        x = int(rng.choice(sorted(set(range(p.leaves)))))
        right = p.backward().get(x)
        if right is None or np.max(np.abs(right)) < 1e-3 or right.size < 2:
            continue
        names = {f"t{k}": t for k, t in enumerate(tensors)}

        def ask(mine, p=p, tensors=tensors, names=names, x=x):
            return diagnose(tensors[-1], tensors[x], mine, gradient=p.seed, namespace=names)

        verdict = "silent" if ask(right.astype(p.type)) is None else "false"
        counts["the right answer"][verdict] += 1
        wrong = [(kind, w) for kind, w in mistakes(p, x) if w.shape != right.shape
                 or np.max(np.abs(w - right)) > 1e-3 * np.max(np.abs(right))]  # fmt: skip
        wrong = [wrong[k] for k in rng.permutation(len(wrong))]
        seen = set()
        pairs = list(two_mistakes(p, x, right, rng))
        for kind, mine in [*pairs, *[w for w in wrong if not (w[0] in seen or seen.add(w[0]))],
                           *unknown(rng, right)]:  # fmt: skip
            if not np.any(mine):
                continue
            begun = time.perf_counter()
            d = ask(mine.astype(p.type))
            slowest = max(slowest, time.perf_counter() - begun)
            known = "_" in kind or " " not in kind and "," not in kind
            verdict = (
                "silent" if d is None
                else "first" if d.kind in kind.split("+")
                else "also" if set(kind.split("+")) & set(d.also)
                else "false"
            )  # fmt: skip
            made = kind
            kind = "two mistakes at once" if "+" in kind and "right" not in kind else kind
            counts[kind][verdict] += 1
            if verdict in ("false", "also"):
                named[kind][d.kind] += 1
            if verdict in ("false", "silent") and known or verdict == "false":
                examples.append((number, made, verdict, d, p.steps, x))
    show(counts, named)
    print(f"slowest diagnosis: {slowest:.2f} s\n")
    return examples


def battery():
    """The table of the programs written by hand."""
    counts, named, took = defaultdict(Counter), defaultdict(Counter), []
    for make in BATTERY:
        for kind, name, mine in make()[1]:
            tensors, gradient = make()[0], make()[0].get("gradient")
            tensors.pop("gradient", None)
            begun = time.perf_counter()
            d = diagnose(tensors["z"], tensors[name], mine, gradient=gradient, name=name,
                         namespace=tensors)  # fmt: skip
            took.append(time.perf_counter() - begun)
            verdict = (
                "silent" if d is None
                else "first" if d.kind == kind
                else "also" if kind in d.also
                else "false"
            )  # fmt: skip
            counts[kind][verdict] += 1
            if verdict in ("false", "also"):
                named[kind][d.kind] += 1
    show(counts, named)
    print(f"a diagnosis takes {np.median(took):.4f} s in the median, {max(took):.2f} s at most")


def examination():
    """The table of the programs of teach_examination.py, asked as a student asks."""
    counts, named = defaultdict(Counter), defaultdict(Counter)
    for program in PROGRAMS:
        case, answers = answers_of(program)
        for x, kind, mine in answers:
            report = compare_in(case.names, case.z, {x: mine}, gradient=case.gradient)
            _count(counts, named, kind or "the right answer", report.rows[0].diagnosis)
    for optimizer, settings, kind, yours in UPDATES:
        report = compare_update(optimizer, settings, params=P0, grads=GS, yours=yours)
        _count(counts, named, f"{kind or 'the right'} (steps)", report.diagnosis)
    show(counts, named)


def _count(counts, named, kind, d):
    wanted = kind.removesuffix(" (steps)").split("|")
    verdict = (
        "silent" if d is None
        else "first" if d.kind in wanted
        else "also" if set(wanted) & set(d.also)
        else "false"
    )  # fmt: skip
    kind = kind.split("|")[0]
    counts[kind][verdict] += 1
    if verdict in ("false", "also"):
        named[kind][d.kind] += 1


def show(counts, named):
    print(f"{'':24}{'n':>6}{'first':>9}{'also':>9}{'false':>9}{'silent':>9}   named instead")
    for kind, count in [*counts.items(), ("all", sum(counts.values(), Counter()))]:
        n = sum(count.values())
        shares = "".join(f"{count[v] / n:9.1%}" for v in ("first", "also", "false", "silent"))
        print(f"{kind:24}{n:6}{shares}   {dict(named[kind].most_common(4))}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
    battery()
    examination()
