"""Which tokens of a call are learned from: not those of padding, nor, unless wanted, those that generate has chosen."""

from typing import Optional

import torch
from torch import Tensor, nn

from fwl._C import UserError

ADAPTATIONS = ("prompt", "write", "read", "off")


class Adaptation:
    """``adapt``: "prompt" learns from everything but the tokens that ``generate`` has chosen, "write" from all tokens,
    "read" uses what a cache has learned and learns nothing more, "off": without fast weights."""

    _adapt = "prompt"
    prompt_tokens: Optional[int] = None  # while generate runs

    @property
    def adapt(self) -> str:
        return self._adapt

    @adapt.setter
    def adapt(self, adapt: str) -> None:
        if adapt not in ADAPTATIONS:
            raise UserError(f"adapt: expected {', '.join(ADAPTATIONS)}, got {adapt!r}")
        self._adapt = adapt

    def learns(self, cached_tokens: int) -> bool:
        """Whether tokens that come after so many are learned from."""
        if self.adapt == "prompt":
            return self.prompt_tokens is None or cached_tokens < self.prompt_tokens
        return self.adapt == "write"


class KnowsPrompt:
    """A mixin for models: while ``generate`` runs, their fast weights know where the prompt has ended."""

    def generate(self, inputs: Optional[Tensor] = None, *arguments, **options):
        prompt = options.get("input_ids") if inputs is None else inputs
        self.fast_weights.prompt_tokens = 0 if prompt is None else prompt.shape[1]
        try:
            return super().generate(inputs, *arguments, **options)
        finally:
            self.fast_weights.prompt_tokens = None


def known_tokens(attention_mask: Optional[Tensor], tokens: Tensor, cached: int) -> Tensor:
    """Which tokens (B,cached+T) are none of padding."""
    if attention_mask is None:
        return tokens.new_ones((len(tokens), cached + tokens.shape[1]), dtype=torch.bool)
    if not isinstance(attention_mask, Tensor) or attention_mask.dim() != 2:
        raise UserError("forward: expected an attention_mask (B,T), got another; fast weights must know which tokens are "
                        "padding")
    mask = attention_mask.bool()
    return nn.functional.pad(mask, (max(0, cached + tokens.shape[1] - mask.shape[1]), 0), value=True)
