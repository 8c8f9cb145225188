"""The fast weight layer as a torch.nn.Module: the same C++ code as in the program, with autograd through it."""

from dataclasses import dataclass
from typing import Optional

import torch
from torch import nn

from fwl import _C

WEIGHT_NAMES = ("U", "a", "W", "b", "gain", "shift")


@dataclass
class FastWeightOutput:
    slow_nll: Optional[torch.Tensor]  # (B, T): fast weights off
    fast_nll: torch.Tensor  # (B, T)
    state: _C.FastState


class FastWeightLayer(nn.Module):
    """Weights that follow the gradient of every past token, on top of any model's hidden states.

    ``gradient_at``: "slow" takes every gradient at the slow weights (the paper), "boundary" at the fast weights of the
    chunk's start. ``decay``: learn a decay per weight, applied every ``segment_tokens`` (boundary: every chunk).
    ``max_drift``: bound on |step * sum| / |weight| at those places. ``first_order``: no gradient through the inner
    gradients. ``kept_state_bytes``: boundary training recomputes chunks rather than keep more than this. ``rule``: how
    gradients become updates: "sum" (the paper), "momentum" over segments, "normalised" per token.
    """

    def __init__(self, d_model, d_hidden, d_out=None, residual=False, layer_norm=True, eps=1e-6, grad_scale=1.0,
                 gradient_at="slow", decay=False, segment_tokens=0, max_drift=0.0, first_order=False,
                 kept_state_bytes=1 << 30, rule="sum", momentum=0.9):
        super().__init__()
        weights, log_steps = _C.initial_parameters(d_model, d_hidden, d_out or d_model, residual)
        for name, weight in zip(WEIGHT_NAMES, weights):
            self.register_parameter(name, nn.Parameter(weight))
        self.log_step_sizes = nn.Parameter(log_steps)
        # sigmoid(4) = 0.982: a memory of about 55 segments to start with.
        self.decay_logits = nn.Parameter(torch.full((6,), 4.0)) if decay else None
        self.options = dict(residual=residual, layer_norm=layer_norm, eps=eps, grad_scale=grad_scale,
                            gradient_at=gradient_at, segment_tokens=segment_tokens, max_drift=max_drift,
                            first_order=first_order, kept_state_bytes=kept_state_bytes, rule=rule, momentum=momentum)
        self.core()

    def core(self):
        """The C++ layer over the present parameters."""
        options = _C.LayerOptions(*self.options.values())
        weights = [getattr(self, name) for name in WEIGHT_NAMES]
        return _C.FastWeightLayer(weights, self.log_step_sizes, self.decay_logits, options)

    def step_sizes(self):
        """{"U": ..., "a": ..., ...}"""
        return dict(zip(WEIGHT_NAMES, self.log_step_sizes.detach().exp().tolist()))

    def set_step_sizes(self, sizes):
        """Sets some or all step sizes; 0 switches a weight's update off."""
        values = _checked(sizes, self.step_sizes(), lambda size: 0 <= size < float("inf"), ">= 0")
        with torch.no_grad():
            self.log_step_sizes.copy_(values.log())

    def decays(self):
        """{"U": ..., ...}, all 1 without decay."""
        if self.decay_logits is None:
            return dict.fromkeys(WEIGHT_NAMES, 1.0)
        return dict(zip(WEIGHT_NAMES, self.decay_logits.detach().sigmoid().tolist()))

    def set_decays(self, decays):
        """Sets some or all decays, each between 0 and 1; the layer must have been made with decay=True."""
        if self.decay_logits is None:
            raise _C.UserError("set_decays: expected a layer made with decay=True, got one without")
        values = _checked(decays, self.decays(), lambda decay: 0 < decay < 1, "between 0 and 1")
        with torch.no_grad():
            self.decay_logits.copy_(values.logit())

    def fit_step_sizes(self, hidden):
        """Sets the matrices' step sizes from the scale of some hidden states (B, T, D)."""
        with torch.no_grad():
            self.log_step_sizes.copy_(self.core().log_steps_from_data(hidden))

    def forward(self, hidden, targets, head, weights=None, chunk=128, form="chunked", state=None, slow_loss=True):
        """hidden (B, T, D), targets (B, T), weights (B, T) -> FastWeightOutput.

        A token of weight 0 neither updates nor scores nor counts as a position: padding never touches the state.
        ``form``: "chunked", "quadratic" (the definition) or "recurrent" (token by token); all agree.
        ``slow_loss=False`` saves a head sweep with gradient_at="boundary".
        """
        if weights is not None:
            weights = weights.to(hidden.dtype)
        slow, fast, state = self.core().forward(hidden, targets, head.core(), weights, chunk, form, state, slow_loss)
        return FastWeightOutput(slow, fast, state)

    def adapt(self, hidden, state=None):
        """hidden (B, T, D) -> the layer's output (B, T, D) under the fast weights of ``state``, which stays as it is."""
        return self.core().adapt(hidden, state)

    def logits(self, hidden, head, state=None):
        """hidden (B, T, D) -> (B, T, V) under the fast weights of ``state``: the distribution of the next token."""
        return head.logits(self.adapt(hidden, state))

    def zero_state(self, sequences=1):
        return self.core().zero_state(sequences)

    def load_state(self, path):
        """Reads what ``state.save(path)`` wrote, checked against this layer's shapes."""
        return self.core().load_state(str(path))

    def drift(self, state):
        """Per weight: the norm of its update, of itself, and their ratio."""
        return self.core().drift(state)


def _checked(given, present, is_good, expected):
    """All six numbers: the given ones where there are any, the present ones elsewhere."""
    for name in given:
        if name not in WEIGHT_NAMES:
            raise _C.UserError(f"step sizes and decays: expected names among {', '.join(WEIGHT_NAMES)}, got {name!r}")
        if not is_good(float(given[name])):
            raise _C.UserError(f"{name}: expected a number {expected}, got {given[name]}")
    return torch.tensor([float({**present, **given}[name]) for name in WEIGHT_NAMES], dtype=torch.float64)


class BiasOnly(nn.Module):
    """The smallest fast weight: only the head's output bias follows the gradients, with one learned step size."""

    def __init__(self, step_size=1e-3):
        super().__init__()
        self.log_step_size = nn.Parameter(torch.tensor(float(step_size)).log())

    def forward(self, hidden, targets, head, weights=None, state=None):
        """hidden (B, T, D), targets (B, T) -> FastWeightOutput; the state is a list of (B, words), one per cluster."""
        slow, fast, state = _C.bias_only(hidden, targets, head.core(), self.log_step_size, weights, state or [])
        return FastWeightOutput(slow, fast, state)
