"""What the fast weights have learned travels in the cache of keys and values, and is reordered with it."""

from dataclasses import dataclass
from typing import Optional

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import Cache, DynamicLayer

from fwl._C import UserError
from fwl.hf.block_memory import BlockState
from fwl.hf.mixing import mix_in
from fwl.state import FastState


@dataclass
class ReadingState:
    """Everything of a batch of texts that is not keys and values."""

    fast: Optional[FastState] = None  # of the layer; None: nothing learned
    last_hidden: Optional[Tensor] = None  # (B, D): of the last token, whose target comes next; None: no token read
    has_last: Optional[Tensor] = None  # (B): False for texts that were nothing but padding so far
    blocks: Optional[BlockState] = None

    def rows(self, indices: Tensor) -> "ReadingState":
        def select(tensor):
            return None if tensor is None else tensor.index_select(0, indices.to(tensor.device))

        return ReadingState(None if self.fast is None else self.fast.rows(indices), select(self.last_hidden),
                            select(self.has_last), None if self.blocks is None else self.blocks.rows(indices))


class FastWeightCache:
    """A mixin for every kind of cache."""

    reading: ReadingState

    def reorder_cache(self, beam_idx: Tensor) -> None:
        super().reorder_cache(beam_idx)
        self.reading = self.reading.rows(beam_idx)

    def batch_select_indices(self, indices: Tensor) -> None:
        super().batch_select_indices(indices)
        self.reading = self.reading.rows(torch.arange(self._texts())[indices.cpu()])

    def batch_repeat_interleave(self, repeats: int) -> None:
        texts = self._texts()
        super().batch_repeat_interleave(repeats)
        self.reading = self.reading.rows(torch.arange(texts).repeat_interleave(repeats))

    def _texts(self) -> int:
        return self.layers[0].keys.shape[0]

    def crop(self, max_length: int) -> None:
        length = self.get_seq_length()
        if (max_length if max_length >= 0 else length + max_length) < length:
            raise UserError("cache: expected to keep all tokens, got crop; fast weights cannot forget single tokens "
                            "(assisted decoding needs model.fast_weights.adapt = 'off')")

    def reset(self) -> None:
        super().reset()
        self.reading = ReadingState()


def adopted(cache: Optional[Cache], keeps_all_tokens: bool) -> Cache:
    """A cache with a reading state: the given one, or a fresh one where that is None, or empty and of fixed windows."""
    if cache is None or (keeps_all_tokens and cache.get_seq_length() == 0 and type(cache) is DynamicCache):
        cache = DynamicCache()
    if keeps_all_tokens and not all(type(layer) is DynamicLayer for layer in cache.layers):
        raise UserError("cache: expected one that keeps the keys and values of all tokens (DynamicCache()), got "
                        f"{type(cache).__name__} with others; memories in the blocks read a chunk twice")
    if not isinstance(cache, FastWeightCache):
        mix_in(FastWeightCache, cache)
        cache.reading = ReadingState()
    return cache


def cut(cache: Cache, columns, rows=slice(None)) -> DynamicCache:
    """The keys and values of some texts at some positions, as a cache of their own."""
    part = DynamicCache()
    for index, layer in enumerate(cache.layers):
        part.update(layer.keys[rows][:, :, columns], layer.values[rows][:, :, columns], index)
    return part


def detach(cache: Cache, tokens: int) -> None:
    """Makes keys and values constants, and drops those after so many tokens."""
    for layer in cache.layers:
        layer.keys = layer.keys[:, :, :tokens].detach()
        layer.values = layer.values[:, :, :tokens].detach()
