"""Random layers, heads and texts for the tests of the fast weight core."""

from dataclasses import dataclass

import torch

import fwl

STEPS = {"U": 3e-2, "a": 2e-2, "W": 2e-3, "b": 3e-2, "gain": 2e-2, "shift": 1e-2}


@dataclass
class Case:
    layer: fwl.FastWeightLayer
    head: torch.nn.Module
    hidden: torch.Tensor
    targets: torch.Tensor

    def tensors(self):
        """Everything a gradient flows to, by name."""
        named = {f"layer.{name}": parameter for name, parameter in self.layer.named_parameters()}
        named |= {f"head.{name}": parameter for name, parameter in self.head.named_parameters()}
        return named | {"hidden": self.hidden}

    def gradients(self, loss):
        tensors = self.tensors()
        found = torch.autograd.grad(loss, list(tensors.values()), allow_unused=True, retain_graph=True)
        return {name: torch.zeros_like(tensor) if gradient is None else gradient
                for (name, tensor), gradient in zip(tensors.items(), found)}


def make_case(seed, batch=2, tokens=17, width=5, layer_width=7, vocabulary=11, adaptive=False, dtype=torch.float64,
              d_out=None, **options):
    torch.manual_seed(seed)
    d_out = d_out or width
    layer = fwl.FastWeightLayer(width, layer_width, d_out, **options).to(dtype)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            if name in ("a", "W", "b", "shift"):
                parameter.copy_(torch.randn_like(parameter) * 0.3)
            if name == "gain":
                parameter.copy_(1 + 0.2 * torch.randn_like(parameter))
    layer.set_step_sizes(STEPS)
    if options.get("decay"):
        layer.set_decays({"U": 0.9, "a": 0.8, "W": 0.7, "b": 0.6, "gain": 0.95, "shift": 0.5})
    if adaptive:
        head = fwl.AdaptiveSoftmaxHead.create(d_out, vocabulary, [vocabulary // 3, 2 * vocabulary // 3], div_val=2)
        with torch.no_grad():
            for parameter in head.parameters():
                parameter.copy_(torch.randn_like(parameter))
    else:
        head = fwl.SoftmaxHead(torch.nn.Parameter(torch.randn(vocabulary, d_out)),
                               torch.nn.Parameter(torch.randn(vocabulary)))
    hidden = torch.randn(batch, tokens, width, dtype=dtype, requires_grad=True)
    targets = torch.randint(0, vocabulary, (batch, tokens))
    return Case(layer, head.to(dtype), hidden, targets)


def assert_close(actual, expected, tolerance, what):
    """Largest difference relative to the largest entry (at least 1)."""
    error = (actual - expected).abs().max().item() if actual.numel() else 0.0
    scale = max(1.0, expected.abs().max().item() if expected.numel() else 0.0)
    assert error <= tolerance * scale, f"{what}: differs by {error:.3g} at scale {scale:.3g}"


def assert_same_sums(actual, expected, tolerance, what):
    for name, sums in expected.items():
        assert_close(actual[name], sums, tolerance, f"{what}, state {name}")
