"""Modules: what they are made of, how they are called, saved and trained."""

import copy
import gc
import inspect
import pickle
import warnings
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import minigrad
from minigrad import nn, tensor
from minigrad.nn import functional as F
from minigrad.nn.function_layer import FunctionLayer
from tests.numeric import assert_close


def linear(*rows, bias=None):
    """A Linear layer with these weights."""
    weight = tensor(np.float64(rows))
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    state = {"weight": weight} | ({} if bias is None else {"bias": tensor(np.float64(bias))})
    layer.load_state_dict(state)
    return layer


# ------------------------------------------------------------------------ parameters


def test_the_end_of_an_edge_is_the_very_parameter():
    layer = linear([1, 2])
    z = layer(tensor([[1.0, 1.0]], dtype=minigrad.float64))
    ends, seen = [z.grad_fn], []
    while ends:
        node = ends.pop()
        if hasattr(node, "variable"):
            seen.append(node.variable)
        ends += [n for n, _ in node.next_functions if n is not None]

    assert len(seen) == 1 and seen[0] is layer.weight


def test_a_parameter_uses_the_memory_of_its_tensor():
    data = minigrad.zeros(2)
    p = nn.Parameter(data)
    with minigrad.no_grad():
        p += 1

    assert data.tolist() == [1, 1]
    assert p._version == data._version == 1


def test_a_property_that_fails_gives_way_to_a_buffer_of_its_name():
    class Neuron(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("beta", minigrad.tensor(0.5))
            self.tau = 1 / (1 - self.beta)

        @property
        def beta(self):
            return 1 - 1 / self.tau

    assert Neuron().beta.item() == 0.5


def test_what_is_computed_from_a_parameter_is_a_tensor():
    p = nn.Parameter(minigrad.ones(2, 2))

    for z in (p + 1, p[0], p.T, p.detach(), p.data, p.clone(), p.sum(), p.double()):
        assert not isinstance(z, nn.Parameter)
    assert str(p).startswith("Parameter containing:\ntensor(") and isinstance(p, minigrad.Tensor)


def test_a_parameter_is_made_of_a_tensor():
    with pytest.raises(AttributeError, match=r"'list' object has no .* write  Parameter\(minigrad"):
        nn.Parameter([1.0])
    with pytest.raises(RuntimeError, match="require gradients"):
        nn.Parameter(tensor([1]))


def test_a_buffer_knows_whether_it_is_saved():
    model = nn.Module()
    model.kept, model.lost = (
        nn.Buffer(minigrad.ones(1)),
        nn.Buffer(minigrad.ones(1), persistent=False),
    )
    other = copy.deepcopy(model)
    again = pickle.loads(pickle.dumps(model))

    for m in (model, other, again):
        assert [n for n, _ in m.named_buffers()] == ["kept", "lost"]
        assert list(m.state_dict()) == ["kept"]
        assert not m.lost.persistent


# ------------------------------------------------------------------------ what a module is made of


def test_a_plain_tensor_and_a_list_are_not_noticed():
    model = nn.Module()
    model.tensor, model.layers = minigrad.ones(1), [nn.Linear(1, 1)]

    assert not list(model.parameters()) and not list(model.state_dict())


def test_a_forgotten_init_is_told():
    class Net(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(
        AttributeError, match=r"cannot assign module before Module.__init__\(\) call"
    ):
        Net()


@pytest.mark.parametrize(
    "use", ["net(1)", "net.state_dict()", "list(net.parameters())", "net.eval()", "str(net)"]
)
def test_a_forgotten_init_is_told_where_the_module_is_used(use):
    class Net(nn.Module):
        def __init__(self):
            self.scale = 2

        def forward(self, x):
            return self.scale * x

    with pytest.raises(
        AttributeError,
        match=r"'Net' object has no attribute '_modules'. Module.__init__\(\) has not been called",
    ):
        eval(use, {"net": Net()})


def test_assigning_a_tensor_to_a_parameter_says_what_to_do():
    layer = nn.Linear(1, 1)

    with pytest.raises(
        TypeError,
        match=r"cannot assign 'minigrad.FloatTensor' as parameter 'weight' .* nn.Parameter",
    ):
        layer.weight = minigrad.ones(1, 1)


def test_a_parameter_may_give_way_to_a_computed_tensor():
    layer = linear([1, 2])
    del layer.weight
    free = nn.Parameter(minigrad.ones(1, 2))
    layer.weight = free * 3
    layer(minigrad.ones(1, 2)).sum().backward()

    assert free.grad.tolist() == [[3, 3]]
    assert not list(layer.parameters())


def test_the_names_of_one_kind_can_be_written_to():
    layer = linear([1, 2])
    layer._parameters["weight"] = nn.Parameter(minigrad.zeros(1, 2))

    assert layer.weight.tolist() == [[0, 0]] and "weight" in layer._parameters
    del layer._parameters["weight"]
    assert not hasattr(layer, "weight") and len(layer._parameters) == 1  # bias, which is None
    with pytest.raises(KeyError):
        layer._modules["weight"]


def test_a_shallow_copy_of_a_module_gets_members_of_its_own():
    """As learn2learn's `clone_module` makes it, which many repositories carry."""
    layer = nn.Sequential(nn.Linear(2, 1))
    copy = layer[0].__new__(nn.Linear)
    copy.__dict__ = layer[0].__dict__.copy()
    copy._parameters = copy._parameters.copy()
    copy._parameters["weight"] = layer[0].weight.clone()
    layer._modules = {"first": copy, "last": nn.Tanh()}

    layer(minigrad.ones(1, 2)).sum().backward()

    assert copy.weight.grad_fn is not None and [*layer._modules] == ["first", "last"]
    assert not hasattr(layer, "0") and copy.bias.grad is not None


def test_a_subclass_may_have_a_getattr_of_its_own():
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.inner, name)

    wrapper = Wrapper(nn.Linear(2, 3))
    revived = Wrapper.__new__(Wrapper)  # as pickle does
    revived.__setstate__(wrapper.__getstate__())

    assert wrapper.out_features == revived.out_features == 3
    assert copy.copy(wrapper).out_features == copy.deepcopy(wrapper).out_features == 3


def test_a_subclass_may_add_to_the_state_that_is_pickled():
    class Old(nn.Linear):
        def __getstate__(self):
            state = super().__getstate__()
            del state["in_features"]
            return state

        def __setstate__(self, state):
            super().__setstate__({"in_features": 7, **state})

    layer = Old(1, 1)

    assert copy.deepcopy(layer).in_features == 7 and layer.in_features == 1


def test_a_class_behind_module_can_be_initialized_too():
    class Named:
        def __init__(self, name):
            self.name = name

    class Layer(nn.Module, Named):
        call_super_init = True

        def __init__(self):
            super().__init__("layer")
            self.weight = nn.Parameter(minigrad.ones(1))

    assert Layer().name == "layer" and len(list(Layer().parameters())) == 1


def test_names_that_a_subclass_uses_do_not_clash():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self._hooks, self._names, self._kind = [], [], "net"
            self.inner = nn.ReLU()

        def _load(self):
            raise AssertionError

        def forward(self, x):
            return self.inner(x)

    net = Net()
    net.load_state_dict(net.state_dict())
    assert net(minigrad.ones(1)).tolist() == [1]


def test_a_module_is_freed_at_once():
    gc.disable()
    try:
        model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        model(minigrad.ones(3, 2)).sum().backward()
        module, parameter = weakref.ref(model), weakref.ref(model[0].weight)
        del model

        assert module() is None and parameter() is None
    finally:
        gc.enable()


def test_a_state_dict_shows_the_memory_of_the_module():
    layer = linear([1, 2])
    state = layer.state_dict()
    with minigrad.no_grad():
        layer.weight.fill_(5)

    assert state["weight"].tolist() == [[5, 5]] and not state["weight"].requires_grad


def test_a_state_may_be_of_arrays():
    layer = nn.Linear(2, 1, bias=False)

    assert (
        str(layer.load_state_dict({"weight": np.array([[1.0, 2.0]])}))
        == "<All keys matched successfully>"
    )
    assert layer.weight.tolist() == [[1, 2]] and layer.weight.dtype == np.float32


def test_all_that_does_not_fit_is_listed():
    model = nn.Sequential(nn.Linear(2, 1))

    with pytest.raises(RuntimeError) as error:
        model.load_state_dict({"0.weight": minigrad.ones(1, 3), "1.bias": minigrad.ones(1)})
    assert str(error.value).split("\n\t") == [
        "Error(s) in loading state_dict for Sequential:",
        'Missing key(s) in state_dict: "0.bias". ',
        'Unexpected key(s) in state_dict: "1.bias". ',
        "size mismatch for 0.weight: copying a param with shape minigrad.Size([1, 3]) from checkpoint, "
        "the shape in current model is minigrad.Size([1, 2]).",
    ]


def test_parameters_stay_the_same_objects_when_their_type_changes():
    layer = linear([1, 2])
    weight = layer.weight
    layer(minigrad.ones(1, 2).double()).sum().backward()

    assert layer.float() is layer and layer.weight is weight
    assert weight.dtype == weight.grad.dtype == np.float32
    layer(minigrad.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[2, 2]]


def test_there_is_no_gpu():
    with pytest.raises(AssertionError, match="on the CPU only"):
        nn.Linear(1, 1).cuda()
    with pytest.raises(AssertionError, match="on the CPU only"):
        nn.Linear(1, 1, device="cuda")
    with pytest.raises(RuntimeError, match="on the CPU only"):
        nn.Linear(1, 1, device="mps")


# ------------------------------------------------------------------------ calling


def test_a_module_without_forward_says_so():
    class Net(nn.Module):
        pass

    with pytest.raises(
        NotImplementedError, match=r'Module \[Net\] is missing the required "forward" function'
    ):
        Net()(1)


def test_a_removed_hook_is_not_called():
    layer, seen = nn.ReLU(), []
    with layer.register_forward_hook(lambda module, args, z: seen.append(1)):
        layer(minigrad.ones(1))
    layer(minigrad.ones(1))

    assert seen == [1]


def test_the_hooks_of_all_modules_are_replaced_by_assignment():
    """As in the teardown of PyTorch's own tests."""
    hooks = nn.modules.module
    handle = hooks.register_module_forward_pre_hook(lambda module, args: (args[0] + 1,))
    assert nn.Identity()(1) == 2 and len(hooks._global_forward_pre_hooks) == 1
    hooks._global_forward_pre_hooks = OrderedDict()
    assert nn.Identity()(1) == 1
    handle.remove()


def test_without_hooks_of_all_modules_a_module_has_none_to_look_at():
    with nn.modules.module.register_module_forward_hook(lambda module, args, z: z + 1):
        assert nn.ReLU()(minigrad.zeros(1)).item() == 1

    assert nn.ReLU()._call_hooks is None and nn.ReLU()(minigrad.zeros(1)).item() == 0


def test_a_forward_hook_may_replace_the_result_and_gradients_flow_through_it():
    layer = linear([2])
    layer.register_forward_hook(lambda module, args, z: z * 10)
    layer(minigrad.ones(1, 1).double()).sum().backward()

    assert layer.weight.grad.tolist() == [[10]]


def test_a_backward_hook_sees_a_second_derivative():
    layer, seen = nn.Tanh(), []
    layer.register_full_backward_hook(
        lambda module, given, out: seen.append(given[0].requires_grad)
    )
    x = tensor([0.5], dtype=minigrad.float64, requires_grad=True)
    (g,) = minigrad.autograd.grad(layer(x).sum(), x, create_graph=True)
    (h,) = minigrad.autograd.grad(g.sum(), x)

    t = np.tanh(0.5)
    assert seen[0] and h.item() == pytest.approx(-2 * t * (1 - t * t), rel=1e-12)


def test_an_argument_without_a_gradient_stays_so_under_backward_hooks():
    class Pair(nn.Module):
        def forward(self, x, y):
            assert x.requires_grad and not y.requires_grad
            return x * y

    pair = Pair()
    pair.register_full_backward_hook(lambda module, given, out: None)
    pair(minigrad.ones(1).requires_grad_(), minigrad.ones(1)).sum().backward()


def test_a_named_tuple_stays_one_under_backward_hooks():
    class Both(nn.Module):
        def forward(self, x):
            return minigrad.sort(x)

    both = Both()
    both.register_full_backward_hook(lambda module, given, out: None)

    assert both(tensor([2.0, 1.0], requires_grad=True)).values.tolist() == [1, 2]
    assert both(tensor([2.0, 1.0])).indices.tolist() == [1, 0]


def test_a_tape_knows_in_which_module_an_operation_ran():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2, bias=False), nn.Tanh()])

        def forward(self, x):
            return self.layers[1](self.layers[0](x)) + 1

    net = Net()
    with minigrad.record() as tape:
        net(minigrad.ones(1, 2)).sum()

    ran = [(n["op"], n["module"]) for n in tape.document["nodes"] if n["kind"] == "op"]
    assert ran == [
        ("t", "Net.layers.0"),
        ("mm", "Net.layers.0"),
        ("tanh", "Net.layers.1"),
        ("add", "Net"),
        ("sum", None),
    ]


# ------------------------------------------------------------------------ layers


def test_dropout_drops_in_training_only():
    minigrad.manual_seed(0)
    layer = nn.Dropout(0.25)
    z = layer(minigrad.ones(10_000))

    assert set(np.unique(z.numpy())) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(z.mean().item() - 1) < 0.05  # the deviation is 0.006
    assert layer.eval()(z) is z


def test_running_statistics_move_toward_the_batch():
    layer = nn.BatchNorm1d(1, momentum=0.5)
    layer(tensor([[1.0], [3.0]]))

    assert layer.running_mean.tolist() == [1.0]  # halfway from 0 to 2
    assert layer.running_var.tolist() == [1.5]  # halfway from 1 to 2, the unbiased variance
    assert layer.num_batches_tracked.item() == 1
    assert_close(
        layer.eval()(tensor([[1.0], [3.0]])).detach(),
        [[0], [2 / np.sqrt(1.5)]],
        rtol=1e-5,
        atol=1e-6,
    )
    layer.reset_running_stats()
    assert (layer.running_mean.item(), layer.running_var.item()) == (0, 1)


def test_an_embedding_can_have_a_gradient_of_few_rows():
    layer = nn.Embedding(1000, 2, sparse=True)
    layer(tensor([3, 5, 3])).sum().backward()

    assert layer.weight.grad.is_sparse
    assert layer.weight.grad.coalesce().indices().tolist() == [[3, 5]]
    total = nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    assert_close(total.item(), np.sqrt(2 * 2**2 + 2 * 1), rtol=1e-6)
    assert_close(nn.utils.get_total_norm([layer.weight.grad]).item(), 1, rtol=1e-5)


def test_the_row_of_the_padding_is_zeros_and_stays_so():
    layer = nn.Embedding(4, 2, padding_idx=-1)
    layer(tensor([1, 3])).sum().backward()

    assert layer.padding_idx == 3 and layer.weight[3].tolist() == [0, 0]
    assert layer.weight.grad.tolist() == [[0, 0], [1, 1], [0, 0], [0, 0]]


def test_a_pretrained_embedding_is_frozen():
    table = minigrad.ones(3, 2)

    assert not nn.Embedding.from_pretrained(table).weight.requires_grad
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad


def test_an_lstm_is_its_cell_in_a_loop():
    minigrad.manual_seed(1)
    layer = nn.LSTM(2, 3, dtype=minigrad.float64)
    cell = nn.LSTMCell(2, 3, dtype=minigrad.float64)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x = minigrad.randn(4, 1, 2, dtype=minigrad.float64)
    output, (h, c) = layer(x)
    state = None
    for t in range(4):
        state = cell(x[t], state)
        assert_close(output[t].detach(), state[0].detach(), rtol=1e-12)

    assert_close(h[0].detach(), state[0].detach(), rtol=1e-12)
    assert_close(c[0].detach(), state[1].detach(), rtol=1e-12)


def test_dropout_of_a_single_recurrent_layer_warns():
    with pytest.warns(UserWarning, match="non-zero dropout expects num_layers greater than 1"):
        nn.GRU(1, 1, dropout=0.5)


def test_an_lstm_projects_its_h():
    lstm = nn.LSTM(3, 5, 2, proj_size=2, bidirectional=True)

    output, (h, c) = lstm(minigrad.ones(4, 1, 3))

    assert output.shape == (4, 1, 4) and h.shape == (4, 1, 2) and c.shape == (4, 1, 5)
    assert lstm.weight_hr_l0.shape == (2, 5) and lstm.weight_ih_l1.shape == (20, 4)
    assert_close(output[-1, :, :2].detach(), h[2].detach())


@pytest.mark.parametrize(
    "layer",
    [nn.Conv2d(2, 3, 3), nn.Conv2d(2, 3, 3, stride=2, padding=1, bias=False), nn.ConvTranspose2d(2, 3, 2, stride=2),
     nn.MaxPool2d(2), nn.MaxPool2d(3, 1, 1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(4), nn.AdaptiveMaxPool2d(4)],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize(
    "given", [minigrad.ones(2, 2, 6, 6), minigrad.ones(2, 6, 6, 2).permute(0, 3, 1, 2)]
)
def test_results_of_convolution_and_pooling_can_be_viewed(layer, given):
    z = layer(given)

    assert z.is_contiguous()
    assert z.view(2, -1).shape == (2, z.numel() // 2)


WRITTEN_OVER = [
    nn.BatchNorm1d(2, affine=False), nn.LayerNorm(2, elementwise_affine=False), nn.MaxPool1d(2, 1),
    nn.AvgPool1d(2, 1), nn.AdaptiveMaxPool1d(1), nn.Linear(2, 3),
]  # fmt: skip


@pytest.mark.parametrize("layer", WRITTEN_OVER, ids=repr)
def test_relu_may_write_over_what_a_layer_gives(layer):
    x = minigrad.tensor([[1.0, 4.0], [-2.0, 0.0]], requires_grad=True)

    (expected,) = minigrad.autograd.grad((layer(x).relu() ** 2).sum(), x)
    (gradient,) = minigrad.autograd.grad((nn.ReLU(inplace=True)(layer(x)) ** 2).sum(), x)

    assert_close(gradient, expected)


def test_batches_are_not_counted_when_they_are_not_tracked():
    norm = nn.BatchNorm1d(2)
    norm.track_running_stats = False

    norm(minigrad.ones(3, 2))

    assert norm.num_batches_tracked == 0


def test_transposed_convolution_reaches_the_size_that_is_asked():
    layer = nn.ConvTranspose2d(1, 1, 3, stride=2, padding=1)

    assert layer(minigrad.ones(1, 1, 3, 3), output_size=(6, 5)).shape == (1, 1, 6, 5)
    assert layer(minigrad.ones(1, 1, 3, 3), output_size=[1, 1, 5, 6]).shape == (1, 1, 5, 6)
    with pytest.raises(ValueError, match=r"requested an output size of \[9, 9\]"):
        layer(minigrad.ones(1, 1, 3, 3), output_size=(9, 9))


def test_weights_of_a_type():
    for make in (nn.Linear, nn.RNNCell, nn.LSTM):
        assert {p.dtype for p in make(2, 3, dtype=minigrad.float64).parameters()} == {
            np.dtype("float64")
        }


def test_a_small_network_learns_xor():
    minigrad.manual_seed(3)
    net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    x, y = tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]), tensor([[0.0], [1], [1], [0]])
    loss_of = nn.BCEWithLogitsLoss()
    for _ in range(400):
        net.zero_grad()
        loss = loss_of(net(x), y)
        loss.backward()
        with minigrad.no_grad():
            for p in net.parameters():
                p -= p.grad

    assert loss.item() < 0.05
    assert ((net(x) > 0) == y.bool()).all()


def test_a_model_can_be_saved_and_loaded(tmp_path):
    net, other = (nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)) for _ in range(2))
    minigrad.save(net.state_dict(), tmp_path / "net.npz")
    other.load_state_dict(minigrad.load(tmp_path / "net.npz"))
    x = minigrad.ones(4, 2)

    assert (net.eval()(x) == other.eval()(x)).all()


def test_parameters_in_shared_memory():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    weight = net[0].weight

    assert net.share_memory() is net and net[0].weight is weight
    assert all(t.is_shared() for t in (*net.parameters(), *net.buffers()))
    net(minigrad.ones(2, 2)).sum().backward()
    assert weight.grad is not None


def test_every_public_name_of_nn_has_a_docstring():
    for name in nn.__all__:
        assert getattr(nn, name).__doc__, name


def test_instance_norm_moves_its_running_statistics():
    x = minigrad.arange(12.0).reshape(2, 2, 3)
    mean, variance = minigrad.zeros(2), minigrad.ones(2)
    z = minigrad.nn.functional.instance_norm(x, mean, variance, momentum=0.1)

    # the channels' means are 1, 4 and 7, 10; their unbiased variances are 1
    np.testing.assert_allclose(mean, [0.4, 0.7], rtol=1e-6)
    np.testing.assert_allclose(variance, [1, 1], rtol=1e-6)
    assert abs(z.mean().item()) < 1e-6
    with pytest.raises(ValueError, match="either both be None or neither"):
        minigrad.nn.functional.batch_norm(x, mean, None, training=True)


def test_a_module_may_register_a_buffer_on_the_sequential_that_runs_it():
    class Counts(nn.Module):
        def forward(self, x):
            model.register_buffer("calls", minigrad.ones(1))
            return x

    model = nn.Sequential(Counts(), nn.ReLU())

    assert model(minigrad.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0] and model.calls.item() == 1


def test_prelu_as_a_method_takes_one_weight_for_each_channel():
    x, weight = minigrad.arange(18.0).reshape(2, 3, 3) - 9, minigrad.tensor([0.1, 0.2, 0.3])

    assert x.prelu(weight).tolist() == F.prelu(x, weight).tolist()
    np.testing.assert_allclose(x.prelu(weight)[0, :, 0], [-0.9, -1.2, -0.9], rtol=1e-6)
    with pytest.raises(RuntimeError, match="channel size = 3"):
        x.prelu(minigrad.ones(2))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_bytes_of_an_image_are_resized_as_numbers_and_rounded(mode):
    image = minigrad.tensor([[[[0, 100, 255], [50, 200, 10]]]], dtype=minigrad.uint8)

    small = F.interpolate(image, size=(2, 2), mode=mode)
    exact = F.interpolate(image.float(), size=(2, 2), mode=mode).clamp(0, 255)

    assert small.dtype == minigrad.uint8
    assert (small.float() - exact).abs().max() <= 1
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        F.interpolate(image.long(), size=(2, 2), mode=mode)


@pytest.mark.parametrize(
    "resized",
    [
        lambda x: F.adaptive_avg_pool1d(x, 3),
        lambda x: F.interpolate(x, size=3, mode="area"),
        lambda x: F.interpolate(x, size=4, mode="linear"),
        lambda x: F.interpolate(x[:, None], size=(1, 4), mode="bicubic")[0],
        lambda x: F.adaptive_avg_pool2d(x.mT[None], (3, 1))[0].mT,
    ],
)
def test_an_infinity_reaches_only_what_is_made_of_it(resized):
    x = minigrad.zeros(1, 1, 9, requires_grad=True)
    infinite = minigrad.zeros(9)
    infinite[-1] = np.inf

    z = resized(x + infinite)
    (dx,) = minigrad.autograd.grad(z[0, 0, 0], x)

    assert z[0, 0, 0] == 0 and not z[0, 0, -1].isfinite()
    assert dx[0, 0, 0] != 0 and dx[0, 0, -1] == 0


def test_what_is_outside_of_an_image_is_zero_beside_an_infinite_pixel():
    image, grid = minigrad.full((1, 1, 2, 2), np.inf), minigrad.full((1, 1, 1, 2), 3.0)

    assert F.grid_sample(image, grid, align_corners=False) == 0


def test_a_nearest_pixel_at_infinity_is_outside_of_the_image():
    grid = minigrad.full((1, 1, 1, 2), np.inf)

    assert F.grid_sample(minigrad.ones(1, 1, 2, 2), grid, "nearest", align_corners=False) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    "how", [{}, {"reduction": "sum"}, {"weight": minigrad.ones(3)}, {"label_smoothing": 0.1}]
)
def test_the_scores_of_an_ignored_example_do_not_matter(bad, how):
    x, t = minigrad.tensor([[1.0, 2.0, 3.0], [bad, bad, bad]]), minigrad.tensor([2, -100])

    assert F.cross_entropy(x, t, **how) == F.cross_entropy(x[:1], t[:1], **how)
    assert F.cross_entropy(x, t, reduction="none")[1] == 0
    assert F.nll_loss(x, t) == F.nll_loss(x[:1], t[:1])


def test_the_greatest_of_what_is_scattered_is_nan_if_any_is():
    x, source = minigrad.zeros(2), minigrad.tensor([np.nan, 5.0, 1.0])
    z = x.scatter_reduce(0, minigrad.tensor([0, 1, 1]), source, "amax")

    assert np.isnan(z[0].item()) and z[1].item() == 5
    with pytest.raises(RuntimeError, match="0-dimension value tensor"):
        x.fill_(source)


def test_a_layer_of_a_function_is_a_row():

    leaky = nn.LeakyReLU(0.2)

    assert str(inspect.signature(nn.LeakyReLU)).startswith("(negative_slope: float = 0.01, inplace")
    assert "leaky_relu(input, negative_slope=self.negative_slope" in inspect.getsource(
        leaky.forward
    )
    assert leaky.forward.__qualname__ == "LeakyReLU.forward"
    assert leaky(input=tensor([-1.0])).tolist() == pytest.approx([-0.2])
    assert pickle.loads(pickle.dumps(leaky)).negative_slope == 0.2
    assert nn.LeakyReLU.__doc__ == F.leaky_relu.__doc__
    assert not hasattr(nn.LeakyReLU, "negative_slope")
    with pytest.raises(TypeError, match=r"Threshold.__init__\(\) missing 1 required .* 'value'"):
        nn.Threshold(0.1)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        nn.GaussianNLLLoss(True)


def test_a_users_subclass_of_a_layer_is_an_ordinary_class():
    class Scaled(nn.ReLU):
        factor: float = 2.0

        def forward(self, input):
            return self.factor * super().forward(input)

    class Noted(nn.Dropout):
        note: str

        def __init__(self, note):
            super().__init__(p=0.25)
            self.note = note

    assert Scaled()(tensor([-1.0, 3.0])).tolist() == [0.0, 6.0]
    assert Scaled.factor == 2.0
    assert repr(Noted("here")) == "Noted(p=0.25, inplace=False)"


@pytest.mark.parametrize("kind", ["LazyBatchNorm1d", "LazyBatchNorm2d"])
def test_a_lazy_batch_norm_keeps_its_dtype(kind):
    layer = getattr(nn, kind)(dtype=minigrad.float64)
    shape = (4, 3) if kind.endswith("1d") else (4, 3, 2, 2)
    assert layer(minigrad.randn(*shape, dtype=minigrad.float64)).dtype == minigrad.float64
    assert layer.running_mean.dtype == layer.running_var.dtype == minigrad.float64


def test_a_lazy_batch_norm_takes_its_size_from_a_state():
    x, norm = minigrad.randn(4, 3), nn.BatchNorm1d(3)
    norm(x)
    layer = nn.LazyBatchNorm1d()

    layer.load_state_dict(norm.state_dict())

    assert repr(nn.LazyBatchNorm1d().running_var) == "<UninitializedBuffer>"
    assert_close(layer.eval()(x).detach(), norm.eval()(x).detach())


def test_scaling_rows_to_max_norm_leaves_their_tangents():
    from minigrad.autograd import forward_ad

    weight = minigrad.ones(2, 2) * 3
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(weight, minigrad.ones(2, 2))
        z = F.embedding(tensor([0]), dual, max_norm=1.0)

        assert forward_ad.unpack_dual(z).tangent.tolist() == [[1.0, 1.0]]
        assert weight[1].tolist() == [3.0, 3.0] and abs(weight[0].norm().item() - 1) < 1e-6


def test_loading_a_state_leaves_no_cycles_for_the_garbage_collector():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    state = net.state_dict()
    gc.collect()
    gc.disable()
    try:
        net.load_state_dict(state)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_a_class_of_ones_own_may_be_lazy():
    from minigrad.nn.modules.lazy import LazyModuleMixin

    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.parameter.UninitializedParameter()
            self.calls = 0

        def initialize_parameters(self, x, factor):
            self.calls += 1
            self.weight.materialize(x.shape[-1])
            nn.init.constant_(self.weight, factor)

        def forward(self, x, factor):
            return self.weight * x

    layer = Scale()
    assert layer.has_uninitialized_params()
    assert [layer(minigrad.ones(2), factor=3.0).tolist() for _ in range(2)] == [[3.0, 3.0]] * 2
    assert not layer.has_uninitialized_params() and layer.calls == 1


def test_the_state_of_a_lazy_layer_has_no_shapes():
    from minigrad.nn.parameter import is_lazy

    layer = nn.LazyBatchNorm1d()
    state = layer.state_dict()

    assert all(map(is_lazy, [state["weight"], state["running_mean"]]))
    assert not layer.load_state_dict(state).missing_keys and is_lazy(layer.running_var)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert is_lazy(twin.weight) and is_lazy(twin.running_mean)
        assert type(twin(minigrad.ones(4, 3))) is minigrad.Tensor and type(twin) is nn.BatchNorm1d
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        nn.BatchNorm1d(3).load_state_dict(state)
    with pytest.raises(RuntimeError, match="share memory on an uninitialized"):
        layer.share_memory()
    for norm in (nn.utils.weight_norm, nn.utils.spectral_norm):
        with (
            pytest.raises(ValueError, match="can't have uninitialized parameters"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            norm(layer)


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_a_table_refuses_a_padding_idx_outside_of_it(kind):
    assert kind(3, 2, padding_idx=-1).padding_idx == 2
    with pytest.raises(AssertionError, match="within num_embeddings"):
        kind(3, 2, padding_idx=3)


def test_float16_is_normalized_in_float32():
    x = tensor([2.1211, 2.0918], dtype=minigrad.float16)

    z = F.layer_norm(x, (2,))

    assert z.dtype == minigrad.float16
    assert_close(z.array, [0.9775, -0.9775], atol=1e-3)
    assert_close(F.group_norm(x[None], 1).array, [[0.9775, -0.9775]], atol=1e-3)


@pytest.mark.parametrize("values", [[300.0, 400.0], [1e-3, 2e-3]])
def test_the_root_mean_square_of_float16_neither_overflows_nor_vanishes(values):
    x = tensor(values, dtype=minigrad.float16)

    z = F.rms_norm(x, (2,))

    assert z.dtype == minigrad.float16
    assert_close(z.array, F.rms_norm(x.float(), (2,)).array, rtol=1e-3)


def test_dropout_of_channels_refuses_an_input_without_channels():
    with pytest.raises(RuntimeError, match="Expected 2D or 3D input, but received a 1D input"):
        F.dropout1d(minigrad.ones(3))
    with pytest.warns(UserWarning, match="Received a 2-D input to dropout2d"):
        F.dropout2d(minigrad.ones(3, 2))


def test_weight_norm_has_second_derivatives():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)).double()
    names = [name for name, _ in layer.named_parameters()]
    x = minigrad.randn(4, 2, dtype=minigrad.float64)

    def loss(*params):
        return minigrad.func.functional_call(layer, dict(zip(names, params)), x).pow(3).sum()

    params = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    assert minigrad.autograd.gradgradcheck(loss, params)


def test_a_state_of_the_older_weight_norm_is_loaded_by_the_newer_one():
    with pytest.warns(FutureWarning):
        older = nn.Sequential(nn.utils.weight_norm(nn.Linear(2, 3)))
    newer = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 3)))
    newer.load_state_dict(older.state_dict())
    x = minigrad.randn(4, 2)

    assert_close(newer(x).array, older(x).array, rtol=1e-6)  # float32


def test_a_write_by_apply_to_parameters_is_seen_by_the_backward_pass():
    layer = nn.Linear(2, 2)
    z = (layer.weight * layer.weight).sum()
    layer._apply(lambda x: x.add_(1))

    with pytest.raises(RuntimeError, match="changed since"):
        z.backward()


def test_a_layer_of_a_function_can_be_declared_in_a_notebook():
    notebook = {"__name__": "__main__", "FunctionLayer": FunctionLayer, "F": F}
    exec("class Leaky(FunctionLayer, of=F.leaky_relu):\n    'A layer.'", notebook)

    layer = notebook["Leaky"](0.5)

    assert repr(layer) == "Leaky(negative_slope=0.5)" and layer(tensor([-2.0])).item() == -1


def test_functions_of_one_axis_and_of_two_have_their_own_names_and_signatures():
    one, two = inspect.signature(F.max_pool1d), inspect.signature(F.max_pool2d)

    assert one == two and "axes" not in one.parameters
    assert (F.max_pool1d.__name__, F.max_pool2d.__name__) == ("max_pool1d", "max_pool2d")


def test_the_huber_loss_is_quadratic_up_to_a_delta_of_1_by_default():
    loss = nn.HuberLoss(reduction="none")

    assert loss(minigrad.tensor([0.5, 3.0]), minigrad.zeros(2)).tolist() == [0.125, 2.5]


def test_a_conversion_to_double_precision_does_not_call_a_module_s_own_to():
    class Moved(nn.Linear):
        def to(self, device):
            raise AssertionError("called")

    layer = nn.Sequential(Moved(2, 2))

    assert layer.double()[0].weight.dtype == minigrad.float64
    assert layer[0].half().float().weight.dtype == minigrad.float32
