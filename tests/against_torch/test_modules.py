"""Modules: the same few lines, run on minigrad and on PyTorch, tell the same story.

A story is a function of the library that yields what there is to see: values, texts, names.
For a mistake it yields a function; then the type of the error and its words are compared.
Where PyTorch's name stands in a text, minigrad has its own.
"""

import copy
import importlib
import io
import pickle
import re
from collections import OrderedDict

import numpy as np
import pytest

import minigrad
from tests.against_torch.agree import torch

STORIES = []


def story(tell):
    STORIES.append(tell)
    return tell


def seen(value):
    """What can be compared of a value."""
    if isinstance(value, (minigrad.Tensor, torch.Tensor)):
        return value.detach().numpy().tolist()
    if isinstance(value, (list, tuple)):
        return [seen(v) for v in value]
    if isinstance(value, dict):
        return [(k, seen(v)) for k, v in value.items()]
    if isinstance(value, str):  # torch.nn.modules.linear.Linear is minigrad.nn.linear.Linear
        return re.sub(
            r"torch\.nn\.[a-z_.]+(?=[A-Z])", "torch.nn.", value.replace("minigrad.", "torch.")
        )
    return value


def told(tell, library):
    found = []
    for value in tell(library, library.nn):
        if callable(value):
            with pytest.raises(Exception) as caught:
                value()
            found.append(caught.value)
        else:
            found.append(seen(value))
    return found


@pytest.mark.parametrize("tell", STORIES, ids=lambda tell: tell.__name__)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_both_tell_the_same_story(tell):
    ours, theirs = told(tell, minigrad), told(tell, torch)

    assert len(ours) == len(theirs)
    for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(b, Exception):
            assert isinstance(a, type(b)), f"{k}: {a!r}, in PyTorch {b!r}"
            words = seen(b.args[0].split(" Open an issue")[0])
            assert words in seen(str(a.args[0])), f"{k}: {a}, in PyTorch {b}"
        else:
            assert a == b, f"{k}: {a}, in PyTorch {b}"


def net(m, nn):
    """A small model with all there is: parameters, buffers, modules, some of them twice."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(2, 2)
            self.scale = nn.Parameter(m.ones(2))
            self.register_buffer("count", m.zeros(2))
            self.register_buffer("scratch", m.zeros(1), persistent=False)
            self.again = self.linear
            self.nothing = None

        def forward(self, x):
            return self.again(self.linear(x).tanh()) * self.scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Block()
            self.second = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
            self.register_parameter("missing", None)
            self.bias = nn.Parameter(m.zeros(3))

        def forward(self, x):
            return self.second(self.first(x)) + self.bias

    model = Net()
    values = iter(range(100))
    with m.no_grad():
        for p in model.parameters():
            p.copy_(m.tensor([next(values) % 7 - 2.5 for _ in range(p.numel())]).view(*p.shape) / 4)
    return model


# ------------------------------------------------------------------------ what it is made of


@story
def layers_derived_from_paddings(m, nn):
    class Mirror(nn.ReflectionPad2d):
        pass

    class Around(nn.CircularPad1d):
        def forward(self, x):
            return super().forward(x + 1)

    image = m.arange(16.0).reshape(1, 4, 4)
    yield Mirror(1)(image), Mirror((1, 0, 0, 1))(image), Around(2)(image)
    yield repr(Mirror(1)), repr(Around(1))


@story
def layers_derived_from_the_base_classes_of_layers(m, nn):
    F = nn.functional

    class Scaled(nn.modules.conv._ConvNd):
        def __init__(self, k):
            super().__init__(2, 3, (k, k), (1, 1), (0, 0), (1, 1), False, (0, 0), 1, True, "zeros")

        def forward(self, x):
            return F.conv2d(x, 2 * self.weight, self.bias)

    class Up(nn.modules.conv._ConvTransposeNd):
        def __init__(self):
            super().__init__(2, 3, (2,), (2,), (0,), (1,), True, (1,), 1, False, "zeros")

    class Smooth(nn.modules.loss._WeightedLoss):
        def __init__(self, weight=None, reduction="mean", smoothing=0.0):
            super().__init__(weight=weight, reduction=reduction)
            self.smoothing = smoothing

        def forward(self, x, y):
            return F.cross_entropy(x, y, self.weight, reduction=self.reduction)

    class Squared(nn.modules.loss._Loss):
        def __init__(self, reduction="sum"):
            super().__init__(None, None, reduction)

    class Always(nn.modules.dropout._DropoutNd):
        def forward(self, x):
            return x * self.p

    class Norm(nn.modules.instancenorm._InstanceNorm):
        def _check_input_dim(self, x):
            pass

        def _get_no_batch_dim(self):
            return 3

    m.manual_seed(0)
    image = m.arange(32.0).reshape(1, 2, 4, 4)
    loss = Smooth(m.ones(3), smoothing=0.1)
    found = [Scaled(2)(image), loss(m.eye(3), m.tensor([0, 1, 2])), Norm(2)(image)]
    found.append(Always(0.25)(image))
    yield [(100 * x).round() for x in found]
    yield [repr(x) for x in (Scaled(2), Up(), loss, Always(), Always(p=0.3, inplace=True))]
    yield repr(Norm(2))
    yield Up().weight.shape, Up().transposed, loss.state_dict(), Squared().reduction
    yield lambda: Always(2.0)


@story
def a_scheduler_that_overrides_how_a_plateau_reduces_the_rate(m, nn):
    class Told(m.optim.lr_scheduler.ReduceLROnPlateau):
        epochs = ()

        def _reduce_lr(self, epoch):
            self.epochs += (epoch,)
            super()._reduce_lr(epoch)

    optimizer = m.optim.SGD([nn.Parameter(m.ones(1))], lr=1.0)
    scheduler = Told(optimizer, patience=0, factor=0.5)
    for _ in range(3):
        scheduler.step(1.0)
    yield from (scheduler.epochs, optimizer.param_groups[0]["lr"])


@story
def classes_of_programs_that_call_or_override_what_other_methods_call(m, nn):
    class Table(nn.Embedding):
        def reset_parameters(self):
            nn.init.constant_(self.weight, 0.5)
            self._fill_padding_idx_with_zero()

    class Halved(nn.ConvTranspose2d):
        def forward(self, x, output_size=None):
            settings = self.stride, self.padding, self.kernel_size, 2, self.dilation
            more = self._output_padding(x, output_size, *settings)
            arguments = self.bias, self.stride, self.padding, more
            return nn.functional.conv_transpose2d(x, self.weight / 2, *arguments)

    class Layers(nn.ModuleList):
        appended = 0

        def append(self, layer):
            self.appended += 1
            return super().append(layer)

    class OnManifold(nn.Parameter):
        def __new__(cls, data, manifold=None, requires_grad=True):
            p = super().__new__(cls, data, requires_grad)
            p.manifold = manifold
            return p

    class Named(nn.Parameter):
        def __new__(cls, data, name):
            return super().__new__(cls, data)

        def __init__(self, data, name):
            super().__init__()
            self.called = name

    yield Table(3, 2, padding_idx=1).weight
    up = Halved(1, 1, 3, stride=2, bias=False)
    nn.init.ones_(up.weight)
    yield up(m.ones(1, 1, 2, 2)), up(m.ones(1, 1, 2, 2), output_size=[6, 5])
    layers = Layers([nn.ReLU()])
    layers.append(nn.Tanh()).extend([nn.ReLU()])
    layers += [nn.GELU()]
    yield len(layers), layers.appended
    p, fixed = OnManifold(m.ones(2), "sphere"), OnManifold(m.ones(2), requires_grad=False)
    yield p.manifold, p.requires_grad, fixed.manifold, fixed.requires_grad
    yield repr(p), repr(fixed)
    made = m.Tensor._make_subclass(OnManifold, data := m.zeros(2), True)
    data.add_(1)
    yield made, type(made) is OnManifold, made.requires_grad, made.is_leaf, made._version
    yield Named(m.ones(2), "w").called, Named(m.ones(2), "w").requires_grad
    yield lambda: Named(m.ones(2))


@story
def names(m, nn):
    model = net(m, nn)
    yield [n for n, _ in model.named_parameters()]
    yield [n for n, _ in model.named_parameters(remove_duplicate=False)]
    yield [n for n, _ in model.named_parameters(prefix="p", recurse=False)]
    yield [n for n, _ in model.named_buffers()]
    yield [n for n, _ in model.named_modules()]
    yield [n for n, _ in model.named_modules(remove_duplicate=False, prefix="p")]
    yield [n for n, _ in model.named_children()]
    yield [n for n, _ in model.first.named_children()]
    yield [p.shape[0] for p in model.parameters()], [b.shape[0] for b in model.buffers()]
    yield len(list(model.modules())), len(list(model.children()))
    yield next(model.parameters()) is model.bias
    yield list(model._parameters), list(model._modules), list(model.first._buffers)
    for method in (model.parameters, model.named_buffers, model.children, model.named_modules):
        yield repr(method).split(" of ")[0], repr(method()).split(" at ")[0]
    yield repr(model.state_dict).split(" of ")[0], repr(model.forward).split(" of ")[0]
    yield repr(model)
    yield repr(nn.init.ones_(nn.PReLU().weight.data)), repr(nn.PReLU().state_dict())
    yield sorted(n for n in dir(model) if n in ("first", "second", "bias", "0", "forward"))


@story
def names_of_methods(m, nn):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parameters = [1]
            self.parameters = nn.ParameterList([m.ones(2), m.zeros(1)])
            self.children = nn.Linear(2, 1)
            self.scale = nn.Linear(1, 1)

        def scale(self):
            return 3

    net = Net()
    with m.no_grad():
        for k, p in enumerate(net.parameters()):
            p.fill_(k)
    yield [n for n, _ in net.named_parameters()], [n for n, _ in net.named_children()], net.scale()
    yield net.state_dict(), repr(net), len(list(net.children())), "parameters" in dir(net)
    yield net.load_state_dict(net.state_dict()), net.double()._modules["children"].weight.shape
    yield (
        copy.deepcopy(net).state_dict(),
        list(pickle.loads(pickle.dumps(net._modules["scale"])).state_dict()),
    )
    del net.children
    yield (
        list(net._modules),
        repr(net._modules.pop("scale")),
        list(net._modules),
        len(list(net.children())),
    )


@story
def assignments(m, nn):
    model = net(m, nn)
    yield lambda: setattr(model, "bias", m.ones(3))
    yield lambda: setattr(model, "bias", 3)
    yield lambda: setattr(model, "first", 3)
    yield lambda: setattr(model.first, "count", "x")
    model.first.count = m.ones(2)
    yield model.first.count, list(model.first.state_dict())
    model.bias = None
    yield [n for n, _ in model.named_parameters()], list(model._parameters)
    model.bias = nn.Parameter(m.ones(3))
    yield [n for n, _ in model.named_parameters()]
    model.first = nn.Tanh()
    yield [n for n, _ in model.named_modules()]
    model.first = None
    yield [n for n, _ in model.named_modules()], repr(model)
    model.second = nn.Parameter(m.ones(1))
    yield list(model._parameters), list(model._modules)
    del model.second
    yield list(model._parameters), hasattr(model, "second")
    yield lambda: model.second
    yield lambda: delattr(model, "second")
    model.plain = 3
    model.plain = nn.Parameter(m.ones(1))
    yield list(model._parameters), "plain" in model._parameters


@story
def registering(m, nn):
    model = net(m, nn)
    for register, good in (
        (model.register_parameter, nn.Parameter(m.ones(1))),
        (model.register_buffer, m.ones(1)),
        (model.add_module, nn.ReLU()),
        (model.register_module, nn.ReLU()),
    ):
        for name in ("a.b", "", 3, "forward"):
            yield lambda register=register, good=good, name=name: register(name, good)
        yield lambda register=register: register("new", "text")
        yield register("new", good)
        yield "new" in dir(model), [n for n, _ in model.named_parameters()]
        delattr(model, "new")
    p = nn.Parameter(m.ones(1))
    yield lambda: model.register_parameter("new", p * 2)
    yield lambda: model.register_parameter("new", m.ones(1))


@story
def forgotten_init(m, nn):
    def early(value):
        class Early(nn.Module):
            def __init__(self):
                self.x = value

        return Early

    yield early(nn.Parameter(m.ones(1)))
    yield early(nn.ReLU())
    yield early(nn.Buffer(m.ones(1)))
    yield lambda: nn.Module(3)
    yield lambda: nn.Module(size=3)
    yield lambda: nn.Module()(3)


@story
def paths(m, nn):
    model = net(m, nn)
    yield (
        model.get_submodule("") is model,
        model.get_submodule("first.linear") is model.first.linear,
    )
    yield model.get_parameter("second.0.weight") is model.second[0].weight
    yield model.get_buffer("first.count")
    yield lambda: model.get_submodule("first.other")
    yield lambda: model.get_submodule("first.scale")
    yield lambda: model.get_parameter("first.count")
    yield lambda: model.get_parameter("first.other")
    yield lambda: model.get_buffer("first.scale")
    yield lambda: model.get_buffer("first.other")
    model.set_submodule("first.linear", nn.Tanh())
    yield repr(model.first)
    yield lambda: model.set_submodule("", nn.Tanh())
    yield lambda: model.set_submodule("first.scale", nn.Tanh())
    yield lambda: model.set_submodule("first.other", nn.Tanh(), strict=True)


@story
def buffers(m, nn):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(m.zeros(1))
            self.lost = nn.Buffer(m.ones(1), persistent=False)

    class Older(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(m.zeros(1))

        def register_buffer(self, name, tensor):  # without the parameter `persistent`
            super().register_buffer(name, tensor)

    yield list(Older().state_dict())
    model = Counting()
    yield [n for n, _ in model.named_buffers()], list(model.state_dict())
    yield isinstance(model.kept, nn.Buffer), isinstance(model.kept, nn.Parameter), repr(model.kept)
    model.lost = nn.Buffer(m.ones(1))
    yield list(model.state_dict())
    model.kept = nn.Parameter(m.ones(1))
    yield [n for n, _ in model.named_buffers()], [n for n, _ in model.named_parameters()]


@story
def parameters(m, nn):
    data = m.tensor([1.0, 2.0])
    p = nn.Parameter(data)
    yield repr(p), str(p), repr(nn.Parameter()), repr(nn.Parameter(data, requires_grad=False))
    yield isinstance(p, m.Tensor), isinstance(data, nn.Parameter), p.is_leaf, p.requires_grad
    yield [
        isinstance(t, nn.Parameter)
        for t in (p * 2, p.detach(), p.data, p[0], p.clone(), p.view(-1), p.sum())
    ]
    data[0] = 5
    yield p
    (p * p).sum().backward()
    q = copy.deepcopy(p)
    yield q, type(q) is nn.Parameter, q.grad, p.grad
    r = pickle.loads(pickle.dumps(p))
    yield r, type(r) is nn.Parameter, r.requires_grad
    yield lambda: nn.Parameter([1.0])
    yield nn.Parameter(m.tensor([1]), requires_grad=False)
    yield (p * 2).grad_fn.next_functions[0][0].variable is p


# ------------------------------------------------------------------------ changing all of it


@story
def training(m, nn):
    model = net(m, nn)
    yield model.train() is model, model.eval() is model
    yield [x.training for x in model.modules()]
    model.second.train()
    yield [x.training for x in model.modules()]
    yield lambda: model.train("yes")
    order = []
    model.apply(lambda x: order.append(type(x).__name__))
    yield order
    model.requires_grad_(False)
    yield [p.requires_grad for p in model.parameters()]


@story
def zeroing(m, nn):
    model = net(m, nn)
    model(m.ones(1, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    yield [p.grad for p in model.parameters()]
    model.zero_grad()
    yield [p.grad for p in model.parameters()]


@story
def types(m, nn):
    model = net(m, nn)
    model.first.count = m.tensor([1, 2])
    before = list(model.parameters())
    model(m.ones(1, 2)).sum().backward()
    for change in (
        lambda: model.double(),
        lambda: model.float(),
        lambda: model.half(),
        lambda: model.to(m.float64),
        lambda: model.to("cpu"),
        lambda: model.to("cpu", m.float32),
        lambda: model.to(dtype=m.float64, device="cpu"),
        lambda: model.to(m.zeros(1)),
        lambda: model.cpu(),
    ):
        yield change() is model
        yield [str(t.dtype).rpartition(".")[2] for t in (*model.parameters(), *model.buffers())]
        yield str(model.bias.grad.dtype).rpartition(".")[2]
    yield all(a is b for a, b in zip(before, model.parameters(), strict=True))
    model.type(m.float64)
    yield str(model.first.count.dtype).rpartition(".")[2]


def test_whole_numbers_are_no_type_for_a_module():
    for m in (minigrad, torch):
        with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
            m.nn.Linear(1, 1).to(m.int64)


# ------------------------------------------------------------------------ saving and loading


@story
def saving(m, nn):
    model = net(m, nn)
    state = model.state_dict()
    yield list(state), state, isinstance(state, OrderedDict)
    yield list(state._metadata.items())
    yield (
        [v.requires_grad for v in state.values()],
        [v.requires_grad for v in model.state_dict(keep_vars=True).values()],
    )
    yield list(model.state_dict(prefix="net."))
    given = OrderedDict()
    yield model.state_dict(destination=given) is given, len(given)
    with m.no_grad():
        model.bias.fill_(9)
    yield state["bias"]


@story
def loading(m, nn):
    model, other = net(m, nn), net(m, nn)
    with m.no_grad():
        for p in other.parameters():
            p.add_(1)
    p = model.bias
    yield repr(model.load_state_dict(other.state_dict()))
    yield p is model.bias, model.state_dict()
    state = other.state_dict()
    del state["bias"]
    state["first.surplus"] = m.ones(1)
    state["nowhere.at.all"] = m.ones(1)
    state["first.scale"] = m.ones(3)
    state["first.linear.bias"] = "text"
    yield lambda: model.load_state_dict(state)
    yield lambda: model.load_state_dict(state, strict=False)
    del state["first.scale"], state["first.linear.bias"]
    yield lambda: model.load_state_dict(state)
    found = model.load_state_dict(state, strict=False)
    yield found.missing_keys, found.unexpected_keys, repr(found)
    yield lambda: model.load_state_dict([1])


@story
def assigning(m, nn):
    model = nn.Linear(2, 1)
    weight = m.tensor([[1.0, 2.0]])
    model.weight.requires_grad_(False)
    model.load_state_dict({"weight": weight, "bias": m.ones(1)}, assign=True)
    weight[0, 0] = 7
    yield model.weight, type(model.weight) is nn.Parameter, model.weight.requires_grad
    yield model.bias.requires_grad


@story
def batch_norm_without_count(m, nn):
    model = nn.BatchNorm1d(2)
    yield list(model.state_dict()), model.state_dict()._metadata[""]
    state = {k: v for k, v in model.state_dict().items() if k != "num_batches_tracked"}
    yield repr(model.load_state_dict(state))
    state = model.state_dict()
    del state["num_batches_tracked"]
    yield lambda: model.load_state_dict(state)


@story
def state_hooks(m, nn):
    model, seen = net(m, nn), []
    model.register_state_dict_pre_hook(
        lambda module, prefix, keep: seen.append(("pre", prefix, keep))
    )
    model.first.register_state_dict_post_hook(
        lambda module, state, prefix, meta: seen.append(
            ("post", prefix, len(state), meta["version"])
        )
    )
    handle = model.second.register_load_state_dict_pre_hook(
        lambda module, state, prefix, meta, strict, missing, unexpected, errors: seen.append(
            ("load", prefix, sorted(state), strict)
        )
    )
    model.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = model.state_dict()
    del state["bias"]
    yield repr(model.load_state_dict(state)), seen
    handle.remove()
    model.load_state_dict(model.state_dict())
    yield len(seen)
    model.register_load_state_dict_post_hook(lambda module, keys: 3)
    yield lambda: model.load_state_dict(state)


@story
def extra_state(m, nn):
    class Extra(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 3

        def get_extra_state(self):
            return {"steps": self.steps}

        def set_extra_state(self, state):
            self.steps = state["steps"]

    model = nn.Sequential(Extra())
    state = model.state_dict()
    yield list(state)
    model[0].steps = 0
    model.load_state_dict(state)
    yield model[0].steps
    yield lambda: model.load_state_dict({})
    yield lambda: nn.Sequential(nn.ReLU()).load_state_dict(state)


@story
def copies(m, nn):
    model = net(m, nn)
    x = m.ones(1, 2)
    for other in (copy.deepcopy(model.second), pickle.loads(pickle.dumps(model.second))):
        yield model.second(x), other(x), [n for n, _ in other.named_parameters()]
        with m.no_grad():
            other[0].bias.fill_(3)
        yield model.second[0].bias
    other = copy.deepcopy(model)
    yield other.first.again is other.first.linear, other.first.linear is model.first.linear


# ------------------------------------------------------------------------ hooks


@story
def forward_hooks(m, nn):
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.load_state_dict({"weight": m.tensor([[1.0, 2.0]])})
    layer.register_forward_pre_hook(lambda module, args: seen.append("pre 1"))
    layer.register_forward_pre_hook(lambda module, args: seen.append("pre 2"), prepend=True)
    double = layer.register_forward_pre_hook(lambda module, args: args[0] * 2)
    layer.register_forward_hook(
        lambda module, args, z: seen.append(("after", args[0].tolist(), z.tolist()))
    )
    layer.register_forward_hook(lambda module, args, z: z + 100, prepend=True)
    yield layer(m.ones(1, 2)), seen
    double.remove()
    yield layer(m.ones(1, 2)), len(seen)


@story
def hooks_with_keywords(m, nn):
    class Scaled(nn.Module):
        def forward(self, x, scale=1.0):
            return x * scale

    layer, seen = Scaled(), []
    layer.register_forward_pre_hook(
        lambda module, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True
    )
    layer.register_forward_hook(
        lambda module, args, kwargs, z: seen.append((len(args), kwargs["scale"])), with_kwargs=True
    )
    yield layer(m.ones(1), scale=2.0), seen
    layer.register_forward_pre_hook(lambda module, args, kwargs: 3, with_kwargs=True)
    yield lambda: layer(m.ones(1), scale=2.0)


@story
def hooks_of_all_modules(m, nn):
    model, seen, hooks = nn.Sequential(nn.Tanh(), nn.ReLU()), [], nn.modules.module
    name = lambda module: type(module).__name__
    handles = [
        hooks.register_module_forward_pre_hook(lambda module, args: seen.append(name(module))),
        hooks.register_module_forward_hook(lambda module, args, z: z + 1),
        hooks.register_module_full_backward_pre_hook(lambda module, g: (g[0] * 2,)),
        hooks.register_module_full_backward_hook(
            lambda module, g_in, g: seen.append((name(module), g[0].tolist()))
        ),
    ]
    model[0].register_forward_pre_hook(lambda module, args: seen.append("its own"))
    x = m.zeros(2, requires_grad=True)
    z = model(x)
    z.sum().backward()
    yield z, x.grad, seen
    for handle in handles:
        handle.remove()
    yield len(handles[0].hooks_dict_ref()), model(x)


@story
def a_parametrized_weight(m, nn):
    parametrize = importlib.import_module(f"{m.__name__}.nn.utils.parametrize")

    class Skew(nn.Module):
        def forward(self, X):
            return X.triu(1) - X.triu(1).T

        def right_inverse(self, A):
            return A.triu(1)

    class Twice(nn.Module):
        def forward(self, X):
            return X * 2

    class Half(nn.Module):
        def forward(self, X):
            return X / 2

        def right_inverse(self, X):
            return X * 2

    layer = nn.Linear(2, 2)
    layer.load_state_dict({"weight": m.tensor([[1.0, 2.0], [3.0, 4.0]]), "bias": m.zeros(2)})
    weight = layer.weight
    parametrize.register_parametrization(layer, "weight", Skew())
    yield repr(layer), [name for name, _ in layer.named_parameters()], layer.weight
    yield type(layer).__module__.replace(m.__name__, "")
    parametrize.register_parametrization(layer, "weight", Twice())
    layer(m.ones(1, 2)).square().sum().backward()
    yield (
        layer.weight,
        layer.parametrizations.weight.original.grad,
        repr(layer.parametrizations.weight[1]),
    )
    yield lambda: setattr(layer, "weight", m.ones(2, 2))
    yield parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")
    parametrize.register_parametrization(layer, "weight", Half())
    yield layer.weight, layer.parametrizations.weight.original
    with parametrize.cached():
        yield layer.weight is layer.weight
    yield copy.deepcopy(layer).weight
    with pytest.raises(RuntimeError, match=r"only supported through state_dict\(\)"):
        pickle.dumps(layer)
    parametrize.remove_parametrizations(layer, "weight")
    yield type(layer).__name__, layer.weight is weight, weight, hasattr(layer, "parametrizations")
    parametrize.register_parametrization(layer, "weight", Skew())
    layer.weight = m.tensor([[0.0, 7.0], [-7.0, 0.0]])
    yield layer.weight
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    yield weight


@story
def parametrizations_that_do_not_fit(m, nn):
    parametrize = importlib.import_module(f"{m.__name__}.nn.utils.parametrize")

    class First(nn.Module):
        def forward(self, X):
            return X[[0]]

    class Outer(nn.Module):
        def forward(self, x, y):
            return m.outer(x, y)

        def right_inverse(self, X):
            return X[:, 0], X[0]

    layer = nn.Linear(2, 2, bias=False)
    register = parametrize.register_parametrization
    yield lambda: register(layer, "other", First())
    with m.no_grad():
        layer.weight.copy_(m.ones(2, 2))
    try:
        register(layer, "weight", First())
    except ValueError as error:
        yield str(error).partition("\n")[0]
    register(layer, "weight", First(), unsafe=True)
    yield layer.weight, parametrize.type_before_parametrizations(layer) is nn.Linear
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    register(layer, "weight", Outer())
    yield list(layer.state_dict()), layer.weight
    yield lambda: parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    yield layer.weight
    yield lambda: parametrize.remove_parametrizations(layer, "weight")


@story
def hooks_by_their_older_names(m, nn):
    model, seen = net(m, nn), []
    model._register_load_state_dict_pre_hook(lambda state, prefix, *rest: seen.append(prefix))
    model.first._register_load_state_dict_pre_hook(
        lambda module, state, prefix, *rest: seen.append((type(module).__name__, prefix)), True
    )
    model.second._register_state_dict_hook(
        lambda module, state, prefix, meta: state.update({prefix + "more": m.ones(1)})
    )
    yield list(model.state_dict())
    yield lambda: model.load_state_dict(model.state_dict())
    yield seen
    handle = model._register_state_dict_hook(lambda module, state, *rest: {"all": len(state)})
    yield model.state_dict()
    handle.remove()
    yield list(model.state_dict())
    handle = model.register_forward_hook(lambda *all: None, always_call=True)
    yield len(model._forward_hooks_always_called)


@story
def hooks_that_come_and_go_during_a_call(m, nn):
    layer, seen = nn.Tanh(), []

    def before(module, args):
        first.remove()
        module.register_forward_hook(lambda module, args, z: z + 1)

    first = layer.register_forward_pre_hook(before)
    layer.register_forward_pre_hook(lambda module, args: seen.append("second"))
    yield layer(m.zeros(1)), seen
    yield layer(m.zeros(1)), seen


@story
def hooks_that_are_cleared(m, nn):
    layer, seen = nn.Tanh(), []
    handle = layer.register_forward_hook(lambda module, args, z: seen.append("after"))
    yield handle.id in layer._forward_hooks, len(layer._forward_pre_hooks)
    layer._forward_hooks.clear()
    layer(m.ones(1))
    layer.register_forward_pre_hook(lambda module, args: seen.append("before"))
    layer._forward_pre_hooks = OrderedDict()
    layer(m.ones(1))
    yield seen


@story
def always_called_hooks(m, nn):
    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    layer, seen = Failing(), []
    layer.register_forward_hook(lambda module, args, z: seen.append("usual"))
    layer.register_forward_hook(lambda module, args, z: seen.append(z), always_call=True)
    yield lambda: layer(m.ones(1))
    yield seen


@story
def backward_hooks(m, nn):
    class Two(nn.Module):
        def forward(self, x, n, y):
            return x * y * n, x + y

    layer, seen = Two(), []

    def note(word):
        return lambda module, *grads: seen.append(
            (word, *[[g and g.tolist() for g in gs] for gs in grads])
        )

    layer.register_full_backward_hook(note("hook"))
    layer.register_full_backward_hook(note("first"), prepend=True)
    layer.register_full_backward_pre_hook(note("pre"))
    x, y = m.tensor(3.0, requires_grad=True), m.tensor(5.0)
    a, b = layer(x, 2, y)
    (a * 2 + b).backward()
    yield seen, x.grad, y.grad
    seen.clear()
    x.grad = None
    layer(x, 2, y)[0].backward()
    yield seen, x.grad


@story
def backward_hooks_that_replace(m, nn):
    layer = nn.Linear(1, 1, bias=False)
    layer.load_state_dict({"weight": m.tensor([[3.0]])})
    layer.register_full_backward_pre_hook(lambda module, out: (out[0] * 10,))
    layer.register_full_backward_hook(lambda module, given, out: (given[0] + out[0],))
    x = m.ones(1, 1).requires_grad_()
    layer(x).sum().backward()
    yield x.grad, layer.weight.grad
    layer.register_full_backward_hook(lambda module, given, out: (given[0], None))
    yield lambda: layer(x).sum().backward()


@story
def backward_hooks_without_input_gradients(m, nn):
    layer, seen = nn.Linear(1, 1, bias=False), []
    layer.load_state_dict({"weight": m.tensor([[3.0]])})
    layer.register_full_backward_hook(
        lambda module, given, out: seen.append((list(given), seen_out(out)))
    )
    layer(m.ones(1, 1)).sum().backward()
    yield seen, layer.weight.grad
    with m.no_grad():
        yield layer(m.ones(1, 1))
    layer.register_full_backward_hook(lambda module, given, out: 3)
    yield lambda: layer(m.ones(1, 1)).sum().backward()


def seen_out(grads):
    return [g.tolist() for g in grads]


# ------------------------------------------------------------------------ containers


@story
def sequential(m, nn):
    a, b, c = nn.Tanh(), nn.ReLU(), nn.Sigmoid()
    row = nn.Sequential(a, b)
    yield repr(row), len(row), row[-1] is b, repr(row[1:]), [type(x).__name__ for x in row]
    yield repr(row.append(c)), repr(row.insert(0, nn.ELU())), repr(row.insert(-1, nn.SELU()))
    yield repr(row.extend([a, b])), repr(row.pop(0)), repr(row)
    row[0] = nn.GELU()
    del row[1:3]
    yield repr(row)
    del row[0]
    yield repr(row), list(row._modules)
    yield lambda: row[7]
    yield lambda: row.insert(9, a)
    yield lambda: row.insert(0, 3)
    yield repr(row + nn.Sequential(a)), repr(nn.Sequential(a) * 2), repr(2 * nn.Sequential(a))
    yield lambda: row + [a]
    yield lambda: row * 0
    yield lambda: row * "x"
    row += nn.Sequential(c)
    row *= 2
    yield repr(row)
    named = nn.Sequential(OrderedDict([("in", a), ("out", b)]))
    yield repr(named), repr(named[:1]), named(m.tensor([-1.0, 1.0]))
    named[0] = c
    yield repr(named), repr(nn.Sequential()), dir(named).count("in")


@story
def module_list(m, nn):
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    yield repr(layers), len(layers), [n for n, _ in layers.named_parameters()]
    layers.insert(1, nn.Tanh())
    yield repr(layers), repr(layers[1:3]), repr(layers[-1])
    layers.append(nn.ReLU())
    layers.extend([nn.ReLU(), nn.Sequential(nn.ReLU(), nn.ReLU())])
    layers[0] = nn.ELU()
    layers += [nn.Tanh()]
    yield repr(layers), repr(layers + [nn.ReLU()]), repr(layers.pop(1)), repr(nn.ModuleList())
    del layers[0]
    del layers[::2]
    yield repr(layers), list(layers._modules)
    yield lambda: layers[9]
    yield lambda: layers.extend(3)
    yield lambda: layers(3)


@story
def module_dict(m, nn):
    layers = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    yield repr(layers), list(layers), list(layers.keys()), len(layers), "a" in layers, "c" in layers
    layers["c"] = nn.ELU()
    layers.update([["d", nn.SELU()], ["a", nn.GELU()]])
    layers.update(nn.ModuleDict({"e": nn.ReLU()}))
    yield repr(layers), [n for n, _ in layers.items()], [repr(v) for v in layers.values()]
    yield repr(layers.pop("b")), list(layers)
    del layers["a"]
    yield list(layers)
    yield lambda: layers["zz"]
    yield lambda: layers.update(3)
    yield lambda: layers.update([3])
    yield lambda: layers.update([("x",)])
    layers.clear()
    yield len(layers), repr(layers)


@story
def parameter_list(m, nn):
    ps = nn.ParameterList([m.ones(2, 3), nn.Parameter(m.ones(1))])
    ps.append(m.zeros(2))
    ps += [m.zeros(1), "text"]
    yield repr(ps), len(ps), [n for n, _ in ps.named_parameters()], list(ps.state_dict())
    yield [type(p) is nn.Parameter for p in ps], ps[0], ps[-1], repr(ps[1:3])
    ps[0] = m.zeros(1)
    yield ps[0], type(ps[0]) is nn.Parameter
    yield lambda: ps[9]
    yield lambda: ps.extend(m.ones(2))
    yield lambda: ps()


@story
def parameter_dict(m, nn):
    ps = nn.ParameterDict({"b": m.ones(2), "a": m.zeros(1)})
    yield repr(ps), list(ps), list(reversed(ps)), len(ps), "a" in ps
    ps["c"] = m.ones(1)
    ps.update([("d", m.zeros(1))])
    yield list(ps.keys()), [k for k, _ in ps.items()], len(list(ps.values())), ps.get("zz", 3)
    yield ps.setdefault("e", m.ones(1)), ps.pop("a"), ps.popitem()[0], list(ps)
    yield (
        list(ps | nn.ParameterDict({"x": m.ones(1)})),
        list(ps.copy()),
        list(ps.fromkeys(["k"], 1)),
    )
    ps |= {"y": m.ones(1)}
    yield [n for n, _ in ps.named_parameters()]
    yield lambda: ps[3]
    yield lambda: ps.update(3)
    ps.clear()
    yield len(ps), repr(ps)


# ------------------------------------------------------------------------ layers' own errors


@story
def mistakes(m, nn):
    x = m.ones(2, 4)
    yield from (
        lambda: nn.Linear(3, 2)(x),
        lambda: nn.Bilinear(0, 1, 1),
        lambda: nn.Conv2d(3, 4, 2, groups=0),
        lambda: nn.Conv2d(3, 4, 2, groups=2),
        lambda: nn.Conv2d(2, 3, 2, groups=2),
        lambda: nn.Conv2d(2, 2, 2, stride=2, padding="same"),
        lambda: nn.ConvTranspose2d(2, 2, 2, padding_mode="reflect"),
        lambda: nn.Conv1d(4, 2, 3)(x[0]),
        lambda: nn.Dropout(1.5),
        lambda: nn.BatchNorm1d(4)(m.ones(1, 4)),
        lambda: nn.BatchNorm1d(4)(m.ones(4)),
        lambda: nn.BatchNorm2d(4)(x),
        lambda: nn.LayerNorm(3)(x),
        lambda: nn.GroupNorm(3, 4),
        lambda: nn.InstanceNorm2d(3)(x),
        lambda: nn.Embedding(3, 2, padding_idx=5),
        lambda: nn.Embedding(3, 2, _weight=x),
        lambda: nn.Embedding.from_pretrained(m.ones(3)),
        lambda: nn.Unflatten(1, 3),
        lambda: nn.Unflatten(1, ("a", 2)),
        lambda: nn.Softmax2d()(x),
        lambda: nn.Hardtanh(1.0, 1.0),
        lambda: nn.TripletMarginLoss(margin=0),
        lambda: nn.MultiMarginLoss(p=3),
        lambda: nn.MSELoss(reduction="average")(x, x),
        lambda: nn.GaussianNLLLoss()(x, x, -x),
        lambda: nn.RNNCell(4, 2)(m.ones(1, 1, 4)),
        lambda: nn.RNNCell(4, 2)(x, m.ones(1, 1, 1)),
        lambda: nn.RNNCell(3, 2)(x),
        lambda: nn.GRUCell(4, 2)(x, m.ones(3, 2)),
        lambda: nn.GRUCell(4, 2)(x, m.ones(2, 3)),
        lambda: nn.RNNCell(4, 2, nonlinearity="sin")(x),
        lambda: nn.LSTMCell(4, 2)(x, (m.ones(1, 1, 1), m.ones(2, 2))),
        lambda: nn.RNN(4, 2, nonlinearity="sin"),
        lambda: nn.RNN(4, 2, proj_size=1),
        lambda: nn.LSTM(0, 2),
        lambda: nn.LSTM(4, 0),
        lambda: nn.LSTM(4, 2, 0),
        lambda: nn.LSTM(4.0, 2),
        lambda: nn.LSTM(4, 2, bias=1),
        lambda: nn.LSTM(4, 2, dropout=2),
        lambda: nn.LSTM(4, 2)(x[0]),
        lambda: nn.LSTM(3, 2)(x),
        lambda: nn.LSTM(4, 2)(m.ones(3, 2, 4), (m.ones(1, 3, 2), m.ones(1, 3, 2))),
        lambda: nn.LSTM(4, 2)(m.ones(3, 2, 4), (m.ones(1, 2), m.ones(1, 2))),
        lambda: nn.GRU(4, 2)(m.ones(3, 2, 4), m.ones(2, 2, 2)),
        lambda: nn.GRU(4, 2)(x, m.ones(2, 2, 2)),
        lambda: nn.GRU(4, 2)(m.ones(3, 2, 4).double()),
    )


def test_modules_of_both_read_each_others_state():
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    ours = minigrad.nn.Sequential(minigrad.nn.Linear(2, 3), minigrad.nn.BatchNorm1d(3))

    assert repr(ours.load_state_dict(theirs.state_dict())) == "<All keys matched successfully>"
    x = np.float32([[1, 2], [3, 4]])
    np.testing.assert_allclose(
        ours(minigrad.tensor(x)).detach().numpy(),
        theirs(torch.tensor(x)).detach().numpy(),
        rtol=1e-5,
    )
    buffer = io.BytesIO()
    minigrad.save(ours.state_dict(), buffer)
    assert list(minigrad.load(io.BytesIO(buffer.getvalue()))) == list(theirs.state_dict())
