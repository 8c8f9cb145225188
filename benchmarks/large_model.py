"""Makes a GGUF file of 1.5 billion random weights in Q4_K_M, in the shape of Qwen2.5-1.5B, with an adapter of fresh fast
weights, and shows the memory and speed of writing and reading with it.

python benchmarks/large_model.py OUT [--tokens 256 --generate 16 --keep]

Random weights write nonsense; sizes and products are those of a real model. The file has 1 GB and is removed afterwards
unless --keep is given. Memory is what the process has resident at most, with the mapped file.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import k_quants  # noqa: E402

LAYERS, WIDTH, INNER, HEADS, KV_HEADS, HEAD, WORDS = 28, 1536, 8960, 12, 2, 128, 151936
ADAPTER_WIDTH = 256


def random_rows(rows, columns, kind, rng):
    """Quantises some rows and repeats them: as many bytes as any others, made in seconds."""
    some = min(rows, 64)
    values = rng.normal(size=(some, columns)).astype(np.float32) / columns**0.5
    packed = (k_quants.quantize_q4_k if kind == Type.Q4_K else k_quants.quantize_q6_k)(values)
    return np.tile(packed, (-(-rows // some), 1))[:rows]


def is_fine(layer):
    """Q4_K_M keeps values and the feed-forward output in Q6_K in the first and last eighth, and every third between."""
    return layer < LAYERS // 8 or layer >= 7 * LAYERS // 8 or (layer - LAYERS // 8) % 3 == 2


def weights(rng):
    """Name, rows, columns and type of every matrix."""
    yield "token_embd.weight", WORDS, WIDTH, Type.Q6_K
    for layer in range(LAYERS):
        fine = Type.Q6_K if is_fine(layer) else Type.Q4_K
        for name, rows, columns, kind in (
                ("attn_q", WIDTH, WIDTH, Type.Q4_K), ("attn_k", KV_HEADS * HEAD, WIDTH, Type.Q4_K),
                ("attn_v", KV_HEADS * HEAD, WIDTH, fine), ("attn_output", WIDTH, WIDTH, Type.Q4_K),
                ("ffn_gate", INNER, WIDTH, Type.Q4_K), ("ffn_up", INNER, WIDTH, Type.Q4_K),
                ("ffn_down", WIDTH, INNER, fine)):
            yield f"blk.{layer}.{name}.weight", rows, columns, kind


def vectors():
    yield "output_norm.weight", WIDTH, 1
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", WIDTH, 1
        for name, size in (("attn_q", WIDTH), ("attn_k", KV_HEADS * HEAD), ("attn_v", KV_HEADS * HEAD)):
            yield f"blk.{layer}.{name}.bias", size, 0


def byte_names():
    """GPT-2's names of the 256 bytes."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = iter(range(256, 512))
    return [chr(byte if byte in shown else next(hidden)) for byte in range(256)]


def add_vocabulary(writer):
    tokens = byte_names() + ["th"]
    tokens += [f"w{index}" for index in range(WORDS - len(tokens) - 1)] + ["<|endoftext|>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.NORMAL] * (WORDS - 1) + [gguf.TokenType.CONTROL])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(WORDS - 1)


def make_file(path):
    rng = np.random.default_rng(0)
    writer = gguf.GGUFWriter(str(path), "qwen2")
    writer.add_context_length(32768)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(1e6)
    add_vocabulary(writer)
    for name, rows, columns, kind in weights(rng):
        writer.add_tensor(name, random_rows(rows, columns, kind, rng), raw_dtype=kind)
    for name, size, value in vectors():
        writer.add_tensor(name, np.full(size, value, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def make_adapter(folder, model):
    """A layer that has not been trained; its reading costs what a trained one's does."""
    rng = np.random.default_rng(1)

    def normal(*shape):
        return rng.normal(size=shape).astype(np.float32) * 0.02

    with open(model, "rb") as file:
        digest = "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()
    folder.mkdir(exist_ok=True)
    described = json.loads((ROOT / "adapters" / "smollm2-135m" / "adapter.json").read_text())
    described["base"] = {"architecture": "qwen2", "hash": digest, "name": model.name, "hidden_size": WIDTH}
    described["layer"]["size"] = ADAPTER_WIDTH
    (folder / "adapter.json").write_text(json.dumps(described, indent=1))
    tensors = {"U": normal(WIDTH, ADAPTER_WIDTH), "W": normal(ADAPTER_WIDTH, WIDTH), "a": normal(ADAPTER_WIDTH),
               "b": normal(WIDTH), "decay_logits": np.full(6, 3.9, np.float32), "gain": np.ones(WIDTH, np.float32),
               "log_steps": np.full(6, -7, np.float32), "shift": np.zeros(WIDTH, np.float32)}
    save_file({f"fast.{name}": tensor for name, tensor in tensors.items()}, folder / "adapter.safetensors",
              {"format": "pt", "base": digest})


def run(command):
    """Seconds, and the most memory that the process had resident."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}\n{errors}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, output


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="a folder with 1 GB of room")
    parser.add_argument("--tokens", type=int, default=256, help="how many tokens of the text are read")
    parser.add_argument("--generate", type=int, default=16)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    model, adapter = options.out / "random-1.5b-q4_k_m.gguf", options.out / "adapter"
    make_file(model)
    make_adapter(adapter, model)
    size = model.stat().st_size
    print(f"{model}: {size / 1e6:.0f} MB")
    fwl, text = str(ROOT / "build" / "release" / "fwl"), str(ROOT / "README.md")
    commands = {
        "open": [fwl, "inspect", str(model), "--json"],
        "write": [fwl, "generate", "--model", str(model), "--prompt", "Once upon a time", "-n", str(options.generate)],
        "read": [fwl, "perplexity", "--model", str(model), "--text", text, "--max-tokens", str(options.tokens)],
        "read with fast weights": [fwl, "perplexity", "--model", str(model), "--adapter", str(adapter), "--text", text,
                                   "--max-tokens", str(options.tokens)],
    }
    for name, command in commands.items():
        seconds, resident, _ = run(command)
        print(f"{name}: {seconds:.1f} s, {resident / 1e6:.0f} MB resident, {resident / size:.2f} of the file")
    if not options.keep:
        model.unlink()


if __name__ == "__main__":
    main()
