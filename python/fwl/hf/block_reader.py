"""Reads texts chunk by chunk with memories in the blocks, which learn from every finished chunk."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Callable, Optional

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.cache_utils import Cache

from fwl._C import UserError
from fwl.hf.block_memory import BlockGradients, BlockMemory, BlockState
from fwl.hf.block_pass import BlockAddition, BlockPass, using
from fwl.hf.cache import cut, detach
from fwl.heads import computing

Part = list[Tensor]  # last hidden states (B,T,D), and those of all blocks where they are wanted


@dataclass
class BlockModel:
    """What a reader needs of the model that it reads with."""

    forward: Callable[..., Part]  # (tokens, cache, **options): one pass of the body
    memory: BlockMemory
    additions: list[BlockAddition]
    top: Callable[[Tensor], Tensor]  # hidden states to inputs of the head, with the fast weights on top off
    gradient: Callable[[Tensor, Tensor], Tensor]  # inputs of the head and targets to the gradients of the losses
    is_outer: bool  # somebody will differentiate through the updates


class BlockReader:
    """A chunk is predicted with the weights of its start. One that several calls have read is read once more for its
    gradient, so that a text leaves the same state however it is cut into calls."""

    def __init__(self, model: BlockModel, state: BlockState, learns: bool):
        self.model, self.state, self.learns = model, state, learns

    def read(self, tokens: Tensor, is_read: Tensor, is_seen: Tensor, cache: Cache, position_ids: Optional[Tensor],
             keeps_state: bool) -> Part:
        """Reads tokens (B,T) after those in the cache. ``is_read`` (B,T), ``is_seen`` (B,cached): False for padding."""
        counts = self.state.chunk.count
        is_in_step = bool((counts == counts[0]).all()) and bool(is_seen.all())
        if is_in_step and (is_read.all() or (not keeps_state and is_seen.shape[1] == 0 and ends_in_padding(is_read))):
            return self.read_in_step(tokens, is_read, cache)
        self._finish_full_chunks(tokens, is_read, is_seen, cache)
        if (self.state.chunk.count + is_read.sum(1).cpu() <= self.model.memory.chunk_tokens).all():
            mask = torch.cat([is_seen, is_read], 1)
            if position_ids is None:
                position_ids = (mask.cumsum(1) - 1).clamp_min(0)[:, -tokens.shape[1]:]
            part = self._use(tokens, cache, attention_mask=mask.long(), position_ids=position_ids)
            self.state.chunk.add(tokens, is_read, is_read * self.learns)
            return part
        return self._read_row_by_row(tokens, is_read, is_seen, cache)

    def read_in_step(self, tokens: Tensor, is_read: Tensor, cache: Cache) -> Part:
        """The same for texts at the same place in their chunks. Padding may only come at the end."""
        size, count = self.model.memory.chunk_tokens, tokens.shape[1]
        weights, everything = is_read * self.learns, torch.ones_like(is_read)
        if self.state.chunk.count[0] == size:
            self._finish(torch.arange(len(tokens)), tokens[:, 0], weights[:, 0],
                         cut(cache, slice(0, cache.get_seq_length() - size)))
        parts: list[Part] = []
        start = 0
        while start < count:
            chunk, open_tokens = self.state.chunk, int(self.state.chunk.count[0])
            end = min(start + size - open_tokens, count)
            now = slice(start, end)
            chunk.add(tokens[:, now], everything[:, now], weights[:, now])
            is_finished = open_tokens + end - start == size and end < count
            if is_finished:
                chunk.set_target(torch.arange(len(tokens)), tokens[:, end], weights[:, end])
            if is_finished and (chunk.weights > 0).any():
                detach(cache, cache.get_seq_length() - open_tokens)
                parts.append([values[:, open_tokens:] for values in self._learn(cache, open_tokens > 0)])
            else:
                parts.append(self._use(tokens[:, now], cache))
            if is_finished:
                self.state.chunk.count[:] = 0
            start = end
        return [torch.cat(values, 1) for values in zip(*parts)]

    def _use(self, tokens: Tensor, cache: Cache, **options) -> Part:
        """One pass with the weights as they are."""
        with using(self.model.additions, current := BlockPass(self.model.memory, self.state.W.unbind(1))):
            part = self.model.forward(tokens, cache, current, **options)
        detach(cache, cache.get_seq_length())
        return part

    def _finish_full_chunks(self, tokens: Tensor, is_read: Tensor, is_seen: Tensor, cache: Cache) -> None:
        """Learns from full chunks whose last target is known now."""
        size = self.model.memory.chunk_tokens
        for row in range(len(tokens)):
            if self.state.chunk.count[row] == size and is_read[row].any():
                columns = is_seen[row].nonzero().squeeze(1)[:-size]
                target = tokens[row, is_read[row]][:1]
                self._finish(torch.tensor([row]), target, torch.full((1,), float(self.learns)),
                             cut(cache, columns, [row]))

    def _finish(self, rows: Tensor, targets: Tensor, weights: Tensor, before: Cache) -> None:
        """Learns from the full chunks of some texts; ``before``: their keys and values up to there."""
        self.state.chunk.set_target(rows, targets, weights)
        reader = BlockReader(self.model, self.state.rows(rows), self.learns)
        if (reader.state.chunk.weights > 0).any():
            reader._learn(before, is_second_reading=True)
        reader.state.chunk.count[:] = 0
        if len(rows) == len(self.state.chunk.count):
            self.state = reader.state
        else:
            states = [self.state.rows(torch.tensor([row])) for row in range(len(self.state.chunk.count))]
            states[int(rows[0])] = reader.state
            self.state = BlockState.join(states)

    def _read_row_by_row(self, tokens: Tensor, is_read: Tensor, is_seen: Tensor, cache: Cache) -> Part:
        """Texts at different places in their chunks, each without its padding."""
        parts, states, caches = [], [], []
        for row in range(len(tokens)):
            reader = BlockReader(self.model, self.state.rows(torch.tensor([row])), self.learns)
            own, kept = cut(cache, is_seen[row], [row]), is_read[row]
            parts.append(reader.read_in_step(tokens[row:row + 1, kept], kept[kept].unsqueeze(0), own)
                         if kept.any() else None)
            states.append(reader.state)
            caches.append(own)
        self.state = BlockState.join(states)
        some, known = next((part, own) for part, own in zip(parts, caches) if part is not None)
        for index, layer in enumerate(known.layers):
            kinds = [[getattr(own.layers[index], name)[0].transpose(0, 1) if part is not None else None
                      for part, own in zip(parts, caches)] for name in ("keys", "values")]
            cache.update(*[in_columns(rows, is_read, getattr(layer, name)[0].transpose(0, 1)).transpose(1, 2)
                           for rows, name in zip(kinds, ("keys", "values"))], index)
        return [in_columns([None if part is None else part[kind][0] for part in parts], is_read, values[0])
                for kind, values in enumerate(some)]

    def _learn(self, cache: Cache, is_second_reading: bool) -> Part:
        """Reads the open chunk and moves the weights. What it gives is of the first pass, at the weights before."""
        if self.model.is_outer and is_second_reading:
            raise UserError("training with memories in the blocks: expected calls of whole chunks of "
                            f"{self.model.memory.chunk_tokens} tokens, got one that ends within a chunk; "
                            "without training, use torch.no_grad()")
        before = cache.get_seq_length()
        part, gradients = self._learning_pass(cache)
        self.state = self.model.memory.learn(self.state, gradients)
        for _ in range(1, self.model.memory.settings["passes"]):
            detach(cache, before)
            _, gradients = self._learning_pass(cache)
            self.state = self.model.memory.learn(self.state, gradients, again=True)
        detach(cache, cache.get_seq_length())
        return part if self.model.is_outer else [values.detach() for values in part]

    def _learning_pass(self, cache: Cache) -> tuple[Part, BlockGradients]:
        model, chunk = self.model, self.state.chunk
        count = int(chunk.count[0])
        tokens, targets, counted = (tensor[:, :count] for tensor in (chunk.tokens, chunk.targets, chunk.weights))
        is_second_order = model.is_outer and not model.memory.first_order
        W = self.state.W if model.is_outer else self.state.W.detach()
        if not W.requires_grad:
            W = W.detach().requires_grad_()
        # Only the plain form of attention can be differentiated twice.
        attention = sdpa_kernel(SDPBackend.MATH) if is_second_order else nullcontext()
        with torch.enable_grad(), attention:
            current = BlockPass(model.memory, W.unbind(1))
            with using(model.additions, current):
                part = model.forward(tokens, cache, current)
            y = computing(model.top(part[0]))
            with torch.set_grad_enabled(model.is_outer):
                gradient = model.gradient(y if model.is_outer else y.detach(), targets.masked_fill(counted == 0, 0))
            upstream = gradient * (counted / model.memory.chunk_tokens).to(gradient.dtype).unsqueeze(-1)
            rates = model.memory.token_rates(y)
            if rates is not None:
                upstream = upstream * rates
            outputs = [current.outputs[index] for index in range(len(model.memory.blocks))]
            gradients = torch.autograd.grad([y], [*current.weights, *outputs],
                                            [upstream if is_second_order else upstream.detach()],
                                            retain_graph=model.is_outer, create_graph=is_second_order)
        of_weights, of_outputs = gradients[:len(outputs)], gradients[len(outputs):]
        return part, BlockGradients(torch.stack(of_weights, 1), torch.stack(of_outputs, 1), counted)


def ends_in_padding(is_read: Tensor) -> bool:
    """Every text begins at once, and padding comes only after it."""
    return bool((is_read[:, 1:] <= is_read[:, :-1]).all())


def in_columns(rows: list[Optional[Tensor]], is_read: Tensor, like: Tensor) -> Tensor:
    """Values (n, …) of each text at the columns (B,T) where it was read, zeros elsewhere.   B,T,…"""
    table = like.new_zeros((*is_read.shape, *like.shape[1:]))
    for row, values in enumerate(rows):
        if values is not None:
            table[row, is_read[row]] = values[-int(is_read[row].sum()):]
    return table
