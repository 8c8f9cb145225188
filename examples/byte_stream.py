"""A byte model that sees three bytes, with and without fast weights, reading a long text: all else it remembers by learning.

python examples/byte_stream.py --help lists the settings. Takes about two minutes on two cores.
"""

import argparse
import math
import pathlib
import sysconfig
import time

import torch

import fwl


def real_bytes(count):
    """Python's own library as one text: real bytes that every machine has."""
    text = bytearray()
    for path in sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py")):
        text += path.read_bytes()
        if len(text) >= count:
            break
    return torch.frombuffer(text[:count], dtype=torch.uint8).long()


class ByteModel(torch.nn.Module):
    """Three embedded bytes -> fast weight layer -> softmax over 256 bytes."""

    def __init__(self, width=64, layer_width=256, gradient_at="boundary", chunk=64):
        super().__init__()
        self.tables = torch.nn.ModuleList(torch.nn.Embedding(256, width) for _ in range(3))
        self.layer = fwl.FastWeightLayer(width, layer_width, gradient_at=gradient_at, decay=True, segment_tokens=chunk,
                                         max_drift=1.0)
        self.head = fwl.SoftmaxHead(torch.nn.Parameter(torch.randn(256, width) * 0.1),
                                    torch.nn.Parameter(torch.zeros(256)))
        self.chunk = chunk
        if gradient_at == "slow":
            # Gradients at the slow weights never notice what earlier updates achieved: remember no longer than the
            # windows of training (four chunks), or a long stream adds up to too much.
            self.layer.set_decays(dict.fromkeys(self.layer.step_sizes(), 0.75))

    def hidden(self, ids, before=(0, 0)):
        """ids (B, T) -> (B, T, width); `before` are the two bytes ahead of the text."""
        ahead = torch.tensor(before).expand(ids.shape[0], 2)
        padded = torch.cat([ahead, ids], 1)
        parts = [table(padded[:, 2 - back:padded.shape[1] - back]) for back, table in enumerate(self.tables)]
        return torch.nn.functional.layer_norm(sum(parts), (self.tables[0].embedding_dim,))

    def slow_loss(self, window):
        return self.head.nll(self.layer.adapt(self.hidden(window[:, :-1])), window[:, 1:]).mean()

    def fast_loss(self, window):
        out = self.layer(self.hidden(window[:, :-1]), window[:, 1:], self.head, chunk=self.chunk, slow_loss=False)
        return out.fast_nll.mean()

    @torch.no_grad()
    def read(self, text, piece=20_000):
        """Yields (tokens, slow losses, fast losses, state) piece by piece, the state carried along."""
        state, before = None, (0, 0)
        for start in range(0, len(text) - 1, piece):
            ids = text[start:start + piece + 1].unsqueeze(0)
            hidden = self.hidden(ids[:, :-1], before)
            out = self.layer(hidden, ids[:, 1:], self.head, chunk=self.chunk, state=state)
            state, before = out.state, tuple(text[start + piece - 2:start + piece].tolist())
            yield ids.shape[1] - 1, out.slow_nll[0], out.fast_nll[0], state


def train(model, text, loss, steps, tokens=512, batch=4, seed=0, report=None):
    optimizer = torch.optim.Adam([
        {"params": [p for name, p in model.named_parameters() if "step_sizes" not in name], "lr": 3e-3},
        {"params": [model.layer.log_step_sizes], "lr": 3e-2}])
    generator = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        starts = torch.randint(0, len(text) - tokens - 1, (batch,), generator=generator)
        value = loss(torch.stack([text[start:start + tokens + 1] for start in starts.tolist()]))
        optimizer.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if report and step % 50 == 0:
            report(step, value.item())


def bits(nats):
    return nats / math.log(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--read-bytes", type=int, default=400_000)
    parser.add_argument("--gradient-at", choices=("slow", "boundary"), default="boundary")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    text = real_bytes(1_000_000 + options.read_bytes)
    training_text, unseen = text[:1_000_000], text[1_000_000:]
    models = {}
    for name in ("static", "fast"):
        torch.manual_seed(options.seed)
        model = models[name] = ByteModel(gradient_at=options.gradient_at)
        start = time.perf_counter()

        def report(step, value):
            rate = step / (time.perf_counter() - start)
            print(f"\r  training {name}: step {step}/{options.steps} | {bits(value):.3f} bits per byte | "
                  f"ETA {(options.steps - step) / rate:.0f} s ", end="", flush=True)

        train(model, training_text, model.fast_loss if name == "fast" else model.slow_loss, options.steps,
              seed=options.seed, report=report)
        print()

    print("\nBoth now read text they have never seen; only one keeps learning.\n")
    print(f"  {'bytes read':>10}   {'static':>7}   {'fast weights':>12}   {'gain':>6}")
    sums, done = [0.0, 0.0], 0
    for static, fast in zip(models["static"].read(unseen), models["fast"].read(unseen)):
        done += static[0]
        sums[0] += static[1].sum().item()
        sums[1] += fast[2].sum().item()
        slow_bits, fast_bits = (bits(total / done) for total in sums)
        if done % 40_000 < 20_000:
            print(f"  {done:10,}   {slow_bits:7.3f}   {fast_bits:12.3f}   {100 * (fast_bits / slow_bits - 1):+5.1f} %",
                  flush=True)
    drift = models["fast"].layer.drift(fast[3])
    print("\n  how far the weights have moved: "
          + ", ".join(f"{name} {100 * figures['drift']:.0f} %" for name, figures in drift.items()))


if __name__ == "__main__":
    main()
