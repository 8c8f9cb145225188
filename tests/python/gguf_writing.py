"""Writes models of PyPI's transformers as GGUF files, in the layout of each architecture, with PyPI's gguf."""

import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import k_quants  # noqa: E402

ARCHITECTURES = {"llama": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2, "qwen3": gguf.MODEL_ARCH.QWEN3,
                 "gemma3_text": gguf.MODEL_ARCH.GEMMA3, "phi3": gguf.MODEL_ARCH.PHI3, "olmo2": gguf.MODEL_ARCH.OLMO2,
                 "mistral": gguf.MODEL_ARCH.LLAMA,
                 "smollm3": gguf.MODEL_ARCH.LLAMA}  # gguf 0.17 has no names of its own for it
PERMUTED = ("llama", "mistral", "smollm3")  # queries and keys, so that neighbours are rotated together


def permuted(tensor, heads):
    return tensor.reshape(heads, 2, -1, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def unpermuted(tensor, heads):
    return tensor.reshape(heads, -1, 2, *tensor.shape[1:]).swapaxes(1, 2).reshape(tensor.shape)


def heads_of(config, name):
    if config.model_type not in PERMUTED:
        return 0
    return config.num_attention_heads if ".q_proj." in name else config.num_key_value_heads if ".k_proj." in name else 0


def to_file(config, name, array):
    """The values as the file has them; `from_file` is the inverse."""
    if heads := heads_of(config, name):
        return permuted(array, heads)
    return array + 1 if config.model_type == "gemma3_text" and name.endswith("norm.weight") else array


def from_file(config, name, array):
    if heads := heads_of(config, name):
        return unpermuted(array, heads)
    return array - 1 if config.model_type == "gemma3_text" and name.endswith("norm.weight") else array


def quantized(array, kind):
    if kind == Type.Q4_K:
        return k_quants.quantize_q4_k(array)
    if kind == Type.Q6_K:
        return k_quants.quantize_q6_k(array)
    return gguf.quants.quantize(array, kind)


def add_settings(writer, config):
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_theta)
    head_size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    if config.model_type in ("qwen3", "gemma3_text"):
        writer.add_key_length(head_size)
        writer.add_value_length(head_size)
    if config.model_type in PERMUTED:
        writer.add_rope_dimension_count(head_size)
    if config.model_type in ("gemma3_text", "phi3"):
        writer.add_sliding_window(config.sliding_window or 0)
    scaling = config.rope_scaling or {}
    if scaling.get("rope_type") == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if config.model_type == "phi3":
        writer.add_rope_dimension_count(int(config.partial_rotary_factor * head_size))
        writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)


def extra_tensors(writer, model):
    """Frequencies that the file has ready-made: Llama 3's, and longrope's."""
    config = model.config
    scaling = config.rope_scaling or {}
    if scaling.get("rope_type") == "llama3":
        size = config.hidden_size // config.num_attention_heads
        plain = config.rope_theta ** (-np.arange(0, size, 2) / size)
        yield "rope_freqs.weight", (plain / model.model.rotary_emb.inv_freq.double().numpy()).astype(np.float32)
    if "short_factor" in scaling:
        writer.add_rope_scaling_attn_factors(model.model.rotary_emb.attention_scaling)
        yield "rope_factors_short.weight", np.array(scaling["short_factor"], np.float32)
        yield "rope_factors_long.weight", np.array(scaling["long_factor"], np.float32)


def write_model(path, model, kind, add_more=lambda writer: None):
    """Writes the model with quantised matrices, and gives it the values that they have in the file."""
    config = model.config
    architecture = ARCHITECTURES[config.model_type]
    in_file = "smollm3" if config.model_type == "smollm3" else gguf.MODEL_ARCH_NAMES[architecture]
    writer = gguf.GGUFWriter(str(path), in_file)
    add_settings(writer, config)
    add_more(writer)
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    for name, parameter in model.named_parameters():
        array = to_file(config, name, parameter.detach().numpy()).astype(np.float32)
        in_file = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if parameter.dim() == 1 or kind == Type.F32:
            writer.add_tensor(in_file, array)
            continue
        data = quantized(array, kind)
        writer.add_tensor(in_file, data, raw_dtype=kind)
        values = gguf.quants.dequantize(data, kind).reshape(array.shape)
        parameter.data.copy_(torch.from_numpy(np.ascontiguousarray(from_file(config, name, values))))
    for name, array in extra_tensors(writer, model):
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)
