"""The fast weights of an attached model: their parameters, and how a batch of texts is read with them."""

from typing import Optional

import torch
from torch import Tensor, nn

from fwl.heads import SoftmaxHead, computing
from fwl.hf.block_memory import BlockMemory
from fwl.hf.block_pass import hook_blocks
from fwl.hf.block_reader import BlockModel, BlockReader
from fwl.hf.cache import ReadingState
from fwl.hf.prompt import Adaptation
from fwl.layer import FastWeightLayer


class FastWeights(nn.Module, Adaptation):
    """``model.fast_weights``: a layer on top of the body, memories in its blocks, or both."""

    def __init__(self, settings: dict, layer: Optional[FastWeightLayer], blocks: Optional[BlockMemory]):
        super().__init__()
        self.settings = settings
        self.layer, self.blocks = layer, blocks
        self.base: Optional[str] = None  # file or folder of the base model

    def join(self, model: nn.Module, body: nn.Module) -> None:
        """Ties the fast weights to the model whose body they read with; it owns them, so they do not count it as theirs."""
        self.__dict__["model"] = model
        self.__dict__["additions"] = hook_blocks(body, self.blocks) if self.blocks else []

    def extra_repr(self) -> str:
        return f"adapt={self.adapt!r}"

    def adapter_tensors(self) -> dict[str, Tensor]:
        """All parameters by the names that they have in adapters."""
        return {name: tensor for part in (self.layer, self.blocks) if part is not None
                for name, tensor in part.adapter_tensors().items()}

    def load_adapter_tensors(self, tensors: dict[str, Tensor]) -> None:
        for part in (self.layer, self.blocks):
            if part is not None:
                part.load_adapter_tensors(tensors)

    def head(self) -> SoftmaxHead:
        """The model's output embedding."""
        output = self.model.get_output_embeddings()
        return SoftmaxHead(output.weight, getattr(output, "bias", None))

    def read_blocks(self, forward, tokens: Tensor, is_read: Tensor, is_seen: Tensor, cache, state: ReadingState,
                    position_ids: Optional[Tensor], keeps_state: bool) -> list[Tensor]:
        """The body's hidden states with the memories in its blocks, which learn chunk by chunk."""
        def pass_of_body(part, part_cache, current, **options):
            values = forward(part, part_cache, **options)
            before_head = len(self.additions)  # the memory there comes last
            if before_head < len(self.blocks.blocks):
                values[0] = values[0] + current.addition(before_head, values[0])
            return values

        is_outer = torch.is_grad_enabled() and any(one.requires_grad for one in self.model.parameters())
        model = BlockModel(pass_of_body, self.blocks, self.additions, self.layer.adapt if self.layer else lambda y: y,
                           lambda y, targets: self.head().nll_and_grad(y, targets)[1], is_outer)
        reader = BlockReader(model, state.blocks or self.blocks.new_state(len(tokens)),
                             self.learns(is_seen.shape[1]))
        values = reader.read(tokens, is_read, is_seen, cache, position_ids, keeps_state)
        state.blocks = reader.state
        return values

    def read_layer(self, hidden: Tensor, tokens: Tensor, is_read: Tensor, state: ReadingState,
                   learns: bool) -> Tensor:
        """What goes to the head for every token, after the layer has learned from those before it.   B,T,D"""
        count, rows = tokens.shape[1], torch.arange(len(tokens), device=tokens.device)
        h = computing(hidden)
        if state.last_hidden is not None:  # its target comes now
            h = torch.cat([state.last_hidden.unsqueeze(1), h], 1)
            tokens = torch.cat([tokens[:, :1], tokens], 1)
            is_read = torch.cat([state.has_last.unsqueeze(1), is_read], 1)
        last = torch.where(is_read, torch.arange(is_read.shape[1], device=tokens.device), -1).amax(1)  # B
        y = h
        if not learns:
            y = self.layer.adapt(h, state.fast)
        else:
            targets, is_followed = next_tokens(tokens, is_read)
            if is_followed.any():
                y, state.fast = self.layer.outputs(h, targets, self.head(), is_followed.to(h.dtype), state.fast)
            ends = self.layer.adapt(h[rows, last].unsqueeze(1), state.fast)
            is_end = torch.arange(h.shape[1], device=tokens.device) == last.unsqueeze(1)
            y = torch.where(is_end.unsqueeze(-1), ends, y)
        state.last_hidden, state.has_last = h[rows, last], last >= 0
        return y[:, -count:].to(hidden.dtype)


def next_tokens(tokens: Tensor, is_read: Tensor) -> tuple[Tensor, Tensor]:
    """For every position the next token that is not padding, and whether there is one and the position is none itself."""
    count = tokens.shape[1]
    places = torch.where(is_read, torch.arange(count, device=tokens.device), count)
    following = torch.nn.functional.pad(places[:, 1:], (0, 1), value=count).flip(1).cummin(1).values.flip(1)
    return tokens.gather(1, following.clamp_max(count - 1)), is_read & (following < count)
