"""A tiny Llama model as a GGUF file: all bytes, a few merges, control tokens and a chat template; random weights."""

import random
import struct

TEXT, ARRAY, UINT32, FLOAT32, INT32 = 8, 9, 4, 6, 5
CHATML = ("{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
          "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def byte_names():
    """GPT-2's names of the 256 bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    names = {byte: chr(byte) for byte in shown} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}
    return [names[byte] for byte in range(256)]


def text(value):
    data = value.encode(errors="surrogateescape")
    return struct.pack("<Q", len(data)) + data


def value(kind, content):
    if kind == TEXT:
        return text(content)
    if kind == ARRAY:
        inner, items = content
        return struct.pack("<IQ", inner, len(items)) + b"".join(value(inner, item) for item in items)
    return struct.pack({UINT32: "<I", FLOAT32: "<f", INT32: "<i"}[kind], content)


def default_metadata():
    tokens = byte_names() + ["th", "the", "<|im_start|>", "<|im_end|>"]
    return {
        "general.architecture": (TEXT, "llama"),
        "llama.context_length": (UINT32, 64),
        "llama.embedding_length": (UINT32, 16),
        "llama.block_count": (UINT32, 2),
        "llama.feed_forward_length": (UINT32, 32),
        "llama.attention.head_count": (UINT32, 4),
        "llama.attention.head_count_kv": (UINT32, 2),
        "llama.attention.layer_norm_rms_epsilon": (FLOAT32, 1e-5),
        "tokenizer.ggml.model": (TEXT, "gpt2"),
        "tokenizer.ggml.pre": (TEXT, "gpt-2"),
        "tokenizer.ggml.tokens": (ARRAY, (TEXT, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (INT32, [1] * 258 + [3, 3])),
        "tokenizer.ggml.merges": (ARRAY, (TEXT, ["t h", "th e"])),
        "tokenizer.ggml.eos_token_id": (UINT32, 259),
        "tokenizer.chat_template": (TEXT, CHATML),
    }


def default_shapes():
    """As in the file: innermost first."""
    shapes = {"token_embd.weight": [16, 260], "output_norm.weight": [16]}
    for layer in range(2):
        shapes |= {f"blk.{layer}.{name}.weight": shape for name, shape in {
            "attn_norm": [16], "attn_q": [16, 16], "attn_k": [16, 8], "attn_v": [16, 8], "attn_output": [16, 16],
            "ffn_norm": [16], "ffn_gate": [16, 32], "ffn_up": [16, 32], "ffn_down": [32, 16]}.items()}
    return shapes


def gguf_bytes(metadata=None, shapes=None):
    metadata, shapes = metadata or default_metadata(), shapes or default_shapes()
    chance = random.Random(1)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(metadata))
    for key, (kind, content) in metadata.items():
        header += text(key) + struct.pack("<I", kind) + value(kind, content)
    data = b""
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= min(size, 1 << 16)
        header += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data))
        numbers = [1.0] * count if "norm" in name else [chance.gauss(0, 0.3) for _ in range(count)]
        data += struct.pack(f"<{count}f", *numbers)
        data += bytes(-len(data) % 32)
    return header + bytes(-len(header) % 32) + data


def changed(key, content):
    """The metadata of the tiny model with one entry of another value."""
    metadata = default_metadata()
    kind = metadata[key][0] if key in metadata else UINT32
    return {**metadata, key: (kind, content)}
