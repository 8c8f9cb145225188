"""What a model and its body can do besides, once fast weights are attached to them."""

import os
from contextlib import contextmanager, nullcontext
from typing import Optional

import torch
from torch import Tensor, nn

from fwl import _C
from fwl.hf.cache import ReadingState, adopted
from fwl.hf.prompt import KnowsPrompt, known_tokens

PREFIX = "fast_weights."


class AttachedBody:
    """A mixin for the model below the head: its last hidden states are those that the fast weights have adapted."""

    def forward(self, input_ids: Optional[Tensor] = None, **inputs):
        memories = self.__dict__["fast_weights"]
        if memories.adapt == "off":
            return super().forward(input_ids, **inputs)
        if input_ids is None:
            raise _C.UserError("forward: expected input_ids, got none; fast weights learn from tokens "
                               "(model.fast_weights.adapt = 'off' without them)")
        is_inference = torch.is_inference_mode_enabled() and memories.blocks is not None
        with ordinary_tensors() if is_inference else nullcontext():
            return self._read(memories, input_ids.clone() if is_inference else input_ids, **inputs)

    def _read(self, memories, tokens: Tensor, attention_mask: Optional[Tensor] = None, past_key_values=None,
              use_cache: Optional[bool] = None, return_dict: Optional[bool] = None, **inputs):
        keeps_state = self.config.use_cache if use_cache is None else use_cache
        keeps_state = keeps_state or past_key_values is not None
        cache = adopted(past_key_values, memories.blocks is not None) if keeps_state else None
        state = cache.reading if keeps_state else ReadingState()
        cached = cache.get_seq_length() if keeps_state else 0
        is_known = known_tokens(attention_mask, tokens, cached)
        is_read = is_known[:, cached:]
        learns = memories.learns(cached)
        if memories.blocks is None:
            outputs = super().forward(tokens, attention_mask=attention_mask, past_key_values=cache,
                                      use_cache=use_cache, return_dict=True, **inputs)
        else:
            outputs = self._read_blocks(memories, tokens, is_read, is_known[:, :cached], cache, state, inputs)
        if memories.layer is not None:
            outputs.last_hidden_state = memories.read_layer(outputs.last_hidden_state, tokens, is_read, state, learns)
        return_dict = self.config.use_return_dict if return_dict is None else return_dict
        return outputs if return_dict else outputs.to_tuple()

    def _read_blocks(self, memories, tokens, is_read, is_seen, cache, state, inputs: dict):
        if inputs.pop("output_attentions", None) or self.config.output_attentions:
            raise _C.UserError("forward: expected output_attentions=False, got True; memories in the blocks read chunk "
                               "by chunk")
        position_ids = inputs.pop("position_ids", None)
        inputs.pop("cache_position", None)
        wanted = inputs.get("output_hidden_states")
        inputs["output_hidden_states"] = self.config.output_hidden_states if wanted is None else wanted
        latest = []
        body = super()

        def forward(part, part_cache, **options):
            latest[:] = [body.forward(part, past_key_values=part_cache, use_cache=True, return_dict=True,
                                      **options, **inputs)]
            return [latest[0].last_hidden_state, *(latest[0].hidden_states or ())]

        with without_checkpointing(self):
            values = memories.read_blocks(forward, tokens, is_read, is_seen,
                                          adopted(None, True) if cache is None else cache, state, position_ids,
                                          cache is not None)
        outputs = latest[0]
        outputs.last_hidden_state = values[0]
        outputs.past_key_values = cache
        if outputs.hidden_states is not None:
            outputs.hidden_states = tuple(values[1:])
        return outputs


class AttachedModel(KnowsPrompt):
    """A mixin for the whole model."""

    def save_pretrained(self, save_directory, is_main_process: bool = True, **options) -> None:
        """Writes the adapter; a base that was trained too is written beside it, as `fwl attach --train-base` does."""
        if not is_main_process:
            return
        memories, folder = self.fast_weights, os.fspath(save_directory)
        if any(tensor.requires_grad for name, tensor in self.named_parameters() if not name.startswith(PREFIX)):
            given = options.pop("state_dict", None) or self.state_dict()
            of_base = {name: tensor for name, tensor in given.items() if not name.startswith(PREFIX)}
            super().save_pretrained(folder, state_dict=of_base, **options)
            memories.base, folder = folder, os.path.join(folder, "adapter")
        if memories.base is None:
            raise _C.UserError("save_pretrained: expected fwl.attach(…, base=PATH), got none; an adapter names the file "
                               "or folder of its base model")
        base = {**memories.settings["base"], "name": os.path.basename(os.path.abspath(memories.base)),
                "hash": _C.model_hash(memories.base)}
        tensors = {name: tensor.detach().float().cpu() for name, tensor in memories.adapter_tensors().items()}
        _C.save_adapter({**memories.settings, "base": base}, tensors, folder)


@contextmanager
def ordinary_tensors():
    """Leaves inference mode, whose tensors autograd cannot keep."""
    with torch.inference_mode(False), torch.no_grad():
        yield


@contextmanager
def without_checkpointing(body: nn.Module):
    """A chunk is short, and its gradient needs keys and values that checkpointed blocks would drop."""
    checkpointed = [module for module in body.modules() if getattr(module, "gradient_checkpointing", False)]
    for module in checkpointed:
        module.gradient_checkpointing = False
    try:
        yield
    finally:
        for module in checkpointed:
            module.gradient_checkpointing = True
