"""Memories in the blocks of a model: how a chunk's gradient moves them. The same definition as src/blocks, in PyTorch."""

from dataclasses import dataclass, replace
from typing import Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fwl import _C
from fwl.hf.open_chunk import OpenChunk
from fwl.layer import load_tensors

AVERAGED_CHUNKS = 16
PARAMETERS = {"blocks.U": "keys", "blocks.log_steps": "log_steps", "blocks.decay_logits": "decay_logits",
              "blocks.rates": "rates", "blocks.W": "start"}


@dataclass
class BlockState:
    """What the memories have learned, one row per text, and the chunk that they learn from next."""

    W: Tensor  # (B, S, R, D)
    squares: Tensor  # (B, S): running mean of the squared gradients of the tokens' losses
    mean_step: Optional[Tensor]  # (B, S, R, D), of the rule momentum
    tokens_read: Tensor  # (B), in main memory
    chunk: OpenChunk

    def _map(self, function) -> "BlockState":
        return BlockState(function(self.W), function(self.squares),
                          None if self.mean_step is None else function(self.mean_step), function(self.tokens_read),
                          self.chunk.map(function))

    def rows(self, indices: Tensor) -> "BlockState":
        return self._map(lambda tensor: tensor.index_select(0, indices.to(tensor.device)))

    @staticmethod
    def join(states: list["BlockState"]) -> "BlockState":
        def together(name):
            parts = [getattr(state, name) for state in states]
            return None if parts[0] is None else torch.cat(parts)

        return BlockState(together("W"), together("squares"), together("mean_step"), together("tokens_read"),
                          OpenChunk.join([state.chunk for state in states]))


@dataclass
class BlockGradients:
    weights: Tensor  # (B, S, R, D): of the chunk's mean loss
    outputs: Tensor  # (B, S, T, D): of the same, with respect to v W
    counted: Tensor  # (B, T): 0 for tokens that do not count


def matrix_norms(matrices: Tensor) -> Tensor:
    return matrices.square().sum((-2, -1), keepdim=True).clamp_min(1e-30).sqrt()


def orthogonalized(matrices: Tensor) -> Tensor:
    """Newton-Schulz iteration: all singular values of a matrix come close to each other, its norm stays."""
    norms = matrix_norms(matrices)
    is_tall = matrices.shape[-2] > matrices.shape[-1]
    x = (matrices.mT if is_tall else matrices) / norms
    for _ in range(5):
        squares = x @ x.mT
        x = 3.4445 * x + (-4.7750 * squares + 2.0315 * squares @ squares) @ x
    x = x.mT if is_tall else x
    return x * (norms / matrix_norms(x))


class BlockMemory(nn.Module):
    """The memories' parameters and rule. What they learn is in a BlockState."""

    def __init__(self, settings: dict, base_blocks: int, hidden_size: int):
        super().__init__()
        self.settings = settings["blocks"]
        self.blocks, fresh = _C.untrained_blocks({"blocks": self.settings}, base_blocks, hidden_size)
        for name, attribute in PARAMETERS.items():
            self.register_parameter(attribute, nn.Parameter(fresh[name]) if name in fresh else None)
        self.first_order = settings["objective"] == "fwl-first-order"

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self.settings.items())

    def adapter_tensors(self) -> dict[str, Tensor]:
        """The parameters by the names that they have in adapters."""
        return {name: getattr(self, attribute) for name, attribute in PARAMETERS.items()
                if getattr(self, attribute) is not None}

    def load_adapter_tensors(self, tensors: dict[str, Tensor]) -> None:
        load_tensors("memories in the blocks", self.adapter_tensors(), tensors, "blocks.")

    @property
    def chunk_tokens(self) -> int:
        return self.settings["chunk_tokens"]

    def new_state(self, sequences: int) -> BlockState:
        keys = self.keys if self.keys.dtype == torch.float64 else self.keys.float()
        shape = (sequences, len(self.blocks), keys.shape[2], keys.shape[1])
        W = keys.new_zeros(shape) if self.start is None else self.start.to(keys.dtype).expand(shape)
        mean_step = keys.new_zeros(shape) if self.settings["rule"] == "momentum" else None
        return BlockState(W, keys.new_zeros(shape[:2]), mean_step, torch.zeros(sequences, dtype=torch.int64),
                          OpenChunk.empty(sequences, keys.device))

    def features(self, index: int, y: Tensor) -> Tensor:
        """Keys of length 1 make a step independent of the scale of the model's activations.   B,T,D -> B,T,R"""
        raw = torch.relu(y @ self.keys[index].to(y.dtype)).square()
        return raw * (raw.square().sum(-1, keepdim=True) + 1e-12).rsqrt()

    def token_rates(self, hidden: Tensor) -> Optional[Tensor]:
        """Factors of the tokens' losses in the step, for the inputs of the head.   B,T,D -> B,T,1"""
        if self.rates is None:
            return None
        unit = hidden * (hidden.square().sum(-1, keepdim=True) + 1e-12).rsqrt()
        return 2 * torch.sigmoid((unit @ self.rates.to(hidden.dtype)).unsqueeze(-1) * hidden.shape[-1] ** 0.5)

    def learn(self, state: BlockState, gradients: BlockGradients, again: bool = False) -> BlockState:
        """The state moved by the gradients of a chunk. ``again``: of a chunk that has moved it before."""
        settings, chunk = self.settings, self.chunk_tokens
        counted = gradients.counted > 0
        count = counted.sum(1).cpu()  # B
        before = state.tokens_read - count if again else state.tokens_read
        warm_tokens = chunk * max(1, settings["warmup_chunks"])

        def per_text(numbers: Tensor) -> Tensor:
            return numbers.to(state.W).unsqueeze(1)  # B,1

        share = per_text(count.double() / chunk)
        progress = per_text(((before + count) / warm_tokens).clamp_max(1))
        fresh = per_text(count / (before.clamp_max(chunk * AVERAGED_CHUNKS) + count.clamp_min(1)))

        squared = (gradients.outputs * chunk).square().sum(-1)  # B,S,T
        present = (squared * counted.unsqueeze(1)).sum(-1) / (share * chunk).clamp_min(1)
        squares = state.squares + fresh * (present - state.squares)
        scale = squares.clamp_min(1e-30)  # B,S
        step = self.log_steps.exp() * progress
        update = gradients.weights * (step / scale)[..., None, None]
        if settings["max_update"] > 0:
            bound = settings["max_update"] * (step * scale.rsqrt())[..., None, None]
            update = update * (bound / matrix_norms(update)).clamp_max(1)
        kept = state.W
        if self.decay_logits is not None:
            kept = kept * torch.exp(F.logsigmoid(self.decay_logits) * share)[..., None, None]
        update, mean_step = self._by_rule(state.mean_step, update, (share > 0)[..., None, None])
        return replace(state, W=kept - update, squares=squares, mean_step=mean_step, tokens_read=before + count)

    def _by_rule(self, mean: Optional[Tensor], step: Tensor, is_read: Tensor) -> tuple[Tensor, Optional[Tensor]]:
        if self.settings["rule"] == "orthogonal":
            return orthogonalized(step), mean
        if self.settings["rule"] == "momentum":
            share = self.settings["momentum"]
            mean = torch.where(is_read, share * mean + (1 - share) * step, mean)
            return mean * is_read, mean
        return step, mean
