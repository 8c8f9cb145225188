"""Heads: losses, gradients and their backward against plain PyTorch, without ever holding T x V numbers."""

import pytest
import torch

import fwl
import twin
from fast_cases import assert_close


def adaptive_head(width=6, vocabulary=23, div_val=2, dtype=torch.float64):
    torch.manual_seed(0)
    head = fwl.AdaptiveSoftmaxHead.create(width, vocabulary, [7, 15], div_val=div_val, block_bytes=1).to(dtype)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return head


def softmax_head(width=6, vocabulary=23, dtype=torch.float64, bias=True):
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(vocabulary, width, dtype=dtype))
    return fwl.SoftmaxHead(weight, torch.nn.Parameter(torch.randn(vocabulary, dtype=dtype)) if bias else None,
                           block_bytes=1)


def plain_nll(head, y, targets):
    if isinstance(head, fwl.AdaptiveSoftmaxHead):
        def of_each(name):
            return [getattr(head, f"{name}_{k}") for k in range(head.clusters)]
        return twin.adaptive_nll(y, targets, of_each("weight"), of_each("bias"), of_each("projection"),
                                 head.cluster_weight, head.cluster_bias)
    return twin.softmax_nll(y, targets, head.weight, head.bias)


HEADS = {"softmax": softmax_head, "softmax without bias": lambda: softmax_head(bias=False),
         "adaptive": adaptive_head, "adaptive, div_val 1": lambda: adaptive_head(div_val=1)}


@pytest.mark.parametrize("kind", HEADS)
def test_losses_gradients_and_their_backward_equal_plain_pytorch(kind):
    head = HEADS[kind]()
    y = torch.randn(37, 6, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 23, (37,))
    inputs = [y, *head.parameters()]
    expected = plain_nll(head, y, targets)
    expected_dy = torch.autograd.grad(expected.sum(), y, create_graph=True)[0]
    loss, dy = head.nll_and_grad(y, targets)
    assert_close(loss, expected, 1e-12, "loss")
    assert_close(dy, expected_dy, 1e-12, "gradient")
    assert_close(head.nll(y, targets), expected, 1e-12, "nll")
    probe, upstream = torch.randn_like(dy), torch.randn_like(loss)
    for mine, theirs in ((loss * upstream).sum(), (expected * upstream).sum()), \
            ((dy * probe).sum(), (expected_dy * probe).sum()), \
            (head.nll(y, targets).mean(), expected.mean()), \
            ((head.nll(y, targets) * upstream).sum(), (expected * upstream).sum()):
        for actual, wanted in zip(torch.autograd.grad(mine, inputs, retain_graph=True, allow_unused=True),
                                  torch.autograd.grad(theirs, inputs, retain_graph=True, allow_unused=True)):
            if wanted is not None:
                assert_close(actual, wanted, 1e-11, "backward")
    logits = head.logits(y)
    assert_close(torch.nn.functional.cross_entropy(logits, targets, reduction="none"), expected, 1e-12, "logits")


def test_a_second_backward_gives_the_same_gradients_as_the_first():
    head = softmax_head()
    y, targets = torch.randn(9, 6, dtype=torch.float64, requires_grad=True), torch.randint(0, 23, (9,))
    loss = head.nll(y, targets).mean()
    first, second = (torch.autograd.grad(loss, [y, head.weight, head.bias], retain_graph=True) for _ in range(2))
    for before, after in zip(first, second):
        assert_close(after, before, 1e-13, "second backward")


def test_losses_in_single_precision_are_exact_for_large_vocabularies_and_extreme_logits():
    torch.manual_seed(1)
    weight, y = torch.randn(5003, 16), torch.randn(130, 16) * torch.linspace(0.01, 30, 130).unsqueeze(1)
    targets = torch.randint(0, 5003, (130,))
    loss, dy = fwl.SoftmaxHead(weight, None).nll_and_grad(y, targets)
    expected = torch.nn.functional.cross_entropy(y.double() @ weight.double().T, targets, reduction="none")
    assert ((loss - expected).abs() <= 2e-6 * expected.abs().clamp(min=1)).all()
    p = torch.softmax(y.double() @ weight.double().T, 1)
    assert_close(dy.double(), p @ weight.double() - weight[targets].double(), 1e-5, "gradient")


def test_skipping_negligible_probabilities_changes_little_and_its_error_is_known():
    torch.manual_seed(2)
    vocabulary = 4096
    frequency = -1.6 * torch.arange(1, vocabulary + 1).log()  # Zipf: a few words carry nearly everything
    weight, y = torch.randn(vocabulary, 32) * 0.2, torch.randn(64, 32)
    targets = torch.multinomial(frequency.exp(), 64, replacement=True)
    exact = fwl.SoftmaxHead(weight, frequency)
    skipping = fwl.SoftmaxHead(weight, frequency, skip_probability_below=2**-12)
    (loss, dy), (skipped_loss, skipped_dy) = exact.nll_and_grad(y, targets), skipping.nll_and_grad(y, targets)
    torch.testing.assert_close(loss, skipped_loss, rtol=1e-6, atol=1e-6)
    error = (dy - skipped_dy).norm() / dy.norm()
    assert 0 < error < 0.05


@pytest.mark.parametrize("kind", HEADS)
def test_bias_only_fast_weights_equal_plain_pytorch_and_continue_from_their_state(kind):
    head = HEADS[kind]()
    y = torch.randn(2, 29, 6, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(0, 23, (2, 29))
    module = fwl.BiasOnly(0.05).double()
    out = module(y, targets, head)
    assert_close(out.slow_nll, plain_nll(head, y, targets), 1e-12, "slow nll")
    inputs = [y, module.log_step_size, *head.parameters()]
    if kind == "softmax":
        expected = twin.bias_only(y, targets, head.weight, head.bias, module.log_step_size.exp())
        assert_close(out.fast_nll, expected[1], 1e-12, "fast nll")
        upstream = torch.randn_like(expected[1])
        for actual, wanted in zip(torch.autograd.grad((out.fast_nll * upstream + out.slow_nll).sum(), inputs),
                                  torch.autograd.grad((expected[1] * upstream + expected[0]).sum(), inputs)):
            assert_close(actual, wanted, 1e-11, "backward")
    first = module(y[:, :10], targets[:, :10], head)
    second = module(y[:, 10:], targets[:, 10:], head, state=first.state)
    assert_close(torch.cat([first.fast_nll, second.fast_nll], 1), out.fast_nll, 1e-12, "continued")
    assert (out.fast_nll - out.slow_nll).abs().max() > 1e-3


def test_the_gradients_of_adaptive_bias_only_fast_weights_equal_finite_differences():
    head = adaptive_head(width=4, vocabulary=20)
    y = torch.randn(1, 6, 4, dtype=torch.float64, requires_grad=True)
    targets, module = torch.tensor([[1, 8, 17, 8, 2, 18]]), fwl.BiasOnly(0.3).double()
    names = dict(head.named_parameters())

    def losses(hidden, step, *parameters):
        head._parameters.update(zip(names, parameters))
        module._parameters["log_step_size"] = step
        return module(hidden, targets, head).fast_nll

    assert torch.autograd.gradcheck(losses, (y, module.log_step_size, *names.values()))
