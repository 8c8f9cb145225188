"""Adapters go from the command line to transformers and back; sessions from Python to the command line and back."""

import json
import re
import shutil

import fwl
import pytest
import torch

from hf_models import losses
from test_training_process import PROGRAM, ROOT, TINY, run

BLOCKS = ("--blocks", "all", "--blocks.rank", "8", "--blocks.chunk-tokens", "16", "--blocks.start", "true")


def fwl_run(*arguments):
    result = run([PROGRAM, *arguments])
    assert result.returncode == 0, result.stderr
    return result.stdout


def nll(base, adapter, tokens):
    result = json.loads(fwl_run("perplexity", "-m", base, "--adapter", adapter, "--tokens", tokens, "--method", "fwl",
                                "--max-tokens", "30", "--json"))
    return result["methods"][0]["nll"]


@pytest.mark.parametrize("flags", [BLOCKS, ("--memory.kind", "none", *BLOCKS), ()])
def test_an_adapter_of_the_command_line_is_trained_on_in_transformers_and_goes_back(words_model, tmp_path, flags):
    from transformers import AutoModelForCausalLM

    base, text, tokens = words_model
    fwl_run("attach", "--base", base, "--text", text, "--segment-tokens", "32", "--rows", "2", "--window-tokens", "32",
            "--run.steps", "2", "--out", tmp_path / "run", "--set", "layer.size=12", *flags)
    ids = torch.from_numpy(fwl.TokenFile(str(tokens)).ids[:30].astype("int64")).unsqueeze(0)
    model = fwl.from_pretrained(base, tmp_path / "run/model")
    with torch.no_grad():
        assert losses(model, ids).mean().item() == pytest.approx(nll(base, tmp_path / "run/model", tokens), abs=1e-5)
    optimizer = torch.optim.Adam(model.fast_weights.parameters(), 1e-2)
    for _ in range(3):
        optimizer.zero_grad()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
    model.save_pretrained(tmp_path / "tuned")
    with torch.no_grad():
        tuned = losses(model, ids).mean().item()
    assert nll(base, tmp_path / "tuned", tokens) == pytest.approx(tuned, abs=1e-5)
    again = fwl.attach(AutoModelForCausalLM.from_pretrained(base), tmp_path / "tuned")
    with torch.no_grad():
        assert losses(again, ids).mean().item() == pytest.approx(tuned, abs=1e-6)


def test_generate_gives_the_text_of_the_command_line(words_model, tmp_path):
    from fwl.hf.tokenizer import word_tokenizer

    base, text, tokens = words_model
    model = fwl.attach(fwl.from_pretrained(base), layer={"size": 12, "chunk_tokens": 4},
                       blocks={"at": "all", "rank": 8, "chunk_tokens": 5})
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        model.fast_weights.layer.W.copy_(0.2 * torch.randn(12, 12, generator=torch.Generator().manual_seed(1)))
    model.save_pretrained(tmp_path / "adapter")
    tokenizer = word_tokenizer(str(base / "words.vocab"))
    prompt = "w3 w1 w4 w1 w5 w2 w6"
    ids = torch.tensor([tokenizer.encode(prompt).ids])
    for adapt in ("prompt", "write"):
        model.fast_weights.adapt = adapt
        out = model.generate(ids, max_new_tokens=16, do_sample=False)
        shown = fwl_run("generate", "-m", base, "--adapter", tmp_path / "adapter", "--prompt", prompt, "-n", "16",
                        "--temp", "0", "--adapt", adapt, "--ignore-end")
        assert shown.split()[-16:] == tokenizer.decode(out[0, 7:].tolist(), skip_special_tokens=False).split()[-16:]


def test_a_base_that_was_trained_too_is_saved_with_the_adapter(words_model, tmp_path):
    base, _, tokens = words_model
    model = fwl.attach(fwl.from_pretrained(base), blocks={"at": "all", "rank": 4, "chunk_tokens": 8})
    model.requires_grad_(True)
    ids = torch.from_numpy(fwl.TokenFile(str(tokens)).ids[:30].astype("int64")).unsqueeze(0)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    model.save_pretrained(tmp_path / "both")
    shutil.copy(base / "words.vocab", tmp_path / "both")
    with torch.no_grad():
        expected = losses(model.eval(), ids).mean().item()
    assert nll(tmp_path / "both", tmp_path / "both/adapter", tokens) == pytest.approx(expected, abs=1e-5)


def test_an_adapter_is_refused_by_another_base(words_model, tmp_path):
    base, _, _ = words_model
    model = fwl.attach(fwl.from_pretrained(base), blocks="all")
    model.save_pretrained(tmp_path / "adapter")
    other = tmp_path / "other"
    shutil.copytree(base, other)
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"note": "another"}))
    with pytest.raises(ValueError, match="expected the base"):
        fwl.from_pretrained(other, tmp_path / "adapter")
    assert fwl.attach(fwl.from_pretrained(other), tmp_path / "adapter", any_base=True).fast_weights.blocks is not None
    nameless = fwl.attach(fwl.from_pretrained(base), blocks="all")
    nameless.fast_weights.base = None
    with pytest.raises(ValueError, match="base=PATH"):
        nameless.save_pretrained(tmp_path / "x")


def test_sessions_of_python_and_of_the_command_line_are_the_same(words_model, tmp_path):
    base, text, tokens = words_model
    model = fwl.open_model(str(base))
    ids = torch.from_numpy(model.tokenizer.encode(text.read_text())).unsqueeze(0)[:, :20]
    session = model.new_session()
    with torch.no_grad():
        model.read(ids, session)
        model.save_session(session, str(tmp_path / "a.session"))
        expected = model.generate(session, 8, temperature=0.0, seed=3)
    shown = fwl_run("generate", "-m", base, "--session", tmp_path / "a.session", "--prompt", "", "-n", "8", "--temp", "0",
                    "--ignore-end")
    assert shown.split() == model.tokenizer.decode(expected).decode().split()
    (tmp_path / "text.txt").write_text("w1 w2 w3")
    fwl_run("read", "-m", base, "--session", tmp_path / "b.session", "--session-precision", "fp32", tmp_path / "text.txt")
    other = model.load_session(str(tmp_path / "b.session"))
    again = model.new_session()
    with torch.no_grad():
        model.read(torch.from_numpy(model.tokenizer.encode("w1 w2 w3")).unsqueeze(0), again)
        assert torch.allclose(model.next_logits(other), model.next_logits(again), atol=1e-6)
    with pytest.raises(ValueError, match="identity="):
        fwl.LanguageModel(model.base).save_session(session, str(tmp_path / "c.session"))


def test_the_examples_of_the_python_page_run(words_model, tmp_path, monkeypatch):
    base, text, tokens = words_model
    fwl_run("attach", "--base", base, "--text", text, "--segment-tokens", "32", "--rows", "2", "--window-tokens", "32",
            "--run.steps", "1", "--out", tmp_path / "run", "--set", "layer.size=12", *BLOCKS)
    shutil.move(tmp_path / "run/model", tmp_path / "adapter")
    (tmp_path / "text").write_bytes((ROOT / "LICENSE").read_bytes()[:1500])
    fwl_run("tokenize", "--tokenizer", "bytes", "--out", tmp_path / "a.tokens", tmp_path / "text")
    fwl_run("train", "--data.train", tmp_path / "a.tokens", "--out", tmp_path / "new", *TINY, "--run.steps", "1")
    shutil.move(tmp_path / "new/model", tmp_path / "trained")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.S)
    exec(compile("\n".join(examples), "docs/python.md", "exec"), {})
    assert json.loads(fwl_run("perplexity", "-m", "again", "--text", "text", "--max-tokens", "50", "--json"))["methods"]
