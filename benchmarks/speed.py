"""Every comparison of speed in one run: a JSON record and a table with ratios.

python benchmarks/speed.py [--out results/speed/NAME.json] [--llama-bench PATH] [--threads 2] [--rounds 2] [--only scoring,writing]

Sides take turns, each in a process of its own; the best of the rounds counts, because a shared machine's speed changes. On
a CPU without bf16 units the bf16 rows are left out: there every library emulates bf16, more slowly than fp32. llama-bench
runs on the same file with the same number of threads. The 1.5-billion-parameter file is of random weights.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import layer_speed
import training_speed

ROOT = Path(__file__).resolve().parents[1]
FWL = str(ROOT / "build/release/fwl")
XL_LARGE = ["--vocabulary-size", "267735", "--model.architecture", "transformer-xl", "--model.layers", "18",
            "--model.hidden-size", "1024", "--model.heads", "16", "--model.ffn-size", "4096",
            "--model.memory-tokens", "1600", "--model.cutoffs", "20000", "40000", "200000", "--model.divisor", "4",
            "--layer.gradient-at", "slow", "--layer.segment-tokens", "384"]


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="the record; a table of the same name is written beside it")
    parser.add_argument("--llama-bench", metavar="PATH", default=os.environ.get("LLAMA_BENCH"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="some of " + ", ".join(COMPARISONS))
    parser.add_argument("--tokens", type=int, default=2048, help="scored by SmolLM2")
    parser.add_argument("--generate", type=int, default=128, help="written by SmolLM2")
    parser.add_argument("--layer-tokens", type=int, default=4096, help="of the layer's training step")
    parser.add_argument("--peer", nargs=2, metavar=("TYPE", "TASK"), help="one measurement of transformers, as JSON")
    return parser.parse_args(arguments)


class Record:
    """What was measured: numbers by name, and the rows of the table."""

    def __init__(self, options):
        self.options, self.numbers, self.rows = options, {}, []

    def best_in_turns(self, sides, is_rate=True, rounds=None):
        """Sides: name -> function that gives tokens per second (or seconds). None: it cannot be measured here."""
        best = {}
        for _ in range(rounds or self.options.rounds):
            for name, measure in sides.items():
                value = measure()
                if value is None:
                    continue
                known = best.get(name, value)
                best[name] = max(known, value) if is_rate else min(known, value)
        self.numbers.update(best)
        for name, value in best.items():
            print(f"  {name}: {value:.4g} {'tokens/s' if is_rate else 's'}", flush=True)
        return best

    def add_row(self, title, ours, peer, asked, aim, best, is_rate=True):
        ratio = None
        if ours in best and peer in best:
            ratio = best[ours] / best[peer] if is_rate else best[peer] / best[ours]
        self.rows.append({"comparison": title, "ours": ours, "peer": peer, "asked": asked, "aim": aim, "ratio": ratio,
                          "value": best.get(ours), "peer_value": best.get(peer)})


def run_json(command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def fwl_bench(options, model, test, tokens, method="static", more=()):
    """Tokens per second of one test; one round after a warm-up."""
    prompt, generate = (tokens, 0) if test == "pp" else (0, tokens)
    results = run_json([FWL, "bench", *model, "-p", prompt, "-n", generate, "-r", 1, "--method", method, "-t",
                        options.threads, "--output", "json", *more])
    return max(results[-1]["tokens_per_second"])


def llama_bench(options, path, test, tokens):
    if not options.llama_bench:
        return None
    prompt, generate = (tokens, 0) if test == "pp" else (0, tokens)
    result = subprocess.run([options.llama_bench, "-m", path, "-p", str(prompt), "-n", str(generate), "-r", "1", "-t",
                             str(options.threads), "-o", "json"], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"  llama-bench: {result.stderr.strip().splitlines()[-1:]}")
        return None
    return json.loads(result.stdout)[-1]["avg_ts"]


def has_bf16_units():
    return bool(re.search(r"\b(avx512_bf16|amx_bf16|bf16)\b", Path("/proc/cpuinfo").read_text()))


def smollm2():
    fetched = subprocess.run([FWL, "get", "smollm2"], check=True, capture_output=True, text=True)
    return fetched.stdout.splitlines()[-1]


def measure_peer(options, dtype, task):
    """Tokens per second of transformers on the same file, dequantised as it loads it."""
    import torch
    import transformers

    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    path = Path(smollm2())
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name,
                                                              dtype=getattr(torch, dtype)).eval()
    torch.manual_seed(0)
    tokens = torch.randint(0, 49152, (1, options.tokens))
    with torch.no_grad():
        model(tokens[:, :64])
        start = time.perf_counter()
        if task == "pp":
            model(tokens, labels=tokens)
            return options.tokens / (time.perf_counter() - start)
        count = min(32, options.generate)
        model.generate(tokens[:, :8], max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0)
        return count / (time.perf_counter() - start)


def peer_apart(options, dtype, task):
    if dtype == "bfloat16" and not has_bf16_units():
        return None
    command = [sys.executable, __file__, "--peer", dtype, task, "--threads", options.threads, "--tokens", options.tokens,
               "--generate", options.generate]
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if result.returncode != 0:
        print(f"  transformers: {result.stderr.strip().splitlines()[-1:]}")
        return None
    return json.loads(result.stdout.splitlines()[-1])


def compare_scoring(record):
    options, path = record.options, smollm2()
    model, layer = ["-m", path], ["-m", path, "--adapter", ROOT / "adapters/smollm2-135m"]
    bf16 = ["--precision", "bf16"]
    best = record.best_in_turns({
        "scoring, static": lambda: fwl_bench(options, model, "pp", options.tokens),
        "scoring, static, bf16": lambda: fwl_bench(options, model, "pp", options.tokens, more=bf16) if has_bf16_units() else None,
        "scoring, layer": lambda: fwl_bench(options, layer, "pp", options.tokens, "fwl"),
        "scoring, transformers fp32": lambda: peer_apart(options, "float32", "pp"),
        "scoring, transformers bf16": lambda: peer_apart(options, "bfloat16", "pp"),
        "scoring, llama.cpp": lambda: llama_bench(options, path, "pp", options.tokens)})
    fast = "scoring, static, bf16" if "scoring, static, bf16" in best else "scoring, static"
    title = f"SmolLM2 scoring T {options.tokens}"
    record.add_row(f"{title} against transformers fp32", fast, "scoring, transformers fp32", 2.0, 3, best)
    record.add_row(f"{title} against transformers bf16", fast, "scoring, transformers bf16", 1.3, 2, best)
    record.add_row(f"{title} against llama.cpp", fast, "scoring, llama.cpp", None, None, best)
    record.add_row("scoring with the shipped layer against static", "scoring, layer", "scoring, static", 0.8, 0.88, best)


def compare_writing(record):
    options, path = record.options, smollm2()
    model, layer = ["-m", path], ["-m", path, "--adapter", ROOT / "adapters/smollm2-135m"]
    bytes_ = ["--activations", "q8"]
    best = record.best_in_turns({
        "writing, static": lambda: fwl_bench(options, model, "tg", options.generate),
        "writing, static, q8": lambda: fwl_bench(options, model, "tg", options.generate, more=bytes_),
        "writing, llama.cpp": lambda: llama_bench(options, path, "tg", options.generate),
        "writing, layer": lambda: fwl_bench(options, layer, "tg", options.generate, "fwl"),
        "writing, transformers fp32": lambda: peer_apart(options, "float32", "tg"),
        "writing, transformers bf16": lambda: peer_apart(options, "bfloat16", "tg")})
    record.add_row("writing, static, against llama.cpp on the same file", "writing, static", "writing, llama.cpp", 1.0, 1.2, best)
    record.add_row("the same with 8-bit activations, as llama.cpp's", "writing, static, q8", "writing, llama.cpp", 1.0, 1.2, best)
    record.add_row("writing with the shipped layer against static", "writing, layer", "writing, static", 0.85, 0.95, best)
    record.add_row("writing against transformers fp32", "writing, static", "writing, transformers fp32", None, None, best)


def compare_k_quants(record):
    options = record.options
    import large_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random-1.5b-q4_k_m.gguf"
        large_model.make_file(path)
        model, tokens = ["-m", path], 24
        best = record.best_in_turns({
            "Q4_K_M writing": lambda: fwl_bench(options, model, "tg", tokens),
            "Q4_K_M writing, q8": lambda: fwl_bench(options, model, "tg", tokens, more=["--activations", "q8"]),
            "Q4_K_M writing, llama.cpp": lambda: llama_bench(options, path, "tg", tokens)})
    record.add_row("Q4_K_M writing against llama.cpp", "Q4_K_M writing", "Q4_K_M writing, llama.cpp", 0.9, 1.1, best)
    record.add_row("the same with 8-bit activations", "Q4_K_M writing, q8", "Q4_K_M writing, llama.cpp", 0.9, 1.1, best)


def compare_layer(record):
    options = record.options
    layer = layer_speed.parse_arguments(["--tokens", str(options.layer_tokens), "--threads", str(options.threads),
                                         "--repeats", "1"])

    def seconds(case):
        if case in ("twin bf16", "bf16") and not has_bf16_units():
            return None
        return layer_speed.measure_apart(case, "train", layer)["seconds"]

    best = record.best_in_turns({f"layer, {case}": lambda case=case: seconds(case)
                                 for case in ("twin", "twin bf16", "fp32", "bf16")}, is_rate=False, rounds=1)  # a minute each
    record.numbers["layer, flops"] = layer_speed.product_flops(layer)["train"]
    ours = "layer, bf16" if "layer, bf16" in best else "layer, fp32"
    title = f"layer training step (T {options.layer_tokens}, D 768, H 3072, V 32,768)"
    record.add_row(f"{title} against the PyTorch twin in fp32", ours, "layer, twin", 2.5, 4, best, False)
    record.add_row("the same against the twin under bf16 autocast", ours, "layer, twin bf16", 1.5, 2, best, False)


def compare_training(record):
    options = record.options
    small = training_speed.parse_arguments(["--threads", str(options.threads), "--steps", "4"])
    precision = "bf16" if has_bf16_units() else "fp32"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        training_speed.write_bytes(folder)
        best = record.best_in_turns({
            "small model, PyTorch": lambda: min(training_speed.plain_seconds(small, True)),
            "small model, fwl": lambda: min(training_speed.own_seconds(small, "fwl", "slow", folder, precision))}, False)
    record.add_row("training step of the small byte model (4 x 192, 2 x 2048) against plain PyTorch", "small model, fwl",
                   "small model, PyTorch", 2, 3, best, False)


def compare_transformer_xl(record):
    options = record.options
    best = record.best_in_turns({f"Transformer-XL large, {method}":
                                 lambda method=method: fwl_bench(options, XL_LARGE, "pp", 384, method)
                                 for method in ("static", "fwl")})
    record.add_row("Transformer-XL large shape, fast weights over static: 1 / 1.175 asked, 1 / 1.12 aimed at",
                   "Transformer-XL large, fwl", "Transformer-XL large, static", 1 / 1.175, 1 / 1.12, best)


COMPARISONS = {"writing": compare_writing, "scoring": compare_scoring, "k-quants": compare_k_quants,
               "transformer-xl": compare_transformer_xl, "layer": compare_layer, "training": compare_training}


def machine(options):
    text = subprocess.run([FWL, "--version"], check=True, capture_output=True, text=True).stdout
    facts = dict(re.split(r"\s+", line, maxsplit=1) for line in text.splitlines())
    return {"cpu": facts["cpu"], "products": facts["products"], "threads": options.threads,
            "has_bf16_units": has_bf16_units(), "load_before": os.getloadavg()[0]}


def shares_of_peak(record, peak):
    """Floating-point operations of products per second, as a share of the measured fp32 peak."""
    shares = {}
    for name, flops in (("layer, fp32", record.numbers.get("layer, flops")), ("layer, twin", record.numbers.get("layer, flops"))):
        if name in record.numbers and flops:
            shares[name] = flops / record.numbers[name] / peak
    scored = 2 * 134.5e6 + 4 * record.options.tokens / 2 * 30 * 576  # weights, and attention on average
    for name in ("scoring, static", "scoring, transformers fp32"):
        if name in record.numbers:
            shares[name] = record.numbers[name] * scored / peak
    return shares


def table_of(result):
    def ratio(value):
        return "not measured" if value is None else f"{value:.2f}x"

    def asked(value):
        return "" if value is None else f"{value:.2f}x"

    lines = ["| | asked | aim | measured |", "|---|---:|---:|---:|"]
    lines += [f"| {row['comparison']} | {asked(row['asked'])} | {asked(row['aim'])} | {ratio(row['ratio'])} |"
              for row in result["rows"]]
    lines += ["", "| | measured |", "|---|---:|"]
    lines += [f"| {name} | {value:.4g} |" for name, value in result["numbers"].items()]
    lines += ["", "| share of the fp32 peak in products | |", "|---|---:|"]
    lines += [f"| {name} | {100 * share:.0f} % |" for name, share in result["share_of_peak"].items()]
    facts = result["machine"]
    return "\n".join([f"{facts['cpu']}, {facts['threads']} threads; peak in fp32 {result['peak_flops'] / 1e9:.0f} GFLOP/s; "
                      f"{facts['products']}. Rates in tokens per second, `layer` and `small model` in seconds; "
                      f"{result['date']}, load {facts['load_before']:.1f}, {result['minutes']:.0f} minutes:", "", *lines, ""])


def main(arguments=None):
    options = parse_arguments(arguments)
    if options.peer:
        print(json.dumps(measure_peer(options, *options.peer)))
        return
    start, record = time.time(), Record(options)
    facts = machine(options)
    peak = layer_speed.gemm_rate(options.threads)
    for name in options.only.split(",") if options.only else COMPARISONS:
        print(f"== {name}", flush=True)
        COMPARISONS[name](record)
    command = " ".join(["python benchmarks/speed.py", *(sys.argv[1:] if arguments is None else arguments)])
    result = {"command": command.replace(str(options.llama_bench), "llama-bench"),  # where it is built does not matter
              "date": time.strftime("%Y-%m-%d"), "minutes": (time.time() - start) / 60, "machine": facts,
              "peak_flops": peak, "numbers": record.numbers, "share_of_peak": shares_of_peak(record, peak),
              "rows": record.rows}
    table = table_of(result)
    print(table)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n")
        options.out.with_suffix(".md").write_text(table)


if __name__ == "__main__":
    main()
