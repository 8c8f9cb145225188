"""A small Llama as a GGUF file with a vocabulary of bytes and a chat template, in place of a published model."""

import subprocess

import gguf
import torch

TEMPLATE = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
SIZE, HEADS, LAYERS, VOCABULARY = 64, 2, 2, 258


def byte_names():
    """GPT-2's names of the 256 bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    names = {byte: chr(byte) for byte in plain} | {byte: chr(256 + index) for index, byte in enumerate(others)}
    return [names[byte] for byte in range(256)]


def write_tiny_gguf(path, context=4096, quantized=False):
    writer = gguf.GGUFWriter(str(path), "llama")
    numbers = {"embedding_length": SIZE, "block_count": LAYERS, "attention.head_count": HEADS,
               "attention.head_count_kv": HEADS, "feed_forward_length": SIZE, "context_length": context}
    for key, value in numbers.items():
        writer.add_uint32(f"llama.{key}", value)
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([*byte_names(), "th", "<end>"])
    writer.add_token_types([1] * 257 + [3])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(257)
    writer.add_chat_template(TEMPLATE)
    torch.manual_seed(1)
    weights = {"token_embd": torch.randn(VOCABULARY, SIZE), "output_norm": torch.ones(SIZE)}
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
            weights[f"blk.{layer}.{name}"] = torch.randn(SIZE, SIZE) * 0.1
        weights |= {f"blk.{layer}.attn_norm": torch.ones(SIZE), f"blk.{layer}.ffn_norm": torch.ones(SIZE)}
    for name, tensor in weights.items():
        kind = gguf.GGMLQuantizationType.Q8_0 if quantized and tensor.dim() == 2 else None
        values = gguf.quants.quantize(tensor.numpy(), kind) if kind else tensor.numpy()
        writer.add_tensor(f"{name}.weight", values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def attach_tiny_adapter(program, model, text, folder):
    """An adapter that was trained in windows shorter than the model's context."""
    subprocess.run([program, "attach", "--base", model, "--text", text, "--out", folder, "--window-tokens", "64",
                    "--segment-tokens", "64", "--layer.size", "32", "--run.steps", "2", "--threads", "1"],
                   check=True, capture_output=True)
    return folder / "model"
