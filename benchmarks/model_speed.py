"""SmolLM2-135M from its GGUF file against Hugging Face transformers in fp32: scoring, greedy generation, and how far
apart the logits are. Taken in turns in one process, best of several, because a shared machine's speed changes.

python benchmarks/model_speed.py [--tokens 2048 --generate 64 --repeats 5 --threads 2 --perplexity TEXT]
"""

import argparse
import subprocess
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--generate", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--perplexity", metavar="TEXT", help="also the perplexity of both on the first 24 windows of it")
    return parser.parse_args(arguments)


def best_in_turns(actions, repeats):
    best = dict.fromkeys(actions, float("inf"))
    for _ in range(repeats):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def open_peer(path):
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    warnings.filterwarnings("ignore")
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32).eval()


def score(model, tokens):
    hidden = model.read(tokens, model.new_state(1))
    return model.head.loss(hidden[0, :-1], tokens[0, 1:])


def generate(model, prompt, count):
    state = model.new_state(1)
    token = model.head.logits(model.read(prompt, state)[:, -1]).argmax(-1, keepdim=True)
    tokens = [token]
    while len(tokens) < count:
        token = model.head.logits(model.read(token, state)[:, -1]).argmax(-1, keepdim=True)
        tokens.append(token)
    return tokens


def print_table(title, best, amount, peer):
    for name, seconds in best.items():
        print(f"| {title} | {name} | {amount / seconds:.1f} | {best[peer] / seconds:.2f}x |")


def print_perplexity(text, ours, peer, tokens_per_window, tokenizer):
    import torch

    ids = torch.tensor(tokenizer.encode(Path(text).read_bytes()).astype("int64"))
    windows = ids[:24 * tokens_per_window].split(tokens_per_window)
    total = {"fwl": 0.0, "transformers": 0.0}
    for window in windows:
        total["fwl"] += score(ours, window[None]).double().sum().item()
        logits = peer(window[None]).logits[0, :-1]
        total["transformers"] += torch.nn.functional.cross_entropy(logits, window[1:], reduction="sum").double().item()
    count = sum(len(window) - 1 for window in windows)
    print(f"perplexity of {count} tokens in windows of {tokens_per_window}: "
          + ", ".join(f"{name} {torch.tensor(value / count).exp():.4f}" for name, value in total.items()))


def main(arguments=None):
    options = parse_arguments(arguments)
    import torch

    import fwl

    torch.set_num_threads(options.threads)
    fetched = subprocess.run([ROOT / "build/release/fwl", "get", "smollm2"], check=True, capture_output=True, text=True)
    path = Path(fetched.stdout.splitlines()[-1])
    models = {weights: fwl.open_base(str(path), weights=weights) for weights in ("fp32", "quantized")}
    peer = open_peer(path)
    torch.manual_seed(0)
    tokens = torch.randint(0, models["quantized"].vocabulary_size, (1, options.tokens))
    prompt = tokens[:, :64]
    with torch.no_grad():
        logits = models["quantized"].head.logits(models["quantized"].read(prompt, models["quantized"].new_state(1))[0])
        print(f"largest difference of the logits to transformers': {(logits - peer(prompt).logits[0]).abs().max():.1e}")
        print(f"{options.threads} threads, best of {options.repeats}\n| | | tokens/s | to transformers |\n|---|---|---|---|")
        best = best_in_turns({"transformers fp32": lambda: peer(tokens, labels=tokens),
                              "fwl fp32": lambda: score(models["fp32"], tokens),
                              "fwl quantized": lambda: score(models["quantized"], tokens)}, options.repeats)
        print_table(f"scoring, T={options.tokens}", best, options.tokens, "transformers fp32")
        length = {"max_new_tokens": options.generate, "min_new_tokens": options.generate, "do_sample": False}
        best = best_in_turns({"transformers fp32": lambda: peer.generate(prompt, pad_token_id=0, **length),
                              "fwl fp32": lambda: generate(models["fp32"], prompt, options.generate),
                              "fwl quantized": lambda: generate(models["quantized"], prompt, options.generate)},
                             options.repeats)
        print_table(f"generation of {options.generate}", best, options.generate, "transformers fp32")
        if options.perplexity:
            print_perplexity(options.perplexity, models["quantized"], peer, 2048, fwl.open_tokenizer(str(path)))


if __name__ == "__main__":
    main()
