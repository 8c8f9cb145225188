"""One training step of a small byte model against the same step in plain PyTorch, in one run.

The model is a sparse local-attention transformer with a fast weight layer on random bytes. Plain PyTorch means: the
engine's own attention on blocks, full logits, autograd twice through the layer, the engine's fused Adam.
python benchmarks/training_speed.py [--layers 4 --width 192 --tokens 2048 --rows 2 --threads 2 --rounds 3 --steps 6]
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
ROOT = Path(__file__).resolve().parents[1]


def parse_arguments(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=192)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--block-tokens", type=int, default=128)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="the sides take turns so many times")
    parser.add_argument("--steps", type=int, default=6, help="steps of each turn; the first is not counted")
    return parser.parse_args(arguments)


def make_plain_model(options):
    import torch
    from torch import nn
    from torch.nn import functional

    width, heads, block = options.width, options.heads, options.block_tokens

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention_norm, self.inner_norm = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query_key_value = nn.Linear(width, 3 * width, bias=False)
            self.output = nn.Linear(width, width, bias=False)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def rotate(self, x, cosines, sines):
            first, second = x.chunk(2, -1)
            return torch.cat([first * cosines - second * sines, second * cosines + first * sines], -1)

        def forward(self, x, cosines, sines, mask):
            batch, tokens, _ = x.shape
            q, k, v = self.query_key_value(self.attention_norm(x)).view(batch, tokens, 3 * heads, -1).split(heads, 2)
            q, k = self.rotate(q, cosines, sines), self.rotate(k, cosines, sines)

            def blocks(t):
                return t.view(batch, tokens // block, block, heads, -1).transpose(2, 3)

            def with_previous(t):
                before = functional.pad(t, (0, 0, 0, 0, 0, 0, 1, 0))[:, :-1]
                return torch.cat([before, t], 3)

            y = functional.scaled_dot_product_attention(blocks(q), with_previous(blocks(k)), with_previous(blocks(v)), mask)
            x = x + self.output(y.transpose(2, 3).reshape(batch, tokens, width))
            return x + self.down(functional.gelu(self.up(self.inner_norm(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(256, width)
            nn.init.normal_(self.embedding.weight, std=0.02)
            self.blocks = nn.ModuleList(Block() for _ in range(options.layers))
            self.norm = nn.LayerNorm(width)
            self.bias = nn.Parameter(torch.zeros(256))
            positions = torch.outer(torch.arange(options.tokens).float(),
                                    10000 ** (-torch.arange(0, width // heads, 2) / (width // heads)))
            self.register_buffer("cosines", positions.cos().unsqueeze(1))
            self.register_buffer("sines", positions.sin().unsqueeze(1))
            causal = torch.ones(block, 2 * block, dtype=torch.bool).tril(block)
            mask = causal.repeat(options.tokens // block, 1, 1).unsqueeze(1)
            mask[0, :, :, :block] = False
            self.register_buffer("mask", mask)

        def forward(self, tokens):
            x = self.embedding(tokens)
            for one in self.blocks:
                x = one(x, self.cosines, self.sines, self.mask)
            return self.norm(x)

    return Model()


def plain_seconds(options, adapts):
    """Seconds of each step in plain PyTorch."""
    import torch

    import fwl
    from layer_speed import plain_twin

    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = make_plain_model(options)
    layer = fwl.FastWeightLayer(options.width, 4 * options.width)
    parameters = [*model.parameters(), *layer.parameters()]
    optimizer = torch.optim.Adam(parameters, 1e-3, fused=True)

    class Head:
        weight, bias = model.embedding.weight, model.bias

    def slow_loss(hidden, targets):
        v = torch.relu(hidden @ layer.U + layer.a) ** 2
        y = torch.nn.functional.layer_norm(v @ layer.W + layer.b, (options.width,), layer.gain, layer.shift, 1e-6)
        return torch.nn.functional.cross_entropy((y @ Head.weight.T + Head.bias).flatten(0, 1), targets.flatten())

    seconds = []
    for _ in range(options.steps):
        tokens = torch.randint(0, 256, (options.rows, options.tokens + 1))
        start = time.perf_counter()
        hidden, targets = model(tokens[:, :-1]), tokens[:, 1:].contiguous()
        loss = plain_twin(layer, Head, hidden, targets, 128, True).mean() if adapts else slow_loss(hidden, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.perf_counter() - start)
    return seconds[1:]


def own_seconds(options, objective, gradient_at, folder, precision="fp32"):
    """Seconds of each step of `fwl train`, out of its record."""
    out = Path(tempfile.mkdtemp(dir=folder))
    command = [ROOT / "build/release/fwl", "train", "--data.train", folder / "bytes.tokens", "--out", out / "run",
               "--threads", str(options.threads), "--model.layers", str(options.layers), "--model.hidden-size",
               str(options.width), "--model.heads", str(options.heads), "--model.ffn-size", str(4 * options.width),
               "--model.block-tokens", str(options.block_tokens), "--data.rows", str(options.rows),
               "--data.segment-tokens", str(options.tokens), "--objective.name", objective, "--layer.gradient-at",
               gradient_at, "--run.steps", str(options.steps), "--run.log-every", str(options.steps),
               "--precision", precision]
    subprocess.run(command, check=True, capture_output=True)
    lines = [json.loads(line) for line in (out / "run/record.jsonl").read_text().splitlines()]
    return [lines[-1]["seconds"]]  # the mean of all steps after the first


def write_bytes(folder):
    (folder / "bytes").write_bytes(bytes((i * i + i // 7) % 251 for i in range(400_000)))
    subprocess.run([ROOT / "build/release/fwl", "tokenize", "--tokenizer", "bytes", "--out", folder / "bytes.tokens",
                    folder / "bytes"], check=True, capture_output=True)


def main(arguments=None):
    options = parse_arguments(arguments)
    cases = {"plain static": lambda folder: plain_seconds(options, False),
             "plain fwl": lambda folder: plain_seconds(options, True),
             "fwl static": lambda folder: own_seconds(options, "static", "slow", folder),
             "fwl fwl": lambda folder: own_seconds(options, "fwl", "slow", folder),
             "fwl boundary": lambda folder: own_seconds(options, "fwl", "boundary", folder)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bytes(folder)
        best = dict.fromkeys(cases, math.inf)
        for _ in range(options.rounds):
            for case, measure in cases.items():
                best[case] = min(best[case], statistics.median(measure(folder)))
    tokens = options.rows * options.tokens
    print(f"{options.layers} x {options.width} bytes, {options.rows} x {options.tokens} tokens, {options.threads} threads")
    print(f"{'step':14} {'ms':>7} {'tok/s':>8} {'x plain':>8} {'x own static':>13}")
    for case, seconds in best.items():
        plain = best["plain static" if case.endswith("static") else "plain fwl"]
        own = best["plain static" if case.startswith("plain") else "fwl static"]
        print(f"{case:14} {seconds * 1e3:7.0f} {tokens / seconds:8.0f} {plain / seconds:8.2f} {seconds / own:13.2f}")


if __name__ == "__main__":
    main()
