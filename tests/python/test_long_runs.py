"""Runs that go on: from text, from an earlier model, beyond their last step; and their steps as a table."""

import csv
import json

import pytest
from test_training_process import PROGRAM, ROOT, TINY, run, tokens  # noqa: F401: a fixture
from tiny_gguf import write_tiny_gguf

TEXT = ROOT / "README.md"


def train(out, *flags):
    return run([PROGRAM, "train", "--out", out, *TINY, *flags])


def record(folder):
    return [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]


def test_train_takes_text_and_token_files_alike(tokens, tmp_path):
    from_text = train(tmp_path / "text", "--text", TEXT, "--valid-text", ROOT / "LICENSE", "--run.steps", "3",
                      "--data.valid-tokens", "500")
    assert from_text.returncode == 0, from_text.stderr
    from_tokens = train(tmp_path / "tokens", "--text", tokens, "--run.steps", "3")
    assert from_tokens.returncode == 0, from_tokens.stderr
    weights = [(tmp_path / name / "model/model.safetensors").read_bytes() for name in ("text", "tokens")]
    assert weights[0] == weights[1]
    assert train(tmp_path / "none", "--valid-text", TEXT).returncode == 2
    plan = run([PROGRAM, "plan", "--text", TEXT, *TINY, "--patience", "1"])
    assert plan.returncode == 0 and "run " in plan.stdout, plan.stderr


def test_the_loss_before_the_first_step_is_shown_and_recorded(tmp_path):
    valid = ["--valid-text", ROOT / "LICENSE", "--data.valid-tokens", "500"]
    result = train(tmp_path / "run", "--text", TEXT, *valid, "--run.steps", "30", "--optimizer.lr", "0.01")
    lines = [line for line in result.stderr.splitlines() if line.startswith(("valid ", "step "))]
    assert lines[0].startswith("valid 0 | loss ") and lines[1].startswith("step 1/")
    losses = {line["step"]: line["loss"] for line in record(tmp_path / "run") if line["event"] == "valid"}
    assert losses[30] < losses[0] - 0.1
    base = write_tiny_gguf(tmp_path / "tiny.gguf")
    attached = run([PROGRAM, "attach", "--base", base, "--text", TEXT, "--valid-text", ROOT / "pyproject.toml", "--out",
                    tmp_path / "attached", "--window-tokens", "64", "--segment-tokens", "64", "--layer.size", "32",
                    "--run.steps", "2", "--threads", "1"])
    assert attached.returncode == 0 and "\nvalid 0 | loss " in attached.stderr, attached.stderr


def test_a_finished_run_takes_more_steps_and_an_unfinished_one_does_not(tokens, tmp_path):
    flags = ["--text", tokens, "--run.log-every", "1"]
    folder = tmp_path / "run"
    assert train(folder, *flags, "--run.steps", "3").returncode == 0
    assert "a larger --run.steps extends it" in train(folder, *flags, "--run.steps", "3", "--resume").stderr
    longer = train(folder, *flags, "--run.steps", "6", "--resume")
    assert longer.returncode == 0 and "resuming after step 3" in longer.stderr, longer.stderr
    steps = [line["step"] for line in record(folder) if line["event"] == "step"]
    assert steps == [1, 2, 3, 4, 5, 6]
    assert "6 / 6" in report(folder, tmp_path)
    (folder / "checkpoints/step-0000000006.safetensors").unlink()
    assert train(folder, *flags, "--run.steps", "2", "--resume").returncode == 1
    short = tmp_path / "short"
    assert train(short, *flags, "--run.steps", "4", "--run.checkpoint-every", "2").returncode == 0
    (short / "checkpoints/step-0000000004.safetensors").unlink()
    refused = train(short, *flags, "--run.steps", "9", "--resume")
    assert refused.returncode == 1 and "only a finished run takes more steps" in refused.stderr


def report(folder, tmp_path):
    made = run([PROGRAM, "report", folder, "--out", tmp_path / "page.html"])
    assert made.returncode == 0, made.stderr
    return (tmp_path / "page.html").read_text()


def test_a_run_starts_from_the_weights_of_another(tokens, tmp_path):
    flags = ["--text", tokens, "--optimizer.lr", "0"]
    assert train(tmp_path / "first", "--text", tokens, "--run.steps", "5").returncode == 0
    second = train(tmp_path / "second", *flags, "--run.steps", "1", "--start-from", tmp_path / "first", "--run.seed", "7")
    assert second.returncode == 0, second.stderr
    weights = [(tmp_path / name / "model/model.safetensors").read_bytes() for name in ("first", "second")]
    assert weights[0] == weights[1]  # the learning rate is 0
    assert record(tmp_path / "second")[0]["config"]["start_from"] == str(tmp_path / "first/model")
    other = train(tmp_path / "third", *flags, "--start-from", tmp_path / "first", "--model.layers", "2")
    assert other.returncode == 1 and "layers.1" in other.stderr.splitlines()[-1], other.stderr
    words = tmp_path / "words.vocab"
    assert run([PROGRAM, "vocabulary", "--out", words, TEXT]).returncode == 0
    other = train(tmp_path / "fourth", "--text", TEXT, "--data.tokenizer", words, "--start-from", tmp_path / "first")
    assert other.returncode == 1 and "another vocabulary" in other.stderr


def test_an_adapter_starts_from_another(tmp_path):
    base = write_tiny_gguf(tmp_path / "tiny.gguf")
    command = [PROGRAM, "attach", "--base", base, "--text", TEXT, "--window-tokens", "64", "--segment-tokens", "64",
               "--layer.size", "32", "--cache", tmp_path / "cache", "--threads", "1"]
    assert run([*command, "--out", tmp_path / "first", "--run.steps", "3"]).returncode == 0
    second = run([*command, "--out", tmp_path / "second", "--run.steps", "1", "--optimizer.lr", "0", "--start-from",
                  tmp_path / "first"])
    assert second.returncode == 0, second.stderr
    weights = [(tmp_path / name / "model/adapter.safetensors").read_bytes() for name in ("first", "second")]
    assert weights[0] == weights[1]
    slow = run([*command, "--out", tmp_path / "third", "--train-slow", "false", "--start-from", tmp_path / "first"])
    assert slow.returncode == 1 and "would be lost" in slow.stderr, slow.stderr


@pytest.mark.parametrize("stops", [False, True])
def test_the_steps_are_a_table_too(tokens, tmp_path, stops):
    flags = ["--text", tokens, "--run.log-every", "1", "--run.checkpoint-every", "2"]
    assert train(tmp_path / "run", *flags, "--run.steps", "4").returncode == 0
    if stops:  # what follows the last checkpoint is made again
        (tmp_path / "run/checkpoints/step-0000000004.safetensors").unlink()
        assert train(tmp_path / "run", *flags, "--run.steps", "4", "--resume").returncode == 0
    rows = list(csv.DictReader((tmp_path / "run/steps.csv").open()))
    lines = [line for line in record(tmp_path / "run") if line["event"] == "step"]
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4]
    assert [float(row["loss"]) for row in rows] == [line["loss"] for line in lines]
    assert float(rows[2]["step W"]) == lines[2]["step_sizes"]["step W"] and rows[0]["skipped"] == ""
