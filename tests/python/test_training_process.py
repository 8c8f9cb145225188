"""Training as a process: killed, interrupted, out of disk space; and the models it leaves behind."""

import json
import os
import random
import resource
import signal
import subprocess
import time
from pathlib import Path

import fwl
import pytest
import torch
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build/release/fwl"
GOLDENS = ROOT / "tests/goldens"
TINY = ["--threads", "1", "--model.layers", "1", "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32",
        "--model.block-tokens", "8", "--layer.size", "32", "--data.rows", "2", "--data.segment-tokens", "64"]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.tokens"
    subprocess.run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", path, ROOT / "README.md"], check=True,
                   capture_output=True)
    return path


def train(tokens, out, *flags):
    return [PROGRAM, "train", "--data.train", tokens, "--out", out, *TINY, *flags]


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120, **options)


def test_kill_at_twenty_random_moments_changes_nothing(tokens, tmp_path):
    flags = ["--run.steps", "150", "--run.checkpoint-every", "4", "--model.dropout", "0.1", "--resume"]
    start = time.monotonic()
    assert run(train(tokens, tmp_path / "whole", *flags)).returncode == 0
    seconds = time.monotonic() - start  # machines differ: a moment is a share of the time that the whole run takes
    whole, chance = (tmp_path / "whole/model/model.safetensors").read_bytes(), random.Random(5)
    kills, run_folder = 0, tmp_path / "killed-0"

    def finish():
        result = run(train(tokens, run_folder, *flags))
        assert result.returncode == 0, result.stderr
        assert (run_folder / "model/model.safetensors").read_bytes() == whole
        lines = [json.loads(line) for line in (run_folder / "record.jsonl").read_text().splitlines()]
        steps = [line["step"] for line in lines if line["event"] == "step"]
        assert steps == sorted(set(steps)) and steps[-1] == 150
        assert not list((run_folder / "checkpoints").glob("*.partial.*"))

    while kills < 20:
        process = subprocess.Popen(train(tokens, run_folder, *flags), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.2, 0.7) * seconds)
        if process.poll() is None:
            process.kill()
            process.wait()
            kills += 1
        else:  # it reached the end before it was killed
            finish()
            run_folder = tmp_path / f"killed-{kills}"
    finish()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_exits(tokens, tmp_path, sent):
    flags = ["--run.steps", "100000", "--run.log-every", "1"]
    process = subprocess.Popen(train(tokens, tmp_path / "run", *flags), stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if line.startswith("step 3/"):
            process.send_signal(sent)
            break
    rest = process.stderr.read()
    assert process.wait(60) == 128 + sent
    assert "checkpoint at step" in rest
    assert len(list((tmp_path / "run/checkpoints").glob("step-*.safetensors"))) == 1


def test_a_full_disk_leaves_the_previous_checkpoint_whole_and_says_so(tokens, tmp_path):
    flags = ["--run.steps", "4", "--run.checkpoint-every", "2"]
    assert run(train(tokens, tmp_path / "run", *flags)).returncode == 0
    good = tmp_path / "run/checkpoints/step-0000000002.safetensors"
    (tmp_path / "run/checkpoints/step-0000000004.safetensors").unlink()
    before, limit = good.read_bytes(), good.stat().st_size // 2

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    result = run(train(tokens, tmp_path / "run", *flags, "--resume"), preexec_fn=small_disk)
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert "the previous checkpoint is whole" in last and str(good) in last
    assert good.read_bytes() == before
    assert [path.name for path in (tmp_path / "run/checkpoints").iterdir()] == [good.name]
    assert run(train(tokens, tmp_path / "run", *flags, "--resume")).returncode == 0


def test_a_trained_model_opens_as_a_language_model_with_the_losses_of_its_validation(tokens, tmp_path):
    flags = ["--run.steps", "5", "--data.valid", tokens, "--data.valid-tokens", "65", "--layer.gradient-at", "boundary",
             "--layer.chunk-tokens", "16"]
    result = run(train(tokens, tmp_path / "run", *flags))
    assert result.returncode == 0, result.stderr
    model = fwl.open_model(str(tmp_path / "run/model"))
    ids = torch.tensor(list((ROOT / "README.md").read_bytes()[:65])).unsqueeze(0)
    with torch.no_grad():
        losses = model.read(ids, model.new_session())
    lines = [json.loads(line) for line in (tmp_path / "run/record.jsonl").read_text().splitlines()]
    valid = [line for line in lines if line["event"] == "valid"][-1]
    assert losses.mean().item() == pytest.approx(valid["loss"], abs=1e-6)
    names = load_file(tmp_path / "run/model/model.safetensors")
    assert names.keys() == model.parameters().keys()


def test_the_vocabulary_goes_with_the_model(tmp_path):
    text = tmp_path / "words.txt"
    text.write_text("the cat sat on the mat\nthe dog sat on the cat\n" * 40)
    vocabulary, data = tmp_path / "words.vocab", tmp_path / "words.tokens"
    assert run([PROGRAM, "vocabulary", "--out", vocabulary, text]).returncode == 0
    assert run([PROGRAM, "tokenize", "--tokenizer", vocabulary, "--out", data, text]).returncode == 0
    result = run(train(data, tmp_path / "run", "--run.steps", "2", "--data.tokenizer", vocabulary))
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "run/model/words.vocab").read_bytes() == vocabulary.read_bytes()
    assert fwl.open_model(str(tmp_path / "run/model")).parameters()["embedding.weight"].shape[0] == 7
    other = tmp_path / "other.txt"
    other.write_text("a b c\n")
    assert run([PROGRAM, "vocabulary", "--out", tmp_path / "other.vocab", other]).returncode == 0
    result = run(train(data, tmp_path / "no", "--data.tokenizer", tmp_path / "other.vocab"))
    assert result.returncode == 1 and "tokenized with another vocabulary" in result.stderr


def attach(base, text, out, *flags):
    return [PROGRAM, "attach", "--base", base, "--text", text, "--out", out, "--threads", "1", "--window-tokens", "24",
            "--segment-tokens", "20", "--layer.size", "16", "--layer.chunk-tokens", "8", "--rows", "2", "--run.steps",
            "6", "--run.log-every", "1", "--run.checkpoint-every", "3", *flags]


@pytest.fixture(params=["llama-grouped", "gpt2", "xl-divided"])
def small_base(request, tmp_path):
    """A golden model with a vocabulary: one word per id."""
    base = tmp_path / "base"
    base.mkdir()
    for file in (GOLDENS / request.param).iterdir():
        (base / file.name).write_bytes(file.read_bytes())
    (base / "expected.safetensors").unlink()
    size = json.loads((base / "config.json").read_text())["vocab_size"]
    words = ["<eos>"] + [f"w{index}" for index in range(size - 1)]
    source = tmp_path / "vocabulary.txt"  # more frequent words first
    source.write_text("\n".join(" ".join([word] * (size - index + 1)) for index, word in enumerate(words[1:])) + "\n")
    assert run([PROGRAM, "vocabulary", "--out", base / "words.vocab", source]).returncode == 0
    chance = random.Random(3)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(chance.choice(words[1:9]) for _ in range(15)) for _ in range(12)) + "\n")
    return base, text


def test_attach_trains_an_adapter_that_knows_its_base(small_base, tmp_path):
    base, text = small_base
    result = run(attach(base, text, tmp_path / "run", "--valid-text", text))
    assert result.returncode == 0, result.stderr
    adapter = tmp_path / "run/model"
    assert sorted(path.name for path in adapter.iterdir()) == ["adapter.json", "adapter.safetensors"]
    model = fwl.open_model(str(base), str(adapter))
    assert "fast.U" in model.parameters()
    # Resumed from the middle: the same adapter, and the cache is not made again.
    cut = tmp_path / "cut"
    (cut / "checkpoints").mkdir(parents=True)
    (tmp_path / "run/checkpoints/step-0000000003.safetensors").rename(cut / "checkpoints/step-0000000003.safetensors")
    (tmp_path / "run/cache").rename(cut / "cache")
    made = (cut / "cache/train.hidden").stat().st_mtime_ns
    result = run(attach(base, text, cut, "--valid-text", text, "--resume"))
    assert result.returncode == 0, result.stderr
    assert (cut / "model/adapter.safetensors").read_bytes() == (adapter / "adapter.safetensors").read_bytes()
    assert (cut / "cache/train.hidden").stat().st_mtime_ns == made
    # Another base is refused.
    config = json.loads((base / "config.json").read_text())
    config["note"] = "another model"
    (base / "config.json").write_text(json.dumps(config))
    with pytest.raises(fwl.UserError, match="an adapter works only on the model that it was trained with"):
        fwl.open_model(str(base), str(adapter))


def test_a_fresh_adapter_leaves_the_slow_model_as_it_was(small_base, tmp_path):
    base, text = small_base
    result = run(attach(base, text, tmp_path / "run", "--optimizer.lr", "0"))
    assert result.returncode == 0, result.stderr
    ids = torch.randint(0, 20, (1, 20))
    plain, attached = fwl.open_model(str(base)), fwl.open_model(str(base), str(tmp_path / "run/model"))
    with torch.no_grad():
        expected = plain.read(ids, plain.new_session())
        assert torch.equal(attached.read(ids, attached.new_session(), adapt="off"), expected)


def test_an_adapter_without_slow_weights_is_its_base_until_it_reads(small_base, tmp_path):
    base, text = small_base
    result = run(attach(base, text, tmp_path / "run", "--set", "train_slow=false", "--optimizer.lr", "1e-2"))
    assert result.returncode == 0, result.stderr
    ids = torch.randint(0, 20, (1, 20))
    plain, attached = fwl.open_model(str(base)), fwl.open_model(str(base), str(tmp_path / "run/model"))
    with torch.no_grad():
        expected = plain.read(ids, plain.new_session())
        assert torch.equal(attached.read(ids, attached.new_session(), adapt="off"), expected)
        assert not torch.equal(attached.read(ids, attached.new_session()), expected)
    result = run(attach(base, text, tmp_path / "static", "--set", "train_slow=false", "--objective.name", "static"))
    assert result.returncode == 1 and "nothing would be left to train" in result.stderr


def test_attach_can_train_the_base_too(small_base, tmp_path):
    base, text = small_base
    result = run(attach(base, text, tmp_path / "run", "--train-base", "--optimizer.lr", "1e-2"))
    assert result.returncode == 0, result.stderr
    trained = tmp_path / "run/model"
    before, after = load_file(base / "model.safetensors"), load_file(trained / "model.safetensors")
    assert set(after) <= set(before)  # tied tensors are saved once
    changed = [not torch.equal(before[name], after[name]) for name in after]
    assert sum(changed) > 0.8 * len(after)  # words that the text does not have stay as they were
    fwl.open_model(str(trained), str(trained / "adapter"))
    steps = [json.loads(line) for line in (tmp_path / "run/record.jsonl").read_text().splitlines()][1:]
    assert steps[-1]["loss"] < steps[0]["loss"]


def test_attach_refuses_what_does_not_fit(small_base, tmp_path):
    base, text = small_base
    data = tmp_path / "bytes.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", data, text]).returncode == 0
    result = run(attach(base, data, tmp_path / "run"))
    assert result.returncode == 1 and "tokenized with another vocabulary" in result.stderr
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    result = run(attach(base, empty, tmp_path / "run2"))
    assert result.returncode == 1 and len(result.stderr.strip().splitlines()) == 1


def test_steps_use_the_memory_of_the_steps_before(tokens, tmp_path):
    def page_faults(steps):
        flags = ["--data.segment-tokens", "512", "--model.hidden-size", "64", "--layer.size", "256", "--run.steps", str(steps)]
        process = subprocess.Popen(train(tokens, tmp_path / str(steps), *flags), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        assert status == 0
        return usage.ru_minflt

    assert page_faults(24) - page_faults(4) < 20 * 150
