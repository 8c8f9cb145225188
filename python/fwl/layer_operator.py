"""The layer as one operator of PyTorch, which torch.compile leaves in one piece. Its backward pass reads once more."""

import ast
from typing import Optional

import torch
from torch import Tensor

from fwl import _C
from fwl.heads import computing, core_head
from fwl.state import WEIGHT_NAMES, FastState

# An operator's body runs with autograd switched off below; the second reading needs it as in ordinary code.
_ORDINARY_KEYS = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()


def core_layer(options: str, parameters: list[Tensor]) -> _C.FastWeightLayer:
    """The C++ layer over a module's parameters, which has its options as a text."""
    weights = [computing(parameter) for parameter in parameters]
    decay_logits = weights[7] if len(weights) > 7 else None
    return _C.FastWeightLayer(weights[:6], weights[6], decay_logits, _C.LayerOptions(*ast.literal_eval(options)))


def _segment_tokens(gradient_at: str, segment_tokens: int, chunk: int) -> int:
    return chunk if gradient_at == "boundary" else segment_tokens


def _state_names(rule: str, segment_tokens: int) -> list[str]:
    """All tensors that a state can have; the operator gives every one of them."""
    parts = ["open"] + (["closed"] if segment_tokens > 0 else []) + (["velocity"] if rule == "momentum" else [])
    return [f"{part}.{name}" for part in parts for name in WEIGHT_NAMES]


def _layout(options: str, chunk: int) -> tuple[str, list[str]]:
    """Where gradients are taken, and the names of the state's tensors."""
    values = ast.literal_eval(options)
    return values[4], _state_names(values[9], _segment_tokens(values[4], values[5], chunk))


def _read(hidden, targets, weights, parameters, head, state, positions, head_layout, options, state_names, chunk, form,
          slow_loss):
    """Losses and the state's tensors; what the C++ state leaves out because it is zero is filled in."""
    from fwl.layer import counted_targets

    hidden = computing(hidden, computing(parameters[0]).dtype)
    targets, weights = counted_targets(targets, weights, hidden.dtype)
    before = None
    if positions is not None:
        open_tokens, tokens_read, segment = positions[:, :-1].tolist() + [int(positions[0, -1])]
        before = _C.FastState(dict(zip(state_names.split(","), state)), open_tokens, tokens_read, segment)
    with torch.autocast(hidden.device.type, enabled=False):
        slow, fast, after = core_layer(options, parameters).forward(
            hidden, targets, core_head(head_layout, head, hidden.dtype), weights, chunk, form, before, slow_loss)
    present = after.tensors
    names = _layout(options, chunk)[1]
    tensors = [present.get(name, torch.zeros_like(present["open." + name.split(".")[1]])) for name in names]
    return [hidden.new_zeros(0) if slow is None else slow, fast,
            torch.tensor([after.open_tokens, after.tokens_read]), *tensors]


@torch.library.custom_op("fwl::fast_weight_layer", mutates_args=())
def fast_weight_layer(hidden: Tensor, targets: Tensor, weights: Optional[Tensor], parameters: list[Tensor],
                      head: list[Tensor], state: list[Tensor], positions: Optional[Tensor], head_layout: str,
                      options: str, state_names: str, chunk: int, form: str, slow_loss: bool) -> list[Tensor]:
    results = _read(hidden, targets, weights, parameters, head, state, positions, head_layout, options, state_names,
                    chunk, form, slow_loss)
    return [result.clone() for result in results]  # an operator's results may not share memory with its inputs


@fast_weight_layer.register_fake
def _(hidden, targets, weights, parameters, head, state, positions, head_layout, options, state_names, chunk, form,
      slow_loss):
    dtype = torch.float64 if parameters[0].dtype == torch.float64 else torch.float32
    gradient_at, names = _layout(options, chunk)
    has_slow_loss = slow_loss or gradient_at == "slow"
    sequences = hidden.shape[0]
    sizes = dict(zip(WEIGHT_NAMES, (parameter.shape for parameter in parameters)))
    return [hidden.new_empty(targets.shape if has_slow_loss else (0,), dtype=dtype),
            hidden.new_empty(targets.shape, dtype=dtype),
            torch.empty((2, sequences), dtype=torch.int64, device="cpu"),
            *[hidden.new_empty((sequences, *sizes[name.split(".")[1]]), dtype=dtype) for name in names]]


@torch.library.custom_op("fwl::fast_weight_layer_backward", mutates_args=())
def fast_weight_layer_backward(upstream: list[Tensor], hidden: Tensor, targets: Tensor, weights: Optional[Tensor],
                               parameters: list[Tensor], head: list[Tensor], state: list[Tensor],
                               positions: Optional[Tensor], head_layout: str, options: str, state_names: str,
                               chunk: int, form: str, slow_loss: bool) -> list[Tensor]:
    """The gradients of hidden, parameters, head and state, in this order."""
    with torch._C._ForceDispatchKeyGuard(*_ORDINARY_KEYS), torch.enable_grad():
        flat = [tensor.detach().requires_grad_() for tensor in (hidden, *parameters, *head, *state)]
        left = iter(flat)
        own = [next(left), [next(left) for _ in parameters], [next(left) for _ in head], [next(left) for _ in state]]
        results = _read(own[0], targets, weights, *own[1:], positions, head_layout, options, state_names, chunk, form,
                        slow_loss)
        pairs = [(result, grad) for result, grad in zip(results, upstream) if result.requires_grad]
        grads = torch.autograd.grad([result for result, _ in pairs], flat, [grad for _, grad in pairs],
                                    allow_unused=True)
    return [torch.zeros_like(tensor) if grad is None else grad.clone() for tensor, grad in zip(flat, grads)]


@fast_weight_layer_backward.register_fake
def _(upstream, hidden, targets, weights, parameters, head, state, *others):
    return [torch.empty_like(tensor) for tensor in (hidden, *parameters, *head, *state)]


def _keep_inputs(ctx, inputs, output):
    hidden, targets, weights, parameters, head, state, positions, *ctx.constants = inputs
    ctx.counts = len(parameters), len(head), len(state)
    ctx.optional = weights is not None, positions is not None
    optional = [tensor for tensor in (weights, positions) if tensor is not None]
    ctx.save_for_backward(hidden, targets, *parameters, *head, *state, *optional)
    ctx.outputs = [(result.shape, result.dtype, result.device) for result in output]


def _backward(ctx, upstream):
    saved = iter(ctx.saved_tensors)
    hidden, targets = next(saved), next(saved)
    groups = [[next(saved) for _ in range(count)] for count in ctx.counts]
    weights, positions = [next(saved) if is_given else None for is_given in ctx.optional]
    upstream = [torch.zeros(shape, dtype=dtype, device=device) if grad is None else grad
                for grad, (shape, dtype, device) in zip(upstream, ctx.outputs)]
    grads = iter(fast_weight_layer_backward(upstream, hidden, targets, weights, *groups, positions, *ctx.constants))
    return next(grads), None, None, *[[next(grads) for _ in group] for group in groups], *[None] * 7


fast_weight_layer.register_autograd(_backward, setup_context=_keep_inputs)


def call(layer, hidden, targets, head, weights, chunk, form, state, slow_loss):
    """What FastWeightLayer.forward gives, by the operator: the slow losses, the fast ones and the state."""
    names, tensors, positions = "", [], None
    if state is not None:
        names, tensors = ",".join(state.tensors), list(state.tensors.values())
        segment = torch.full((2, 1), state.segment_tokens, dtype=torch.int64)
        positions = torch.cat([state.positions, segment], 1)
    slow, fast, moved, *sums = fast_weight_layer(hidden, targets, weights, layer.parameter_list(), head.tensors(),
                                                 tensors, positions, head.layout(), layer.options_text, names, chunk,
                                                 form, slow_loss)
    options = layer.options
    segment = _segment_tokens(options["gradient_at"], options["segment_tokens"], chunk)
    after = FastState(dict(zip(_state_names(options["rule"], segment), sums)), moved, segment)
    return (slow if slow_loss or options["gradient_at"] == "slow" else None), fast, after
