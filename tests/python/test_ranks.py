"""Several processes on this machine train and score as one process does."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from test_training_process import PROGRAM, ROOT, run
from tiny_gguf import write_tiny_gguf

HERE = Path(__file__).parent
STEPS = 50
TINY = ["--threads", "1", "--model.layers", "1", "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32",
        "--layer.size", "32", "--data.rows", "8", "--data.segment-tokens", "32"]
# Every objective, both orders of the data, carried state, second order, several batches per step, clipping, sharded moments.
RUNS = {
    "shuffled": ["--optimizer.sharded", "--optimizer.clip-norm", "0.5"],
    "static": ["--objective.name", "static", "--set", "data.packed=false"],
    "first-order": ["--objective.name", "fwl-first-order", "--objective.slow-share", "0.3"],
    "lanes": ["--data.order", "lanes", "--layer.gradient-at", "boundary", "--layer.chunk-tokens", "16"],
    "xl": ["--model.architecture", "transformer-xl", "--model.memory-tokens", "32", "--data.order", "lanes", "--optimizer.accumulation", "2"],
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
                                   "--run.checkpoint-every", STEPS // 2, *flags]]


ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": str(ROOT / "python")}


def start_ranks(ranks, *arguments):
    """What torchrun starts, without its seconds of set-up."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = {**ENVIRONMENT, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [subprocess.Popen([sys.executable, *(str(part) for part in arguments)], text=True, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, env={**launch, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            for rank in range(ranks)]


def run_ranks(ranks, lines, folder):
    """Runs command lines one after another in so many processes."""
    plan = folder / f"lines-{ranks}.json"
    plan.write_text(json.dumps(lines))
    for process in start_ranks(ranks, HERE / "rank_worker.py", plan):
        _, errors = process.communicate(timeout=240)
        assert process.returncode == 0, errors
    for rank in range(ranks):
        assert json.loads(Path(f"{plan}.{rank}").read_text()) == [0] * len(lines)


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
    lines = [train(tokens, folder / name, *flags) for name, flags in RUNS.items()]
    for process in [subprocess.Popen([PROGRAM, *line], text=True, stderr=subprocess.PIPE) for line in lines]:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    return folder


def checkpoint(folder, step):
    return folder / f"checkpoints/step-{step:010}.safetensors"


def start_from_checkpoint(run_folder, folder):
    """A run that was stopped in the middle."""
    (folder / "checkpoints").mkdir(parents=True)
    shutil.copy(checkpoint(run_folder, STEPS // 2), folder / "checkpoints")
    return folder


@pytest.fixture(scope="module")
def two_ranks(tokens, one_process, tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    lines = [train(tokens, folder / name, *flags) for name, flags in RUNS.items()]
    scoring = perplexity(one_process / "lanes/model", tokens, folder)
    run_ranks(2, lines + scoring, folder)
    return folder


def perplexity(model, tokens, out):
    common = ["perplexity", "--model", model, "--tokens", tokens, "--max-tokens", 1500, "--threads", 1]
    methods = ["--method", "static", "fwl", "dynamic-sgd", "--dynamic.reset"]
    by_protocol = {"windows": [*methods, "--context", 100, "--segment", 50], "stream": ["--method", "static", "fwl"],
                   "sliding": [*methods, "--context", 64], "together": ["--together"]}
    return [[str(part) for part in [*common, "--protocol", "windows" if name == "together" else name, *flags,
                                    "--save-nll", out / f"{name}.nll"]] for name, flags in by_protocol.items()]


def test_two_ranks_with_half_the_rows_equal_one_process(one_process, two_ranks):
    for name in RUNS:
        expect_equal_runs(one_process / name, two_ranks / name)
        assert events(two_ranks / name, "start")[0]["environment"]["ranks"] == 2
        ours, theirs = (load_file(checkpoint(folder / name, STEPS)) for folder in (one_process, two_ranks))
        assert {key: value.shape for key, value in ours.items()} == {key: value.shape for key, value in theirs.items()}


def test_scores_of_two_ranks_are_those_of_one_process_bit_for_bit(tokens, one_process, two_ranks, tmp_path):
    for line in perplexity(one_process / "lanes/model", tokens, tmp_path):
        result = run([PROGRAM, *line])
        assert result.returncode == 0, result.stderr
    for file in tmp_path.glob("*.nll"):
        ours, theirs = load_file(file), load_file(two_ranks / file.name)
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert torch.equal(ours[key], theirs[key]), (file, key)


def test_two_ranks_cache_and_attach_as_one_process_does(tmp_path):
    (tmp_path / "text.txt").write_text((ROOT / "LICENSE").read_text()[:3000])
    write_tiny_gguf(tmp_path / "tiny.gguf")

    def attach(name):
        return [str(part) for part in ["attach", "--base", tmp_path / "tiny.gguf", "--text", tmp_path / "text.txt", "--valid-text",
                                       tmp_path / "text.txt", "--window-tokens", 64, "--segment-tokens", 32, "--rows", 2,
                                       "--layer.size", 32, "--threads", 1, "--run.steps", 8, "--run.log-every", 1, "--cache",
                                       tmp_path / f"cache-{name}", "--out", tmp_path / name]]

    assert run([PROGRAM, *attach("one")]).returncode == 0
    run_ranks(2, [attach("two")], tmp_path)
    losses = [[event["loss"] for event in events(tmp_path / name, "step")] for name in ("one", "two")]
    assert len(losses[0]) == 8 and losses[0] == pytest.approx(losses[1], abs=1e-6)
    cached = [sorted(path for path in (tmp_path / f"cache-{name}").rglob("*") if path.is_file()) for name in ("one", "two")]
    assert len(cached[0]) == len(cached[1]) > 0
    for one, two in zip(*cached):
        assert one.name == two.name and one.read_bytes() == two.read_bytes()


def test_four_ranks_go_on_from_the_checkpoint_of_one(tokens, one_process, tmp_path):
    names = ["lanes", "shuffled"]
    for name in names:
        start_from_checkpoint(one_process / name, tmp_path / name)
    run_ranks(4, [train(tokens, tmp_path / name, "--resume", *RUNS[name]) for name in names], tmp_path)
    for name in names:
        rest = events(tmp_path / name, "step")
        assert [line["step"] for line in rest] == list(range(STEPS // 2 + 1, STEPS + 1))
        for ours, theirs in zip(events(one_process / name, "step")[STEPS // 2:], rest):
            assert abs(ours["loss"] - theirs["loss"]) < 1e-6


def rank_process(torchrun, rank):
    """The process of a rank, once it runs."""
    for _ in range(600):
        children = Path(f"/proc/{torchrun.pid}/task/{torchrun.pid}/children").read_text().split()
        for child in children:
            if f"RANK={rank}" in Path(f"/proc/{child}/environ").read_text().split("\0"):
                return int(child)
        time.sleep(0.1)
    raise AssertionError("no such rank")


def test_after_the_kill_of_a_rank_the_run_goes_on_to_the_same_model(tokens, two_ranks, tmp_path):
    folder = tmp_path / "run"
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2",
            "--max-restarts", "1", "-m", "fwl.train", *train(tokens, folder, "--resume", *RUNS["lanes"])[1:]]
    torchrun = subprocess.Popen(line, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    victim = rank_process(torchrun, 1)
    while not checkpoint(folder, STEPS // 2).exists() and torchrun.poll() is None:
        time.sleep(0.002)
    os.kill(victim, signal.SIGKILL)
    _, errors = torchrun.communicate(timeout=120)
    assert torchrun.returncode == 0, errors
    assert events(folder, "resume"), "killed too late"
    assert (folder / "model/model.safetensors").read_bytes() == (two_ranks / "lanes/model/model.safetensors").read_bytes()


def test_a_rank_that_is_cut_off_ends_the_others_with_one_clear_line(tokens, tmp_path):
    first, second = start_ranks(2, "-m", "fwl.train", *train(tokens, tmp_path / "run", "--run.steps", 1000000)[1:],
                                "--rank-timeout", 3)
    for text in first.stderr:
        if text.startswith("step 3/"):
            break
    second.send_signal(signal.SIGSTOP)
    errors = first.stderr.read()
    second.kill()
    second.communicate()
    assert first.wait(60) == 1
    said = [text for text in errors.splitlines() if text.startswith("fwl: ")]
    assert len(said) == 1 and "expected an answer of the other ranks within 3 s" in said[0], errors
