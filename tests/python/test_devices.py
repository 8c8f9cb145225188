"""The whole path on a second device equals the CPU.

The device `far` (tests/device) lies in memory that the CPU cannot touch, and refuses operations on mixed devices.
"""

import json
import os
import re
import subprocess

import pytest
import torch
from safetensors.torch import load_file
from serving import serving
from test_training_process import PROGRAM, ROOT, TINY
from tiny_gguf import write_tiny_gguf

FAR = ROOT / "build/release/far_device.so"
DEVICES = ["cpu", "far"]
STEPS = 8


def run_on(device, command, *flags, code=0):
    environment = {**os.environ, "LD_PRELOAD": str(FAR)}
    line = [PROGRAM, command, *flags, "--device", device, "--threads", 1]
    result = subprocess.run([str(part) for part in line], env=environment, text=True, capture_output=True, timeout=120)
    assert result.returncode == code, (command, device, result.stderr[-2000:])
    return result.stderr if code else result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("devices")
    (folder / "text.txt").write_text((ROOT / "LICENSE").read_text()[:1500])
    write_tiny_gguf(folder / "tiny.gguf", quantized=True)
    return folder


TRAIN = [*(flag for flag in TINY if flag not in ("--model.block-tokens", "8")), "--run.log-every", 1, "--run.checkpoint-every", STEPS // 2, "--run.keep-checkpoints", 9]
BASES = {"sparse": ["--model.dropout", 0.1, "--model.block-tokens", 8], "xl": ["--model.architecture", "transformer-xl", "--model.memory-tokens", 16, "--data.order", "lanes"]}


def losses(run):
    lines = [json.loads(line) for line in (run / "record.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["event"] in ("step", "valid")]


def expect_close(ours, theirs, limit):
    assert len(ours) == len(theirs) > 0
    for a, b in zip(ours, theirs):
        assert abs(a - b) < limit, (a, b)


@pytest.fixture(scope="module")
def trained(folder):
    for name, flags in BASES.items():
        for device in DEVICES:
            run_on(device, "train", "--text", folder / "text.txt", "--valid-text", folder / "text.txt", *TRAIN, *flags,
                   "--run.steps", STEPS, "--out", folder / f"{name}-{device}")
    return folder


@pytest.fixture(scope="module")
def attached(folder):
    for device in DEVICES:
        run_on(device, "attach", "--base", folder / "tiny.gguf", "--text", folder / "text.txt", "--valid-text",
               folder / "text.txt", "--window-tokens", 64, "--segment-tokens", 64, "--layer.size", 32, "--run.steps",
               STEPS, "--run.log-every", 1, "--out", folder / f"attach-{device}")
    return folder


@pytest.mark.parametrize("name", BASES)
def test_training_and_what_it_saves_equal_the_cpu(trained, name):
    expect_close(losses(trained / f"{name}-cpu"), losses(trained / f"{name}-far"), 2e-5)
    ours, theirs = (load_file(trained / f"{name}-{device}/model/model.safetensors") for device in DEVICES)
    assert ours.keys() == theirs.keys()
    for key in ours:  # by norm: Adam turns the rounding of a single tiny gradient into a step of full size
        assert torch.dist(ours[key], theirs[key]) <= 3e-4 * ours[key].norm() + 1e-6, key


def test_a_run_resumes_on_the_other_device(trained, tmp_path):
    (tmp_path / "run/checkpoints").mkdir(parents=True)
    middle = f"checkpoints/step-{STEPS // 2:010}.safetensors"
    (tmp_path / "run" / middle).write_bytes((trained / "xl-cpu" / middle).read_bytes())
    run_on("far", "train", "--text", trained / "text.txt", "--valid-text", trained / "text.txt", *TRAIN, *BASES["xl"],
           "--run.steps", STEPS, "--out", tmp_path / "run", "--resume")
    expect_close(losses(trained / "xl-cpu")[-3:], losses(tmp_path / "run")[-3:], 2e-5)


def test_an_adapter_trained_there_equals_the_cpus(attached):
    expect_close(losses(attached / "attach-cpu"), losses(attached / "attach-far"), 1e-4)


METHODS = ["static", "fwl", "test-time", "bias-only", "dynamic-sgd"]


@pytest.mark.parametrize("model", ["sparse", "xl", "gguf"])
def test_perplexity_by_every_method_equals_the_cpu(trained, attached, tmp_path, model):
    flags = ["--model", trained / f"{model}-cpu"]
    if model == "gguf":
        flags = ["--model", trained / "tiny.gguf", "--adapter", attached / "attach-cpu"]
    methods = METHODS + (["blocks"] if model == "gguf" else [])
    for device in DEVICES:
        run_on(device, "perplexity", *flags, "--text", trained / "text.txt", "--max-tokens", 200, "--method", *methods,
               "--step", "1e-4", "--context", 64, "--save-nll", tmp_path / device)
    ours, theirs = (load_file(tmp_path / device) for device in DEVICES)
    for method in methods:
        assert torch.allclose(ours[f"nll.{method}"], theirs[f"nll.{method}"], atol=2e-4), method


def test_sessions_and_generation_move_between_devices(attached, tmp_path):
    texts = {}
    model = ["--model", attached / "tiny.gguf", "--adapter", attached / "attach-cpu"]
    for device, other in zip(DEVICES, reversed(DEVICES)):
        session = ["--session", tmp_path / f"{device}.session", "--session-precision", "fp32"]
        run_on(device, "read", *model, *session, attached / "text.txt")
        texts[device] = [run_on(where, "generate", *model, *session, "--prompt", "The", "-n", 24, "--temperature", 0,
                                "--adapt", "write") for where in (device, other)]
    assert texts["cpu"] == texts["far"]


def test_tune_bench_and_plan_run_there(trained):
    out = run_on("far", "tune", "--model", trained / "xl-cpu", "--text", trained / "text.txt", "--max-tokens", 60,
                 "--method", "dynamic-sgd")
    assert out
    assert "FAR" in run_on("far", "bench", "--model", trained / "xl-cpu", "-p", 16, "-n", 4, "--train", 16, "-r", 1,
                           "--method", "static", "fwl")
    plan = json.loads(run_on("far", "plan", *TINY, "--vocabulary-size", 256, "--patience", 1, "--json"))
    assert plan["seconds_per_step"] > 0


def test_a_server_answers_from_there(trained, tmp_path, monkeypatch):
    answers = []
    for device in DEVICES:
        monkeypatch.setenv("LD_PRELOAD", str(FAR))
        with serving(trained / "tiny.gguf", tmp_path / device, "--device", device, "--threads", "1") as server:
            monkeypatch.delenv("LD_PRELOAD")
            answers.append(server.complete("The licence", session="one", temperature=0, max_tokens=12)["text"])
    assert answers[0] == answers[1]


def test_rounded_products_there_equal_rounded_products_here(trained, tmp_path):
    for device in DEVICES:
        run_on(device, "perplexity", "--model", trained / "xl-cpu", "--text", trained / "text.txt", "--max-tokens", 200,
               "--method", "static", "fwl", "--precision", "bf16-everywhere", "--save-nll", tmp_path / device)
    ours, theirs = (load_file(tmp_path / device) for device in DEVICES)
    exact = tmp_path / "exact"
    run_on("far", "perplexity", "--model", trained / "xl-cpu", "--text", trained / "text.txt", "--max-tokens", 200,
           "--method", "static", "fwl", "--save-nll", exact)
    for method in ("nll.static", "nll.fwl"):
        assert torch.allclose(ours[method], theirs[method], atol=3e-2)
        assert not torch.allclose(theirs[method], load_file(exact)[method], atol=1e-6), "nothing was rounded"


@pytest.mark.parametrize("device", ["nowhere", "cuda:7", "far:x"])
def test_a_device_that_is_not_there_is_one_clear_line(trained, device):
    said = run_on(device, "perplexity", "--model", trained / "xl-cpu", "--text", trained / "text.txt", code=1)
    lines = [line for line in said.splitlines() if line.startswith("fwl: ")]
    assert len(lines) == 1 and re.match(r"fwl: --device: expected .*, got '" + device, lines[0]), said
