"""Several processes on this machine train and score as one process does."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors import safe_open
from safetensors.torch import load_file
from test_training_process import PROGRAM, ROOT, run

HERE = Path(__file__).parent
STEPS = 50
TINY = ["--threads", "1", "--model.layers", "1", "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32",
        "--layer.size", "32", "--data.rows", "8", "--data.segment-tokens", "32"]
# Every objective, both orders of the data, carried state, second order, several batches per step, clipping.
RUNS = {
    "shuffled": ["--optimizer.clip-norm", "0.5"],
    "static": ["--objective.name", "static"],
    "first-order": ["--objective.name", "fwl-first-order", "--objective.slow-share", "0.3"],
    "lanes": ["--data.order", "lanes", "--layer.gradient-at", "boundary", "--layer.chunk-tokens", "16"],
    "xl": ["--model.architecture", "transformer-xl", "--model.memory-tokens", "32", "--data.order", "lanes", "--optimizer.accumulation", "2"],
    "padded": ["--set", "data.packed=false"],
    "sharded": ["--optimizer.sharded", "--data.order", "lanes"],
}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "readme.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--documents", "line", "--out", path,
                ROOT / "README.md"]).returncode == 0
    return path


def train(tokens, out, *flags):
    return [str(part) for part in ["train", "--data.train", tokens, "--data.valid", tokens, "--data.valid-tokens", 600,
                                   "--out", out, *TINY, "--run.log-every", 1, "--run.steps", STEPS,
                                   "--run.checkpoint-every", STEPS, *flags]]


def torchrun(ranks, *arguments, restarts=0, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(ROOT / "python")}
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1",
            "--nproc-per-node", ranks, "--max-restarts", restarts, *arguments]
    return subprocess.Popen([str(part) for part in line], env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


def run_ranks(ranks, lines, folder):
    """Runs command lines one after another in so many processes."""
    plan = folder / f"lines-{ranks}.json"
    plan.write_text(json.dumps(lines))
    process = torchrun(ranks, HERE / "rank_worker.py", plan)
    out, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    for rank in range(ranks):
        assert json.loads(Path(f"{plan}.{rank}").read_text()) == [0] * len(lines), errors
    return out


def events(folder, event):
    lines = [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def expect_equal_runs(one, several, limit=1e-6):
    ours, theirs = events(one, "step"), events(several, "step")
    assert len(ours) == len(theirs) == STEPS
    for a, b in zip(ours, theirs):
        assert abs(a["loss"] - b["loss"]) < limit, (several, a["step"], a["loss"], b["loss"])
    for a, b in zip(events(one, "valid"), events(several, "valid")):
        assert a["tokens"] == b["tokens"] and abs(a["loss"] - b["loss"]) < limit


@pytest.fixture(scope="module")
def one_process(tokens, tmp_path_factory):
    folder = tmp_path_factory.mktemp("one")
    for name, flags in RUNS.items():
        result = run([PROGRAM, *train(tokens, folder / name, *flags)])
        assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_with_shares_of_a_batch_equal_one_process(tokens, one_process, tmp_path, ranks):
    names = RUNS if ranks == 2 else ["lanes", "sharded"]
    run_ranks(ranks, [train(tokens, tmp_path / name, *RUNS[name]) for name in names], tmp_path)
    for name in names:
        expect_equal_runs(one_process / name, tmp_path / name)
        assert events(tmp_path / name, "start")[0]["environment"]["ranks"] == ranks
        checkpoint = f"checkpoints/step-{STEPS:010}.safetensors"
        ours, theirs = load_file(one_process / name / checkpoint), load_file(tmp_path / name / checkpoint)
        assert {key: value.shape for key, value in ours.items()} == {key: value.shape for key, value in theirs.items()}
