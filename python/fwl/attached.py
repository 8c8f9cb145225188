"""fwl.attach: fast weights for a causal language model of transformers, in place."""

import os
from typing import Optional, Union

import torch
from torch import nn

from fwl import _C
from fwl.hf import check_transformers
from fwl.layer import FastWeightLayer

PROBE_TOKENS = 64


def attach(model: nn.Module, adapter: Union[None, str, os.PathLike] = None, *, layer: Union[bool, dict] = False,
           blocks: Union[None, str, dict] = None, base: Union[None, str, os.PathLike] = None, any_base: bool = False,
           adapt: str = "prompt", first_order: bool = False) -> nn.Module:
    """Gives a causal language model of transformers fast weights, and returns it.

    ``adapter``: a folder of fast weights that were trained for this model, by `fwl attach` or here. Without one,
    ``layer`` puts an untrained layer on top (True, or a dict of what `fwl attach` has under layer.*, e.g.
    {"size": 256}), and ``blocks`` untrained memories into the blocks ("all", "last-half", "3,7,12-29", or a dict of what
    it has under blocks.*). With none of them: blocks="all", which helps without training.

    ``base``: file or folder of the model, which an adapter names by its hash; found by itself after from_pretrained of a
    folder. ``any_base``: accept an adapter that was trained with other weights of the same sizes. ``adapt``: see
    ``model.fast_weights``. ``first_order``: train without second derivatives.

    The base's parameters are frozen, so that an optimizer trains the fast weights alone. ``model.save_pretrained`` writes
    an adapter that the command line reads too.
    """
    check_transformers("attach")
    from fwl.hf.attached import AttachedBody, AttachedModel
    from fwl.hf.block_memory import BlockMemory
    from fwl.hf.fast_weights import FastWeights
    from fwl.hf.mixing import mix_in

    body = _body_of(model)
    tensors = None
    if adapter is not None:
        settings, tensors = _C.read_adapter(os.fspath(adapter))
    else:
        settings = _settings(layer, blocks, first_order)
    base = _base_of(model, base)
    hidden = _probe(model, body)
    _check_base(adapter, settings, base, hidden.shape[-1], any_base)
    settings["base"] = {**settings.get("base", {}), "hidden_size": hidden.shape[-1],
                        "architecture": model.config.model_type}
    settings.setdefault("window_tokens", getattr(model.config, "max_position_embeddings", None) or 2048)
    settings = _C.adapter_settings(settings)

    top = _layer(settings, hidden) if settings["memory"]["kind"] == "layer" else None
    has_blocks = settings.get("blocks", {"at": "none"})["at"] != "none"
    memory = BlockMemory(settings, model.config.get_text_config(decoder=True).num_hidden_layers, hidden.shape[-1]) \
        if has_blocks else None
    memories = FastWeights(settings, top, memory)
    if tensors is not None:
        memories.load_adapter_tensors(tensors)
    output = model.get_output_embeddings().weight
    memories.to(output.device, torch.float64 if output.dtype == torch.float64 else torch.float32)
    memories.base, memories.adapt = base, adapt
    memories.join(model, body)
    model.requires_grad_(False)
    model.fast_weights = memories
    body.__dict__["fast_weights"] = memories
    mix_in(AttachedBody, body)
    mix_in(AttachedModel, model)
    return model


def from_pretrained(path: Union[str, os.PathLike], adapter: Union[None, str, os.PathLike] = None, **options):
    """``AutoModelForCausalLM.from_pretrained(path, …)`` with the adapter attached; ``path`` may be a GGUF file."""
    check_transformers("from_pretrained")
    from transformers import AutoModelForCausalLM

    path = os.fspath(path)
    if path.endswith(".gguf"):
        model = AutoModelForCausalLM.from_pretrained(os.path.dirname(path) or ".", gguf_file=os.path.basename(path),
                                                     **options)
    else:
        model = AutoModelForCausalLM.from_pretrained(path, **options)
    return model if adapter is None else attach(model, adapter, base=path)


def _settings(layer, blocks, first_order: bool) -> dict:
    if not layer and blocks is None:
        blocks = "all"
    settings: dict = {"objective": "fwl-first-order" if first_order else "fwl"}
    if layer or isinstance(layer, dict):
        settings |= {"memory": {"kind": "layer"}, "layer": layer if isinstance(layer, dict) else {}}
    if blocks is not None:
        settings["blocks"] = blocks if isinstance(blocks, dict) else {"at": blocks}
    return settings


def _body_of(model: nn.Module) -> nn.Module:
    """The part of the model that ends in the last hidden states."""
    from transformers import PreTrainedModel

    if not isinstance(model, PreTrainedModel):
        raise _C.UserError(f"attach: expected a causal language model of transformers, got {type(model).__name__}")
    if hasattr(model, "fast_weights"):
        raise _C.UserError("attach: expected a model without fast weights, got one that has them")
    body = model.base_model if model.base_model is not model else getattr(model, "model", None)
    if model.config.is_encoder_decoder or model.get_output_embeddings() is None or body is None:
        raise _C.UserError(f"attach: expected a causal language model with a head, got {type(model).__name__}")
    return body


def _base_of(model: nn.Module, base) -> Optional[str]:
    """Where the model's files are, if they are on this machine."""
    path = os.fspath(base) if base is not None else model.config._name_or_path
    if base is not None and not os.path.exists(path):
        raise _C.UserError(f"attach: base: expected a file or folder, got {path!r}")
    return path if path and os.path.exists(path) else None


def _check_base(adapter, settings: dict, base: Optional[str], hidden_size: int, any_base: bool) -> None:
    if adapter is None:
        return
    named = settings["base"]
    if named["hidden_size"] != hidden_size:
        raise _C.UserError(f"{adapter}: expected a base with hidden states of {named['hidden_size']}, got {hidden_size}")
    if settings["memory"]["kind"] not in ("layer", "none"):
        raise _C.UserError(f"{adapter}: expected memory.kind layer or none, got {settings['memory']['kind']}; the "
                           "command line knows the other kinds")
    if base is None or any_base:
        return
    found = _C.model_hash(base)
    if found != named["hash"]:
        raise _C.UserError(f"{adapter}: expected the base {named['name']} ({named['hash']}), got {base} ({found}); "
                           "any_base=True if it is the same model in another format")


def _layer(settings: dict, hidden: torch.Tensor) -> FastWeightLayer:
    options = settings["layer"]
    layer = FastWeightLayer.from_settings(hidden.shape[-1], options, settings["objective"] == "fwl-first-order")
    layer.fit_step_sizes(hidden, options["step_scale"])
    return layer


@torch.no_grad()
def _probe(model: nn.Module, body: nn.Module) -> torch.Tensor:
    """Hidden states of a few tokens, after a check that the head is the output embedding and nothing else."""
    was_training = model.training
    model.eval()
    output = model.get_output_embeddings()
    most = min(PROBE_TOKENS, output.weight.shape[0], getattr(model.config, "max_position_embeddings", PROBE_TOKENS))
    tokens = torch.arange(most, device=output.weight.device).unsqueeze(0)
    try:
        hidden = body(input_ids=tokens, use_cache=False).last_hidden_state
        logits = model(input_ids=tokens, use_cache=False).logits
    finally:
        model.train(was_training)
    expected = nn.functional.linear(hidden, output.weight, getattr(output, "bias", None))
    if logits.shape != expected.shape or not torch.allclose(logits, expected.to(logits.dtype), rtol=1e-2, atol=1e-2):
        raise _C.UserError(f"attach: expected logits that are the output embedding's, got others from "
                           f"{type(model).__name__}; a soft cap or a scale of the logits is not supported")
    return hidden.float().cpu()
