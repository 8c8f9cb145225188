"""The sessions of a batch of texts, in the form of a cache: generate reorders them as it does keys and values."""

from typing import Optional

import torch
from torch import Tensor
from transformers import DynamicCache

from fwl import _C
from fwl._C import UserError


class SessionCache(DynamicCache):
    """One session for all texts while none has padding, then one for each."""

    def __init__(self, model: _C.LanguageModel):
        super().__init__()
        self.model, self.columns, self.texts = model, 0, 0
        self.joint: Optional[_C.Session] = None
        self.apart: list[_C.Session] = []

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.columns

    def reorder_cache(self, beam_idx: Tensor) -> None:
        self._select(beam_idx.cpu())

    def batch_select_indices(self, indices: Tensor) -> None:
        self._select(torch.arange(self.texts)[indices.cpu()])

    def batch_repeat_interleave(self, repeats: int) -> None:
        self._select(torch.arange(self.texts).repeat_interleave(repeats))

    def crop(self, max_length: int) -> None:
        if (max_length if max_length >= 0 else self.columns + max_length) < self.columns:
            raise UserError("cache: expected to keep all tokens, got crop; a session cannot forget single tokens")

    def _select(self, rows: Tensor) -> None:
        self.texts = len(rows)
        if self.joint is not None:
            self.joint = self.joint.rows(rows)
        self.apart = [self.apart[row].clone() for row in rows.tolist()] if self.apart else []

    def logits(self, tokens: Tensor, is_read: Tensor, adapt: str) -> Tensor:
        """Reads those tokens (B,T) that are none of padding.   B,T,V, of zeros at padding"""
        self.columns += tokens.shape[1]
        if self.texts == 0:
            self.texts = len(tokens)
            self.joint = self.model.new_session(self.texts)
        if self.texts != len(tokens):
            raise UserError(f"cache: expected {self.texts} texts, got {len(tokens)}")
        if self.joint is not None and is_read.all():
            return self.model.logits(tokens, self.joint, adapt)
        if self.joint is not None:
            self.apart = [self.joint.rows(torch.tensor([row])) for row in range(self.texts)]
            self.joint = None
        logits = None
        for row, session in enumerate(self.apart):
            if not is_read[row].any():
                continue
            own = self.model.logits(tokens[row:row + 1, is_read[row]], session, adapt)[0]
            logits = own.new_zeros(*tokens.shape, own.shape[-1]) if logits is None else logits
            logits[row, is_read[row]] = own
        if logits is None:
            raise UserError("forward: expected tokens, got nothing but padding")
        return logits
