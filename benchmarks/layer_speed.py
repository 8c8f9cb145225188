"""The fast weight layer against a plain PyTorch twin that uses autograd twice: time and extra memory, in one run.

Every measurement runs in a process of its own, so that the peak of memory is its own.
python benchmarks/layer_speed.py [--tokens 4096 --width 768 --layer-width 3072 --vocabulary 32768 --threads 2]
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

CASES = ("twin", "twin bf16", "fp32", "bf16")
TASKS = ("train", "score")


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--layer-width", type=int, default=3072)
    parser.add_argument("--vocabulary", type=int, default=32768)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--chunk", type=int, default=128)
    parser.add_argument("--long-tokens", type=int, default=131072, help="length of the long scoring run; 0: skip it")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--one", nargs=2, metavar=("CASE", "TASK"), help="one measurement, as JSON")
    return parser.parse_args(arguments)


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def plain_twin(layer, head, hidden, targets, chunk, training):
    """The same mathematics as a PyTorch user would write it: full logits, autograd twice, chunked linear attention."""
    import torch

    alpha = layer.log_step_sizes.exp()

    def nll(y):
        return torch.nn.functional.cross_entropy((y @ head.weight.T + head.bias).flatten(0, 1), targets.flatten(),
                                                 reduction="none").view(targets.shape)

    def norm(z):
        return torch.nn.functional.layer_norm(z, z.shape[-1:], eps=1e-6)

    def attend(query, keys, values):
        parts, state = [], torch.zeros(query.shape[0], keys.shape[2], values.shape[2])
        for start in range(0, query.shape[1], chunk):
            q, k, u = (x[:, start:start + chunk] for x in (query, keys, values))
            parts.append((q @ k.transpose(1, 2)).tril(-1) @ u + q @ state)
            state = state + k.transpose(1, 2) @ u
        return torch.cat(parts, 1)

    def past(values):
        return values.cumsum(1) - values

    with torch.enable_grad():
        z1 = hidden @ layer.U + layer.a
        v = torch.relu(z1) ** 2
        z2 = v @ layer.W + layer.b
        gain, shift = layer.gain.expand_as(z2) * 1, layer.shift.expand_as(z2) * 1
        loss = nll(norm(z2) * gain + shift)
        dz1, dz2, dg, ds = torch.autograd.grad(loss.sum(), (z1, z2, gain, shift), create_graph=training)
    fast_z1 = z1 - alpha[0] * attend(hidden, hidden, dz1) - alpha[1] * past(dz1)
    fast_v = torch.relu(fast_z1) ** 2
    fast_z2 = fast_v @ layer.W + layer.b - alpha[2] * attend(fast_v, v, dz2) - alpha[3] * past(dz2)
    y = norm(fast_z2) * (layer.gain - alpha[4] * past(dg)) + (layer.shift - alpha[5] * past(ds))
    return nll(y)


def measure(case, task, options):
    import torch

    import fwl

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    fwl.matmul_precision("bf16" if case == "bf16" else "fp32").__enter__()  # for the whole process
    tokens = options.long_tokens if task == "score-long" else options.tokens
    layer = fwl.FastWeightLayer(options.width, options.layer_width)
    head = fwl.SoftmaxHead(torch.nn.Parameter(torch.randn(options.vocabulary, options.width) * options.width**-0.5),
                           torch.nn.Parameter(torch.zeros(options.vocabulary)))
    layer.set_step_sizes({name: size / 100 for name, size in layer.step_sizes().items()})
    training = task == "train"
    hidden = torch.randn(1, tokens, options.width, requires_grad=training or case.startswith("twin"))
    targets = torch.randint(0, options.vocabulary, (1, tokens))
    before = peak_bytes()

    def run(hidden=hidden, targets=targets):
        for tensor in (hidden, *layer.parameters(), *head.parameters()):
            tensor.grad = None
        autocast = torch.autocast("cpu", torch.bfloat16, enabled=case == "twin bf16")
        with torch.set_grad_enabled(training), autocast:
            if case.startswith("twin"):
                nll = plain_twin(layer, head, hidden, targets, options.chunk, training)
            else:
                nll = layer(hidden, targets, head, chunk=options.chunk).fast_nll
        if training:
            nll.mean().backward()
        return nll.mean().item()

    if task == "score-long":  # short texts before and after it, because the machine's speed changes with the minutes
        def short(): return run(hidden[:, :options.tokens], targets[:, :options.tokens])

        around = [_timed(short) for _ in range(8)]
        seconds = _timed(run)
        around += [_timed(short) for _ in range(8)]
        return {"seconds": seconds, "extra_bytes": peak_bytes() - before, "tokens": tokens,
                "short_seconds": sum(around) / len(around)}
    seconds = []
    for _ in range(options.repeats):
        start = time.perf_counter()
        mean = run()
        seconds.append(time.perf_counter() - start)
    return {"seconds": min(seconds), "extra_bytes": peak_bytes() - before, "nll": mean, "tokens": tokens}


def measure_apart(case, task, options):
    command = [sys.executable, __file__, "--one", case, task]
    for name in ("tokens", "width", "layer_width", "vocabulary", "threads", "chunk", "long_tokens", "repeats"):
        command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def gemm_rate(threads):
    import torch

    torch.set_num_threads(threads)
    a, b = torch.randn(2048, 2048), torch.randn(2048, 2048)
    best = min(_timed(lambda: a @ b) for _ in range(5))
    return 2 * 2048**3 / best


def _timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def product_flops(options):
    """Multiplications and additions of all matrix products, by task (the head's V x D products, then the layer's)."""
    head = 2 * options.tokens * options.vocabulary * options.width
    matrix = 2 * options.tokens * options.width * options.layer_width
    within = 2 * options.tokens * options.chunk * (options.width + options.layer_width)
    forward = 8 * matrix + 2 * within  # hU, vW, dz2 W^T, v'W, and per map: query times sum, key times gradient
    backward = 9 * matrix + 10 * matrix + 6 * within  # the slow maps' with dz2 W^T once more, and the sums'
    return {"score": 3 * head + forward, "train": 10 * head + forward + backward}


def main(arguments=None):
    options = parse_arguments(arguments)
    if options.one:
        print(json.dumps(measure(*options.one, options)))
        return
    import fwl

    rate, flops = gemm_rate(options.threads), product_flops(options)
    print(f"T={options.tokens} D={options.width} H={options.layer_width} V={options.vocabulary}, {options.threads} "
          f"threads; best fp32 GEMM {rate / 1e9:.0f} GFLOP/s; fast bf16 GEMM: {fwl.has_fast_bf16_gemm()}")
    print(f"{'task':10} {'case':6} {'s':>8} {'x twin':>7} {'extra MB':>9} {'/ twin':>7} {'% of GEMM':>10} {'nll':>9}")
    results = {}
    for task in TASKS:
        for case in CASES:
            result = results[task, case] = measure_apart(case, task, options)
            twin = results[task, "twin"]
            share = flops[task] / rate / result["seconds"]
            print(f"{task:10} {case:6} {result['seconds']:8.2f} {twin['seconds'] / result['seconds']:7.2f} "
                  f"{result['extra_bytes'] / 1e6:9.0f} {result['extra_bytes'] / twin['extra_bytes']:7.2f} "
                  f"{100 * share:10.0f} {result['nll']:9.5f}", flush=True)
    if options.long_tokens:
        result = measure_apart("fp32", "score-long", options)
        ratio = (result["seconds"] / result["tokens"]) / (result["short_seconds"] / options.tokens)
        print(f"score, T={result['tokens']}: {1e6 * result['seconds'] / result['tokens']:.0f} us per token, "
              f"{ratio:.3f} x that of T={options.tokens} around it; extra {result['extra_bytes'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
