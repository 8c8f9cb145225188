"""The fast weight layer as a torch.nn.Module: the same C++ code as in the program, with autograd through it."""

import math
from dataclasses import dataclass
from typing import Mapping, Optional

import torch
from torch import Tensor, nn

from fwl import _C, layer_operator
from fwl.heads import SoftmaxHead, computing
from fwl.state import WEIGHT_NAMES, FastState, core_of

IGNORED = -100  # as a target: the token neither scores nor updates, as in torch.nn.functional.cross_entropy


@dataclass
class FastWeightOutput:
    slow_nll: Optional[Tensor]  # (B, T): fast weights off
    fast_nll: Tensor  # (B, T)
    state: FastState


class FastWeightLayer(nn.Module):
    """Weights that follow the gradient of every past token, on top of any model's hidden states.

    ``gradient_at``: "slow" takes every gradient at the slow weights (the paper), "boundary" at the fast weights of the
    chunk's start. ``decay``: learn a decay per weight, applied every ``segment_tokens`` (boundary: every chunk).
    ``max_drift``: bound on |step * sum| / |weight| at those places. ``first_order``: no gradient through the inner
    gradients. ``kept_state_bytes``: boundary training recomputes chunks rather than keep more than this. ``rule``: how
    gradients become updates: "sum" (the paper), "momentum" over segments, "normalised" per token. ``chunk_tokens``:
    tokens that are processed together.

    It computes in single precision, or in double if its weights are; under autocast too.
    """

    def __init__(self, d_model: int, d_hidden: int, d_out: Optional[int] = None, residual: bool = False,
                 layer_norm: bool = True, eps: float = 1e-6, grad_scale: float = 1.0, gradient_at: str = "slow",
                 decay: bool = False, segment_tokens: int = 0, max_drift: float = 0.0, first_order: bool = False,
                 kept_state_bytes: int = 1 << 30, rule: str = "sum", momentum: float = 0.9, chunk_tokens: int = 128):
        super().__init__()
        weights, log_steps = _C.initial_parameters(d_model, d_hidden, d_out or d_model, residual)
        for name, weight in zip(WEIGHT_NAMES, weights):
            self.register_parameter(name, nn.Parameter(weight))
        self.log_step_sizes = nn.Parameter(log_steps)
        # sigmoid(4) = 0.982: a memory of about 55 segments to start with.
        self.decay_logits = nn.Parameter(torch.full((6,), 4.0)) if decay else None
        self.options = dict(residual=residual, layer_norm=layer_norm, eps=eps, grad_scale=grad_scale,
                            gradient_at=gradient_at, segment_tokens=segment_tokens, max_drift=max_drift,
                            first_order=first_order, kept_state_bytes=kept_state_bytes, rule=rule, momentum=momentum,
                            chunk_tokens=chunk_tokens)
        self.options_text = repr(tuple(self.options.values()))  # for the operator
        self.core()

    @classmethod
    def from_settings(cls, d_model: int, settings: Mapping, first_order: bool = False) -> "FastWeightLayer":
        """A fresh layer with the settings that an adapter has under "layer"."""
        layer = cls(d_model, settings["size"] or 4 * d_model, residual=settings["residual"],
                    layer_norm=settings["layer_norm"], eps=settings["epsilon"], grad_scale=settings["grad_scale"],
                    gradient_at=settings["gradient_at"], decay=settings["decay"] > 0,
                    segment_tokens=settings["segment_tokens"], max_drift=settings["max_drift"],
                    first_order=first_order, kept_state_bytes=settings["kept_state_megabytes"] << 20, rule=settings["rule"],
                    momentum=settings.get("momentum", 0.9), chunk_tokens=settings["chunk_tokens"])
        with torch.no_grad():
            layer.log_step_sizes += math.log(settings["step_scale"])
        if layer.decay_logits is not None:
            layer.set_decays(dict.fromkeys(WEIGHT_NAMES, settings["decay"]))
        return layer

    @classmethod
    def from_adapter(cls, path) -> "FastWeightLayer":
        """The layer in an adapter's folder, as `fwl attach` or ``save_pretrained`` has written it."""
        settings, tensors = _C.read_adapter(str(path))
        if settings["memory"]["kind"] != "layer":
            raise _C.UserError(f"{path}: expected an adapter with a layer, got memory.kind = "
                               f"{settings['memory']['kind']}; fwl.attach knows memories in the blocks")
        layer = cls.from_settings(settings["base"]["hidden_size"], settings["layer"])
        layer.load_adapter_tensors(tensors)
        return layer

    def adapter_tensors(self) -> dict[str, Tensor]:
        """The parameters by the names that they have in adapters: "fast.U", …"""
        named = {f"fast.{name}": getattr(self, name) for name in WEIGHT_NAMES}
        named["fast.log_steps"] = self.log_step_sizes
        if self.decay_logits is not None:
            named["fast.decay_logits"] = self.decay_logits
        return named

    def load_adapter_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Copies the values of such tensors."""
        load_tensors("FastWeightLayer", self.adapter_tensors(), tensors, "fast.")

    def extra_repr(self) -> str:
        d_model, d_hidden = self.U.shape
        return ", ".join([f"{d_model}, {d_hidden}", *(f"{name}={value!r}" for name, value in self.options.items())])

    @property
    def chunk_tokens(self) -> int:
        return self.options["chunk_tokens"]

    def parameter_list(self) -> list[Tensor]:
        """The six weights, the step sizes and, with decay, the decays."""
        decays = [] if self.decay_logits is None else [self.decay_logits]
        return [*[getattr(self, name) for name in WEIGHT_NAMES], self.log_step_sizes, *decays]

    def core(self) -> _C.FastWeightLayer:
        """The C++ layer over the present parameters."""
        return layer_operator.core_layer(self.options_text, self.parameter_list())

    def step_sizes(self) -> dict[str, float]:
        """{"U": ..., "a": ..., ...}"""
        return dict(zip(WEIGHT_NAMES, self.log_step_sizes.detach().exp().tolist()))

    def set_step_sizes(self, sizes: Mapping[str, float]) -> None:
        """Sets some or all step sizes; 0 switches a weight's update off."""
        values = _checked(sizes, self.step_sizes(), lambda size: 0 <= size < float("inf"), ">= 0")
        with torch.no_grad():
            self.log_step_sizes.copy_(values.log())

    def decays(self) -> dict[str, float]:
        """{"U": ..., ...}, all 1 without decay."""
        if self.decay_logits is None:
            return dict.fromkeys(WEIGHT_NAMES, 1.0)
        return dict(zip(WEIGHT_NAMES, self.decay_logits.detach().sigmoid().tolist()))

    def set_decays(self, decays: Mapping[str, float]) -> None:
        """Sets some or all decays, each between 0 and 1; the layer must have been made with decay=True."""
        if self.decay_logits is None:
            raise _C.UserError("set_decays: expected a layer made with decay=True, got one without")
        values = _checked(decays, self.decays(), lambda decay: 0 < decay < 1, "between 0 and 1")
        with torch.no_grad():
            self.decay_logits.copy_(values.logit())

    def fit_step_sizes(self, hidden: Tensor, scale: float = 1.0) -> None:
        """Sets the matrices' step sizes from the scale of some hidden states (B, T, D)."""
        with torch.no_grad(), self._precision(hidden):
            self.log_step_sizes.copy_(self.core().log_steps_from_data(self._computing(hidden)) + math.log(scale))

    def forward(self, hidden: Tensor, targets: Tensor, head: SoftmaxHead, weights: Optional[Tensor] = None,
                chunk: Optional[int] = None, form: str = "chunked", state: Optional[FastState] = None,
                slow_loss: bool = True) -> FastWeightOutput:
        """hidden (B, T, D), targets (B, T), weights (B, T) -> FastWeightOutput.

        A token of weight 0, or with the target -100, neither updates nor scores nor counts as a position: padding never
        touches the state. ``form``: "chunked", "quadratic" (the definition) or "recurrent" (token by token); all agree.
        ``slow_loss=False`` saves a head sweep with gradient_at="boundary". ``state``: where an earlier text has ended.
        """
        chunk = self.chunk_tokens if chunk is None else chunk
        if torch.compiler.is_compiling():
            return FastWeightOutput(*layer_operator.call(self, hidden, targets, head, weights, chunk, form, state,
                                                         slow_loss))
        hidden = self._computing(hidden)
        targets, weights = counted_targets(targets, weights, hidden.dtype)
        with self._precision(hidden):
            slow, fast, core = self.core().forward(hidden, targets, head.core(hidden.dtype), weights, chunk, form,
                                                   core_of(state), slow_loss)
        return FastWeightOutput(slow, fast, FastState.of(core))

    def outputs(self, hidden: Tensor, targets: Tensor, head: SoftmaxHead, weights: Optional[Tensor] = None,
                state: Optional[FastState] = None) -> tuple[Tensor, FastState]:
        """The adapted hidden states (B, T, D) whose losses ``forward`` gives, 0 for tokens of weight 0, and the state."""
        hidden = self._computing(hidden)
        targets, weights = counted_targets(targets, weights, hidden.dtype)
        with self._precision(hidden):
            outputs, core = self.core().outputs(hidden, targets, head.core(hidden.dtype), weights, self.chunk_tokens,
                                                core_of(state))
        return outputs, FastState.of(core)

    def adapt(self, hidden: Tensor, state: Optional[FastState] = None) -> Tensor:
        """hidden (B, T, D) -> the layer's output (B, T, D) under the fast weights of ``state``, which stays as it is."""
        with self._precision(hidden):
            return self.core().adapt(self._computing(hidden), core_of(state))

    def logits(self, hidden: Tensor, head: SoftmaxHead, state: Optional[FastState] = None) -> Tensor:
        """hidden (B, T, D) -> (B, T, V) under the fast weights of ``state``: the distribution of the next token."""
        return head.logits(self.adapt(hidden, state))

    def zero_state(self, sequences: int = 1) -> FastState:
        """The state of texts of which nothing has been read."""
        return FastState.of(self.core().zero_state(sequences))

    def load_state(self, path) -> FastState:
        """Reads what ``state.save(path)`` wrote, checked against this layer's shapes."""
        return FastState.of(self.core().load_state(str(path)))

    def drift(self, state: FastState) -> dict[str, dict[str, float]]:
        """Per weight: the norm of its update, of itself, and their ratio."""
        return self.core().drift(core_of(state))

    def _computing(self, hidden: Tensor) -> Tensor:
        return computing(hidden, computing(self.U).dtype)

    @staticmethod
    def _precision(hidden: Tensor):
        return torch.autocast(hidden.device.type, enabled=False)


def counted_targets(targets: Tensor, weights: Optional[Tensor], dtype: torch.dtype) -> tuple[Tensor, Optional[Tensor]]:
    """Targets as int64 and the tokens' weights, which are 0 where the target is to be ignored."""
    if not targets.is_floating_point():
        targets = targets.long()
    weights = None if weights is None else weights.to(dtype)
    is_ignored = targets == IGNORED
    if not is_ignored.any() or (weights is not None and weights.shape != targets.shape):
        return targets, weights
    kept = (~is_ignored).to(dtype)
    return targets.masked_fill(is_ignored, 0), kept if weights is None else weights * kept


def load_tensors(where: str, own: Mapping[str, Tensor], given: Mapping[str, Tensor], prefix: str) -> None:
    """Copies the given tensors whose names start so into those of the same names; all must be there, and fit."""
    given = {name: tensor for name, tensor in given.items() if name.startswith(prefix)}
    if given.keys() != own.keys():
        raise _C.UserError(f"{where}: expected the tensors {', '.join(sorted(own))}, got {', '.join(sorted(given))}")
    with torch.no_grad():
        for name, tensor in own.items():
            if tensor.shape != given[name].shape:
                raise _C.UserError(f"{where}: {name}: expected shape {list(tensor.shape)}, "
                                   f"got {list(given[name].shape)}")
            tensor.copy_(given[name])


def _checked(given: Mapping[str, float], present: Mapping[str, float], is_good, expected: str) -> Tensor:
    """All six numbers: the given ones where there are any, the present ones elsewhere."""
    for name in given:
        if name not in WEIGHT_NAMES:
            raise _C.UserError(f"step sizes and decays: expected names among {', '.join(WEIGHT_NAMES)}, got {name!r}")
        if not is_good(float(given[name])):
            raise _C.UserError(f"{name}: expected a number {expected}, got {given[name]}")
    return torch.tensor([float({**present, **given}[name]) for name in WEIGHT_NAMES], dtype=torch.float64)


class BiasOnly(nn.Module):
    """The smallest fast weight: only the head's output bias follows the gradients, with one learned step size."""

    def __init__(self, step_size: float = 1e-3):
        super().__init__()
        self.log_step_size = nn.Parameter(torch.tensor(float(step_size)).log())

    def forward(self, hidden: Tensor, targets: Tensor, head: SoftmaxHead, weights: Optional[Tensor] = None,
                state: Optional[list[Tensor]] = None) -> FastWeightOutput:
        """hidden (B, T, D), targets (B, T) -> FastWeightOutput; the state is a list of (B, words), one per cluster."""
        hidden = computing(hidden)
        targets, weights = counted_targets(targets, weights, hidden.dtype)
        with torch.autocast(hidden.device.type, enabled=False):
            slow, fast, state = _C.bias_only(hidden, targets, head.core(hidden.dtype), computing(self.log_step_size),
                                             weights, state or [])
        return FastWeightOutput(slow, fast, state)
