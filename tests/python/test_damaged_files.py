"""Files that were damaged, mixed up or stripped of their checksum: nothing of them is used."""

import json
import random
import shutil

import fwl
import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from test_outputs import one_line
from test_training_process import PROGRAM, ROOT, run, train

FLIPS = 40  # where opening is all; three where a program has to run


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "train.tokens"
    run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", path, ROOT / "README.md"], check=True)
    return path


@pytest.fixture(scope="module")
def trained(tokens, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(train(tokens, folder, "--run.steps", "4", "--run.checkpoint-every", "2"), check=True)
    return folder


def flips(path, count=FLIPS):
    """The file with one bit flipped, at `count` places over all its parts."""
    whole, chance = path.read_bytes(), random.Random(path.name)
    for _ in range(count):
        changed = bytearray(whole)
        changed[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        yield
    path.write_bytes(whole)


def test_a_flipped_bit_in_a_checkpoint_is_noticed(tokens, trained, tmp_path):
    run_folder = tmp_path / "run"
    shutil.copytree(trained, run_folder)
    last = run_folder / "checkpoints/step-0000000004.safetensors"
    for _ in flips(last, 3):
        one_line(run(train(tokens, run_folder, "--run.steps", "4", "--run.checkpoint-every", "2", "--resume")), last)
    assert run(train(tokens, run_folder, "--run.steps", "4", "--run.checkpoint-every", "2", "--resume")).returncode == 0


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_flipped_bit_in_a_trained_model_is_noticed(trained, tmp_path, name):
    model = tmp_path / "model"
    shutil.copytree(trained / "model", model)
    for _ in flips(model / name):
        with pytest.raises(fwl.UserError, match=str(model)):
            fwl.open_model(str(model))
    fwl.open_model(str(model))


def test_a_flipped_bit_in_a_token_file_is_noticed(trained, tmp_path, tokens):
    copy = tmp_path / "copy.tokens"
    shutil.copy(tokens, copy)
    score = [PROGRAM, "perplexity", "--model", trained / "model", "--tokens", copy, "--segment", "512"]
    for _ in flips(copy):
        with pytest.raises(fwl.UserError, match=str(copy)):
            fwl.TokenFile(str(copy)).ids
    for _ in flips(copy, 3):
        one_line(run(score), copy)
    assert run(score).returncode == 0
    header = bytearray(copy.read_bytes())
    header[8] = 1
    copy.write_bytes(header)
    one_line(run(score), "version 1", "fwl tokenize")


@pytest.fixture
def adapter(words_model, tmp_path):
    base, text, tokens = words_model
    out = tmp_path / "attached"
    flags = ["--run.steps", "2", "--layer.size", "8", "--segment-tokens", "32", "--window-tokens", "32", "--threads", "1"]
    attach = [PROGRAM, "attach", "--base", base, "--text", text, "--out", out, *flags]
    result = run(attach)
    assert result.returncode == 0, result.stderr
    return base, tokens, out, attach


@pytest.mark.parametrize("name", ["adapter.json", "adapter.safetensors"])
def test_a_flipped_bit_in_an_adapter_is_noticed(adapter, name):
    base, _, out, _ = adapter
    for _ in flips(out / "model" / name):
        with pytest.raises(fwl.UserError, match=str(out / "model")):
            fwl.open_model(str(base), str(out / "model"))
    fwl.open_model(str(base), str(out / "model"))


@pytest.mark.parametrize("name", ["train.hidden", "train.hidden.json"])
def test_a_flipped_bit_in_a_hidden_state_cache_is_noticed(adapter, name):
    base, tokens, out, attach = adapter
    for checkpoint in (out / "checkpoints").iterdir():
        checkpoint.unlink()
    for _ in flips(out / "cache" / name, 3):
        one_line(run(attach), out / "cache/train.hidden")
        assert not list((out / "checkpoints").iterdir())
    assert run(attach).returncode == 0


def test_a_session_without_its_checksum_is_refused(words_model, tmp_path):
    base, text, _ = words_model
    session = tmp_path / "a.session"
    read = [PROGRAM, "read", "--model", base, "--session", session, text]
    assert run(read).returncode == 0
    with safe_open(session, "pt") as file:
        metadata = dict(file.metadata())
    assert metadata.pop("fwl_checksum")
    save_file(load_file(session), session, metadata)
    before = session.read_bytes()
    for command in (read, [PROGRAM, "session", "show", session], [PROGRAM, "session", "reset", session]):
        one_line(run(command), session, "with its checksum")
    assert session.read_bytes() == before


def test_losses_carry_a_checksum(words_model, tmp_path):
    base, _, tokens = words_model
    losses = tmp_path / "a.nll"
    assert run([PROGRAM, "perplexity", "--model", base, "--tokens", tokens, "--save-nll", losses]).returncode == 0
    analyze, report = [PROGRAM, "analyze", losses, losses], [PROGRAM, "report", losses, "--out", tmp_path / "a.html"]
    for _ in flips(losses, 2):
        one_line(run(analyze), losses)
        one_line(run(report), losses)
    assert run(analyze).returncode == 0 and run(report).returncode == 0


def test_shipped_adapters_carry_checksums():
    for folder in (ROOT / "adapters").iterdir():
        assert json.loads((folder / "adapter.json").read_text())["fwl_checksum"], folder


def test_analyze_shows_only_the_text_that_was_scored(words_model, tmp_path):
    base, text, tokens = words_model
    losses, other_text, other = tmp_path / "a.nll", tmp_path / "other.txt", tmp_path / "other.tokens"
    other_text.write_text(text.read_text().replace("w1", "w2"))
    run([PROGRAM, "tokenize", "--tokenizer", base / "words.vocab", "--out", other, other_text], check=True)
    assert run([PROGRAM, "perplexity", "--model", base, "--tokens", tokens, "--save-nll", losses]).returncode == 0
    analyze = [PROGRAM, "analyze", losses, losses, "--tokenizer", base / "words.vocab", "--tokens"]
    assert run([*analyze, tokens]).returncode == 0
    one_line(run([*analyze, other]), other, "the text that was scored")


def test_a_large_token_file_opens_at_once(tmp_path):
    """By block: a damaged block that nobody reads does not matter, and is not read to open the file."""
    text, tokens = tmp_path / "text", tmp_path / "text.tokens"
    text.write_bytes(bytes(range(256)) * 12000)  # 6 MB of ids: blocks of 1 MB
    run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", tokens, text], check=True)
    damaged = bytearray(tokens.read_bytes())
    damaged[5 << 20] ^= 1
    tokens.write_bytes(damaged)
    assert run([PROGRAM, "inspect", tokens]).returncode == 0
    file = fwl.TokenFile(str(tokens))
    with pytest.raises(fwl.UserError, match="damaged"):
        file.verify()
