"""Makes GGUF files of random weights in the shape of published models, and shows the memory and speed of opening them,
writing with them, and reading a text with and without memories in the blocks.

python benchmarks/large_model.py OUT [--shape qwen2.5-1.5b gemma3-270m] [--llama-bench PROGRAM] [--record FILE]

Random weights write nonsense; sizes and products are those of a real model: 1.5 billion weights in Q4_K_M (1 GB), and Gemma's
vocabulary of 262,144 tokens in Q8_0 (0.3 GB). Files are removed afterwards unless --keep is given. Memory is what the process has
resident at most, with the mapped file.
"""

import argparse
import datetime
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests" / "python")]
import k_quants  # noqa: E402

LAYERS, WIDTH, INNER, HEADS, KV_HEADS, HEAD, WORDS = 28, 1536, 8960, 12, 2, 128, 151936
GEMMA_WORDS = 262144


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


def add_pieces(writer):
    """A SentencePiece vocabulary of Gemma's size: control tokens, bytes, and pieces of made-up words."""
    control = ["<pad>", "<eos>", "<bos>", "<unk>"]
    pieces = ["\u2581", *"abcdefghijklmnopqrstuvwxyz.,", *(f"\u2581w{index}" for index in range(GEMMA_WORDS))]
    tokens = (control + [f"<0x{byte:02X}>" for byte in range(256)] + pieces)[:GEMMA_WORDS]
    types = [gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.UNKNOWN] + [gguf.TokenType.BYTE] * 256
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * 260 + [-float(rank) for rank in range(len(tokens) - 260)])
    writer.add_token_types(types + [gguf.TokenType.NORMAL] * (len(tokens) - 260))
    writer.add_bos_token_id(2)
    writer.add_eos_token_id(1)


def make_gemma(path):
    import torch
    from gguf_writing import write_model
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    torch.manual_seed(0)
    model = Gemma3ForCausalLM(Gemma3TextConfig(
        vocab_size=GEMMA_WORDS, hidden_size=640, intermediate_size=2048, num_hidden_layers=18, num_attention_heads=4,
        num_key_value_heads=1, head_dim=256, sliding_window=512, max_position_embeddings=32768, tie_word_embeddings=True))
    write_model(path, model, Type.Q8_0, add_pieces)


SHAPES = {"qwen2.5-1.5b": make_file, "gemma3-270m": make_gemma}


def run(command):
    """Seconds, and the most memory that the process had resident."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}\n{errors}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024, output


def peer_speed(program, model, options):
    """Tokens per second of llama.cpp on the same file, reading and writing."""
    done = subprocess.run([program, "-m", model, "-p", str(options.tokens), "-n", str(options.generate), "-t", "2", "-r", "2", "-o",
                           "json"], capture_output=True, text=True, check=True)
    return {"write" if test["n_gen"] else "read": round(test["avg_ts"], 2) for test in json.loads(done.stdout)}


def measure(name, options):
    model = options.out / f"random-{name}.gguf"
    # A process of its own makes the file: what this one has resident counts as its children's peak.
    maker = multiprocessing.get_context("spawn").Process(target=SHAPES[name], args=(model,))
    maker.start()
    maker.join()
    size = model.stat().st_size
    print(f"{model}: {size / 1e6:.0f} MB", flush=True)
    fwl = str(ROOT / "build" / "release" / "fwl")
    text = ["--text", str(ROOT / "README.md"), "--max-tokens", str(options.tokens), "--json"]
    write = [fwl, "generate", "--model", str(model), "--prompt", "Once upon a time", "-n", str(options.generate), "--seed", "1"]
    commands = {
        "open": [fwl, "inspect", str(model), "--json"],
        "write": write,
        "write with memories in the blocks": [*write, "--blocks", "all"],
        "read": [fwl, "perplexity", "--model", str(model), *text],
        "read with memories in the blocks": [fwl, "perplexity", "--model", str(model), "--method", "blocks", *text],
    }
    results = {}
    for command in commands:
        seconds, resident, output = run(commands[command])
        results[command] = {"seconds": round(seconds, 2), "resident_mb": round(resident / 1e6), "over_file_mb": round((resident - size) / 1e6),
                            "over_file": round(resident / size, 3)}
        if command.startswith("read"):
            results[command]["tokens_per_second"] = round(json.loads(output)["methods"][0]["tokens_per_second"], 2)
        print(f"{command}: {json.dumps(results[command])}", flush=True)
    if options.llama_bench:
        results["llama.cpp, tokens per second"] = peer_speed(options.llama_bench, model, options)
    if not options.keep:
        model.unlink()
    return {"file_mb": round(size / 1e6), **results}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="a folder with 1.5 GB of room")
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--tokens", type=int, default=256, help="how many tokens of the text are read")
    parser.add_argument("--generate", type=int, default=16)
    parser.add_argument("--llama-bench", help="llama.cpp's llama-bench, to compare with")
    parser.add_argument("--record", type=Path, help="JSON with everything measured")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    shapes = {name: measure(name, options) for name in options.shape}
    if options.record:
        record = {"command": f"python benchmarks/large_model.py OUT --record {options.record}", "date": f"{datetime.date.today()}",
                  "cores": os.cpu_count(), "load_at_start": round(load, 1), "tokens": options.tokens, "shapes": shapes}
        options.record.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
