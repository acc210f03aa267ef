"""Small programs in the manner of university courses: run with each library, they print the same."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import minigrad

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")


def agree(program):
    """The numbers that the program gives are the same; single precision, a few steps."""
    theirs, ours = program(torch), program(minigrad)
    np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_reinforce_with_a_categorical_policy():
    def program(torch):
        torch.manual_seed(0)
        policy = torch.nn.Sequential(
            torch.nn.Linear(4, 16), torch.nn.Dropout(0.2), torch.nn.ReLU(), torch.nn.Linear(16, 2)
        )
        optimizer, state, printed = (
            torch.optim.Adam(policy.parameters(), lr=1e-2),
            torch.zeros(4),
            [],
        )
        for _ in range(3):
            log_probs, rewards = [], []
            for _ in range(6):
                action = (choice := torch.distributions.Categorical(logits=policy(state))).sample()
                log_probs.append(choice.log_prob(action) + 0.01 * choice.entropy())
                state = state * 0.9 + torch.randn(4) * 0.1 + (action.item() - 0.5)
                rewards.append(-state.pow(2).sum().item())
            returns = torch.tensor(np.cumsum(rewards[::-1])[::-1].copy(), dtype=torch.float32)
            returns = (returns - returns.mean()) / (returns.std() + torch.finfo(torch.float32).eps)
            loss = -(torch.stack(log_probs) * returns).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            printed += [loss.item(), *rewards]
        return printed

    agree(program)


def test_a_variational_autoencoder():
    def program(torch):
        F, d = torch.nn.functional, torch.distributions
        torch.manual_seed(1)
        encode, decode = torch.nn.Linear(12, 6), torch.nn.Linear(3, 12)
        data = (torch.rand(32, 12) > 0.6).float()
        adam, printed = torch.optim.Adam([*encode.parameters(), *decode.parameters()], 1e-2), []
        for _ in range(2):
            for (x,) in torch.utils.data.DataLoader(
                torch.utils.data.TensorDataset(data), 16, shuffle=True
            ):
                mean, log_var = encode(x).chunk(2, 1)
                q = d.Normal(mean, (log_var / 2).exp())
                loss = F.binary_cross_entropy_with_logits(decode(q.rsample()), x, reduction="sum")
                loss = (
                    loss
                    + d.kl_divergence(
                        q, d.Normal(torch.zeros_like(mean), torch.ones_like(mean))
                    ).sum()
                )
                adam.zero_grad()
                loss.backward()
                adam.step()
                printed.append(loss.item())
        return printed

    agree(program)


def test_translation_by_a_transformer():
    def program(torch):
        torch.manual_seed(0)
        nn = torch.nn
        embed, model, out = (
            nn.Embedding(12, 16, padding_idx=0),
            nn.Transformer(16, 2, 1, 1, 32),
            nn.Linear(16, 12),
        )
        adam = torch.optim.Adam([p for m in (embed, model, out) for p in m.parameters()], lr=1e-2)
        src = torch.randint(1, 12, (6, 4))
        src[4:, :2] = 0
        tgt, printed = torch.cat([torch.full((1, 4), 11), src.flip(0)[2:]]), []
        padding = (src == 0).T
        for _ in range(3):
            mask = nn.Transformer.generate_square_subsequent_mask(4)
            z = model(embed(src) * math.sqrt(16), embed(tgt[:-1]), tgt_mask=mask,
                      src_key_padding_mask=padding, memory_key_padding_mask=padding)  # fmt: skip
            loss = nn.functional.cross_entropy(
                out(z).reshape(-1, 12), tgt[1:].reshape(-1), ignore_index=0, label_smoothing=0.1
            )
            adam.zero_grad()
            loss.backward()
            adam.step()
            printed.append(loss.item())
        return printed

    agree(program)


@pytest.mark.filterwarnings("ignore:(Sparse invariant|torch.sparse.SparseTensor):UserWarning")
def test_a_graph_network_with_a_sparse_matrix():
    def program(torch):
        torch.manual_seed(0)
        edges, weights = torch.randint(0, 9, (2, 30)), torch.rand(30, requires_grad=True)
        A = torch.sparse_coo_tensor(edges, weights, (9, 9))
        D = torch.diag(torch.rand(9)).to_sparse()
        x, y = torch.rand(9, 5), torch.randint(0, 3, (9,))
        first, second = torch.nn.Linear(5, 4), torch.nn.Linear(4, 3)
        adam, printed = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.1), []
        older = torch.sparse.FloatTensor(edges, weights.detach(), torch.Size([9, 9]))
        for _ in range(3):
            h = torch.spmm(D @ x.new_ones(9, 9) / 9, first(x)).relu()
            z = torch.sparse.mm(A, second(h)) + torch.spmm(older, second(h))
            loss = torch.nn.functional.cross_entropy(z, y)
            adam.zero_grad()
            loss.backward(retain_graph=True)
            adam.step()
            printed.append(loss.item())
        return [*printed, *weights.grad.tolist(), *A.to_dense().flatten().tolist()]

    agree(program)


@pytest.mark.parametrize(
    "size, n", [((2, 2), 3), ((1, 3), 3), ((2, 3), 2)], ids=["narrow", "short", "fewer values"]
)
def test_a_sparse_matrix_that_does_not_fit_is_refused(size, n):
    for m in (torch, minigrad):
        places = m.tensor([[0, 1, 1], [2, 0, 2]])
        with pytest.raises(RuntimeError):
            m.sparse_coo_tensor(places, m.ones(n), size, check_invariants=True)


def test_a_differential_equation_by_lbfgs():
    def program(torch):
        torch.manual_seed(3)
        nn, grad = torch.nn, torch.autograd.grad
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1)).double()
        x = torch.linspace(0, torch.pi, 9, dtype=torch.float64).view(-1, 1).requires_grad_()
        lbfgs = torch.optim.LBFGS(net.parameters(), max_iter=8, line_search_fn="strong_wolfe")

        def closure():
            lbfgs.zero_grad()
            u = net(x)
            (du,) = grad(u, x, torch.ones_like(u), create_graph=True)
            (ddu,) = grad(du, x, torch.ones_like(du), create_graph=True)
            loss = ((ddu + torch.sin(x)) ** 2).mean() + (u[0] ** 2 + u[-1] ** 2).sum()
            loss.backward()
            return loss

        return [lbfgs.step(closure).item() for _ in range(3)]

    agree(program)


def test_a_gan_with_a_gradient_penalty():
    def program(torch):
        torch.manual_seed(5)
        nn = torch.nn
        critic = nn.Sequential(
            nn.utils.spectral_norm(nn.Conv2d(1, 8, 4, 2, 1)),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Flatten(),
            nn.Linear(32, 1),
        )
        adam, printed = torch.optim.Adam(critic.parameters(), 1e-3, betas=(0.5, 0.999)), []
        for _ in range(3):
            real, fake = torch.rand(8, 1, 4, 4), torch.randn(8, 1, 4, 4)
            share = torch.rand(8, 1, 1, 1)
            mixed = (share * real + (1 - share) * fake).requires_grad_()
            (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
            penalty = ((slope.view(8, -1).norm(2, dim=1) - 1) ** 2).mean()
            loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
            adam.zero_grad()
            loss.backward()
            adam.step()
            printed.append(loss.item())
        x = mixed.detach().requires_grad_()
        critic(x).sum().backward()
        return [*printed, x.grad.view(8, -1).abs().sum().item()]

    agree(program)


def test_meta_learning_through_a_step_of_learning():
    def program(torch):
        torch.manual_seed(4)
        nn, F, call = torch.nn, torch.nn.functional, torch.func.functional_call
        net = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1))
        adam, printed = torch.optim.Adam(net.parameters(), 1e-2), []
        for _ in range(3):
            x, new = torch.rand(10, 1) * 10 - 5, torch.rand(10, 1) * 10 - 5
            params = dict(net.named_parameters())
            inner = F.mse_loss(call(net, params, x), torch.sin(x))
            grads = torch.autograd.grad(inner, list(params.values()), create_graph=True)
            params = {k: p - 0.01 * g for (k, p), g in zip(params.items(), grads, strict=True)}
            loss = F.mse_loss(call(net, params, new), torch.sin(new))
            adam.zero_grad()
            loss.backward()
            adam.step()
            printed.append(loss.item())
        return printed

    agree(program)
