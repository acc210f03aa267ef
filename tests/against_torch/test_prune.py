"""Pruning, normed weights, hooks on several gradients, gradient edges: the same numbers as in PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

pytest.importorskip("torch.nn.utils.prune")

import minigrad
import minigrad.nn.utils.prune

METHODS = {
    "smallest": lambda p, layer, name: p.l1_unstructured(layer, name, amount=0.3),
    "three": lambda p, layer, name: p.l1_unstructured(layer, name, amount=3),
    "any": lambda p, layer, name: p.random_unstructured(layer, name, amount=0.5),
    "rows": lambda p, layer, name: p.ln_structured(layer, name, amount=1, n=2, dim=0),
    "columns": lambda p, layer, name: p.ln_structured(layer, name, amount=0.5, n=float("inf"), dim=1),
    "any row": lambda p, layer, name: p.random_structured(layer, name, amount=1, dim=0),
    "nothing": lambda p, layer, name: p.identity(layer, name),
}  # fmt: skip


def layer_of(m):
    m.manual_seed(3)
    layer = m.nn.Linear(4, 3)
    return layer


def pruned(m, methods):
    layer = layer_of(m)
    for method in methods:
        METHODS[method](m.nn.utils.prune, layer, "weight")
    layer(m.ones(2, 4)).square().sum().backward()
    prune = m.nn.utils.prune
    found = [sorted(layer.state_dict()), prune.is_pruned(layer), sorted(n for n, _ in layer.named_parameters())]  # fmt: skip
    arrays = [layer.weight_mask, layer.weight, layer.weight_orig.grad]
    prune.remove(layer, "weight")
    return [*found, sorted(layer.state_dict())], [
        x.detach().numpy() for x in [*arrays, layer.weight]
    ]


@pytest.mark.parametrize("methods", [
    ["smallest"], ["three"], ["any"], ["rows"], ["columns"], ["any row"], ["nothing"],
    ["smallest", "smallest"], ["any", "any"], ["rows", "three"], ["rows", "rows"],
], ids="-".join)  # fmt: skip
def test_masks_weights_and_gradients_are_pytorchs(methods):
    said, arrays = pruned(minigrad, methods)
    expected, theirs = pruned(torch, methods)
    assert said == expected
    for ours, right in zip(arrays, theirs, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-5, atol=1e-6)


def test_a_class_of_ones_own_chooses_what_is_pruned():
    def found(m):
        prune = m.nn.utils.prune

        class EveryOther(prune.BasePruningMethod):
            PRUNING_TYPE = "unstructured"

            def compute_mask(self, t, default_mask):
                mask = default_mask.clone()
                mask.view(-1)[::2] = 0
                return mask

        layer = layer_of(m)
        EveryOther.apply(layer, "weight")
        prune.ln_structured(layer, "weight", amount=1, n=2, dim=0)
        EveryOther.apply(layer, "weight")
        (hook,) = layer._forward_pre_hooks.values()
        kinds = [type(method).__name__ for method in hook]
        before = (hook._tensor_name, len(hook), kinds, layer.weight_mask.tolist())
        with pytest.raises(TypeError, match="is not a BasePruningMethod subclass"):
            hook.add_pruning_method(10)
        with pytest.raises(
            ValueError, match="Can only add pruning methods acting on the parameter"
        ):
            other = prune.Identity()
            other._tensor_name = "bias"
            hook.add_pruning_method(other)
        prune.remove(layer, "weight")
        return before, layer.weight.tolist(), list(layer.state_dict())

    assert found(minigrad) == found(torch)


def test_removal_keeps_the_parameter_that_an_optimizer_has():
    def found(m):
        layer, prune = layer_of(m), m.nn.utils.prune
        weight = layer.weight
        prune.l1_unstructured(layer, "weight", amount=3)
        optimizer = m.optim.SGD(layer.parameters(), lr=0.1)
        layer(m.ones(2, 4)).square().sum().backward()
        prune.remove(layer, "weight")
        assert layer.weight is weight
        optimizer.step()
        return weight.grad.tolist(), layer.weight.tolist(), layer.weight.is_leaf

    np.testing.assert_allclose(
        *[np.hstack([np.ravel(x) for x in found(m)]) for m in (minigrad, torch)], rtol=1e-5
    )


def test_a_method_prunes_a_tensor():
    def found(m):
        x, scores = m.tensor([[1.0, -2.0], [3.0, 4.0]]), m.tensor([[9.0, 8.0], [7.0, 6.0]])
        smallest = m.nn.utils.prune.L1Unstructured(amount=2)
        rows = m.nn.utils.prune.LnStructured(1, n=1, dim=0)
        ways = (smallest.prune(x), smallest.prune(x, importance_scores=scores), rows.prune(x))
        return [z.tolist() for z in ways]

    assert found(minigrad) == found(torch)


def test_a_mask_gets_the_dtype_of_the_weight():
    def found(m):
        prune = m.nn.utils.prune
        layer = m.nn.Linear(2, 2).double()
        prune.custom_from_mask(layer, "weight", m.tensor([[1, 0], [1, 1]]))
        prune.l1_unstructured(layer, "weight", 1)
        smallest = prune.PruningContainer()
        smallest._tensor_name = "test"
        method = prune.L1Unstructured(1)
        method._tensor_name = "test"
        smallest.add_pruning_method(method)
        mask = smallest.compute_mask(m.tensor([1.0, 2.0, 3.0]), m.tensor([1, 1, 0]))
        return [str(x.dtype).partition(".")[2] for x in (layer.weight_mask, mask)], mask.tolist()

    assert found(minigrad) == found(torch)


@pytest.mark.parametrize("method", ["L1Unstructured", "RandomUnstructured"])
def test_several_weights_are_pruned_together(method):
    def masks(m):
        m.manual_seed(1)
        layers = [m.nn.Linear(3, 2), m.nn.Linear(2, 4)]
        prune = m.nn.utils.prune
        pairs = [(x, "weight") for x in layers]
        for amount in (0.4, 2):
            prune.global_unstructured(pairs, getattr(prune, method), amount=amount)
        return [x.weight_mask.numpy().tolist() for x in layers]

    assert masks(minigrad) == masks(torch)


@pytest.mark.parametrize("amount, error", [(1.5, ValueError), (-1, ValueError), ("a", TypeError), (99, ValueError)])  # fmt: skip
def test_an_amount_that_makes_no_sense_is_refused(amount, error):
    for m in (minigrad, torch):
        with pytest.raises(error):
            m.nn.utils.prune.l1_unstructured(layer_of(m), "weight", amount)
    with pytest.raises(ValueError, match="has to be pruned before"):
        minigrad.nn.utils.prune.remove(layer_of(minigrad), "weight")


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_hook_on_several_tensors_is_called_once_in_each_pass(mode):
    def calls(m):
        seen = []
        a, b, c = (m.full((2,), v).requires_grad_() for v in (1.0, 2.0, 3.0))
        hook = m.autograd.graph.register_multi_grad_hook((a, b, c), seen.append, mode=mode)
        y = a * b
        (y.sum() * 2).backward(retain_graph=True)
        (y * c).sum().backward(inputs=[a, c], retain_graph=True)
        y.sum().backward(inputs=[b], retain_graph=True)
        hook.remove()
        y.sum().backward()
        listed = lambda g: None if g is None else g.tolist()
        return [[listed(g) for g in s] if isinstance(s, list | tuple) else s.tolist() for s in seen]

    ours = calls(minigrad)
    assert len(ours) == 3 and (mode == "any" or ours == calls(torch))


def test_a_gradient_is_asked_for_by_its_edge():
    def found(m):
        x = m.tensor([3.0, 1.0, 2.0], requires_grad=True)
        values, _ = x.sort()
        y = x * 2
        edges = [m.autograd.graph.get_gradient_edge(t) for t in (x, y, values)]
        z = (y * y).sum() + (values * 3).sum()
        return [g.tolist() for g in m.autograd.grad(z, edges)], [e.output_nr for e in edges]

    assert found(minigrad) == found(torch)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_normed_weights_have_the_numbers_of_the_newer_functions(name):
    def found(m):
        layer = getattr(m.nn.utils.parametrizations, name)(layer_of(m))
        first = layer.weight.detach().numpy().copy()
        outputs = [layer(m.ones(2, 4)) for _ in range(2)]
        outputs[1].square().sum().backward()
        grads = sorted(float(p.grad.sum()) for p in layer.parameters())
        return [first, *(y.detach().numpy() for y in outputs), np.array(grads)]

    for ours, right in zip(found(minigrad), found(torch), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-5)


def test_what_is_left_out_beside_them_says_what_to_do():
    with pytest.raises(NotImplementedError, match="register_parametrization"):
        minigrad.nn.utils.parametrizations.orthogonal(layer_of(minigrad))
