"""Weak scaling on this machine, the share of time in all-reduce, and what `fwl plan --ranks N` said before.

    python3 benchmarks/ranks.py --out results/ranks/scaling.json

Runs of 1 process x 1 thread, 1 x 2 (twice the rows), 2 x 1 (twice the rows) and 4 x 1 (four times) take turns; each figure
is a median over the steps of all its runs, without the first two of each.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/release/fwl"
PYTHON = ROOT / ".venv/bin/python"
MODEL = ["--model.layers", "4", "--model.hidden-size", "256", "--model.heads", "4", "--model.ffn-size", "1024",
         "--data.segment-tokens", "256"]
ROWS = 4  # of one process with one thread
WARM_UP = 2
# What a rank can send over loopback: the time of an all-reduce of as many bytes as the model has gradients.
EXCHANGE = """
import sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.set_num_threads(1)
numbers = torch.ones(int(sys.argv[1]) // 4)
times = []
for _ in range(12):
    start = time.perf_counter()
    dist.all_reduce(numbers)
    times.append(time.perf_counter() - start)
if dist.get_rank() == 0:
    print(sorted(times)[6])
dist.destroy_process_group()
"""


def environment(threads):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(ROOT / "python")}


def launch(ranks):
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", ranks]


def check(command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)
    if result.returncode != 0:
        sys.exit(result.stderr)
    return result.stdout


def train(tokens, folder, ranks, threads, rows, steps):
    command = ["--data.train", tokens, "--out", folder, *MODEL, "--data.rows", rows, "--threads", threads, "--run.steps",
               steps, "--run.log-every", 1]
    start = [*launch(ranks), "-m", "fwl.train"] if ranks > 1 else [PROGRAM, "train"]
    check([*start, *command], env=environment(threads))
    lines = [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == "step"][WARM_UP:]


def plans(ranks, rows, bandwidth):
    """Step times of as many plans at once as ranks will share the machine."""
    command = [PROGRAM, "plan", *MODEL, "--data.rows", rows, "--vocabulary-size", 256, "--threads", 1, "--ranks", ranks,
               "--bandwidth", bandwidth, "--patience", 20, "--json"]
    processes = [subprocess.Popen([str(part) for part in command], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env=environment(1)) for _ in range(ranks)]
    found = [json.loads(process.communicate()[0]) for process in processes]
    return [one.get("ranks", one)["seconds_per_step"] for one in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    kinds = {"1 x 1": (1, 1, ROWS), "1 x 2": (1, 2, 2 * ROWS), "2 x 1": (2, 1, 2 * ROWS), "4 x 1": (4, 1, 4 * ROWS)}
    steps = {kind: [] for kind in kinds}
    planned = {kind: [] for kind in kinds if kind != "1 x 2"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tokens = folder / "readme.tokens"
        check([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", tokens, ROOT / "README.md", ROOT / "ARCHITECTURE.md"])
        (folder / "exchange.py").write_text(EXCHANGE)
        plan = json.loads(check([PROGRAM, "plan", *MODEL, "--data.rows", ROWS, "--vocabulary-size", 256, "--patience", 1,
                                 "--json"]))
        gradient_bytes = int(plan["memory"]["gradients"])
        seconds = float(check([*launch(2), folder / "exchange.py", gradient_bytes], env=environment(1)))
        bandwidth = gradient_bytes / seconds  # two ranks: each sends 2 (N - 1) / N = 1 times the bytes
        for turn in range(options.turns):
            for kind, (ranks, threads, rows) in kinds.items():
                if kind in planned:
                    planned[kind] += plans(ranks, rows, bandwidth)
                run = folder / f"{kind.replace(' ', '')}-{turn}"
                steps[kind] += train(tokens, run, ranks, threads, rows, options.steps)
    result = {"command": " ".join(["python3", *sys.argv]), "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(),
              "load": os.getloadavg()[0], "gradient_bytes": gradient_bytes, "loopback_bytes_per_second": bandwidth, "runs": {}}
    for kind, (_, _, rows) in kinds.items():
        step = statistics.median(line["seconds"] for line in steps[kind])
        run = result["runs"][kind] = {"rows": rows, "seconds_per_step": step, "tokens_per_second": rows * 256 / step}
        if kind in planned:
            run["planned_seconds_per_step"] = statistics.median(planned[kind])
            run["planned_over_measured"] = run["planned_seconds_per_step"] / step
        if "exchange_seconds" in steps[kind][0]:
            run["all_reduce_share"] = statistics.median(line["exchange_seconds"] / line["seconds"] for line in steps[kind])
            run["efficiency"] = result["runs"]["1 x 1"]["seconds_per_step"] / step
    Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
