"""Small models of transformers, and the C++ models of the same files."""

from pathlib import Path

import fwl
import torch

GOLDENS = Path(__file__).resolve().parents[1] / "goldens"
BLOCKS = {"at": "all", "rank": 6, "chunk_tokens": 7, "step": 2.0, "decay": 0.9, "warmup_chunks": 2}
LAYER = {"size": 24, "chunk_tokens": 5}


def hf_model(name="llama-grouped", **options):
    """The published model of a golden, as transformers opens it."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(GOLDENS / name, attn_implementation="sdpa", **options)


def attached(name="llama-grouped", layer=None, blocks=None, **options):
    """The same with fast weights that do something."""
    model = fwl.attach(hf_model(name), layer=layer or False, blocks=blocks, **options)
    model.generation_config.eos_token_id = None
    torch.manual_seed(5)
    if layer:
        top = model.fast_weights.layer
        with torch.no_grad():
            top.W.normal_(0, 0.2)
            top.set_step_sizes({"U": 1e-3, "W": 1e-2, "a": 1e-2, "b": 1e-2})
    return model


def core_model(model, name="llama-grouped"):
    """The C++ model of the same files with the same fast weights."""
    memories = model.fast_weights
    top = None if memories.layer is None else memories.layer.core()
    blocks = None if memories.blocks is None else memories.blocks.settings
    core = fwl.LanguageModel(fwl.open_base(str(GOLDENS / name)), top, blocks=blocks)
    if memories.blocks is not None:
        for key, tensor in memories.blocks.adapter_tensors().items():
            core.parameters()[key].requires_grad_(False).copy_(tensor.detach()).requires_grad_()
    return core


def losses(model, tokens):
    """The loss of every token given those before it, from the model's logits.   B,T-1"""
    logits = model(input_ids=tokens).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")


def random_tokens(rows, count, vocabulary=61, seed=3):
    return torch.randint(1, vocabulary, (rows, count), generator=torch.Generator().manual_seed(seed))
