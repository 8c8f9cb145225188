"""Memories in the blocks of a base model, against plain PyTorch with autograd taken twice."""

import json
from pathlib import Path

import fwl
import pytest
import torch
from block_twin import BlockTwin

from test_perplexity import trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, run

GOLDENS = Path(__file__).resolve().parents[1] / "goldens" / "llama-grouped"
SETTINGS = {"at": "all", "rank": 6, "chunk_tokens": 7, "step": 2.0, "decay": 0.9, "warmup_chunks": 2}
TRAINED = ("blocks.U", "blocks.log_steps", "blocks.decay_logits")


def model_and_twin(settings):
    base = fwl.open_base(str(GOLDENS))
    model = fwl.LanguageModel(base, blocks=settings)
    weights = {name: tensor.detach().double() for name, tensor in base.parameters().items()}
    return model, BlockTwin(weights, json.loads((GOLDENS / "config.json").read_text()), settings)


@pytest.mark.parametrize("bound", [0.05, 100.0])
def test_losses_and_meta_gradients_are_those_of_the_definition(bound):
    settings = SETTINGS | {"max_update": bound}
    model, twin = model_and_twin(settings)
    torch.manual_seed(3)
    tokens = torch.randint(0, 61, (2, 29))  # four chunks and the last target
    trained = [model.parameters()[name].requires_grad_() for name in TRAINED]
    losses = model.read(tokens, model.new_session(2))
    gradients = torch.autograd.grad(losses[:, :28].sum(), trained)

    doubled = [tensor.detach().double().requires_grad_() for tensor in trained]
    expected, _ = twin.read(tokens[:, :28], tokens[:, 1:], *doubled)
    assert torch.allclose(losses.double(), expected, atol=1e-4)
    assert not torch.allclose(losses[:, 7:].double(), twin.read(tokens[:, :28], tokens[:, 1:], doubled[0],
                                                                doubled[1] - 9, doubled[2])[0][:, 7:], atol=1e-3)
    for name, gradient, wanted in zip(TRAINED, gradients, torch.autograd.grad(expected.sum(), doubled)):
        assert torch.allclose(gradient.double(), wanted, atol=2e-3 * wanted.abs().max().item()), name


def test_settings_that_are_wrong_are_one_clear_error():
    base = fwl.open_base(str(GOLDENS))
    for settings, message in (({"at": "2"}, "blocks from 0 to 1"), ({"at": "all", "rank": 0}, "rank"),
                              ({"at": "1-x"}, "'x'"), ({"ranks": 3}, "ranks")):
        with pytest.raises(fwl.UserError, match=message):
            fwl.LanguageModel(base, blocks=settings)


BLOCKS = ("--blocks", "all", "--blocks.rank", "8", "--blocks.chunk-tokens", "16")


def fwl_run(*arguments):
    result = run([PROGRAM, *arguments])
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_perplexity_tune_and_bench_know_the_method(words_model):
    base, text, tokens = words_model
    common = ("-m", base, "--tokens", tokens, *BLOCKS)
    result = json.loads(fwl_run("perplexity", *common, "--method", "static", "blocks", "--json"))
    static, blocks = (method["nll"] for method in result["methods"])
    assert static != blocks
    apart = json.loads(fwl_run("perplexity", *common, "--method", "blocks", "--segment", "5", "--json"))
    assert apart["methods"][0]["nll"] == pytest.approx(blocks, abs=1e-5)
    both = json.loads(fwl_run("perplexity", *common, "--method", "static", "blocks", "--together", "--json"))
    assert [method["nll"] for method in both["methods"]] == pytest.approx([static, blocks], abs=1e-6)
    joined = json.loads(fwl_run("perplexity", *common, "--method", "fwl", "--json"))  # no layer: the blocks alone
    assert joined["methods"][0]["nll"] == pytest.approx(blocks, abs=1e-6)
    tuned = json.loads(fwl_run("tune", *common, "--method", "blocks", "--low", "0.1", "--high", "1", "--points", "2",
                               "--rounds", "1", "--json"))
    assert tuned["static"] == pytest.approx(static) and len({one["nll"] for one in tuned["tried"]}) == 2
    rows = json.loads(fwl_run("bench", "-m", base, *BLOCKS, "-p", "32", "-n", "4", "-r", "1", "-o", "json",
                              "--method", "static", "blocks"))
    assert [row["method"] for row in rows] == ["static", "blocks"] * 2
    assert rows[1]["flops_per_token"] > 1.5 * rows[0]["flops_per_token"]


def test_sessions_with_blocks_go_on_and_are_refused_without_them(words_model, tmp_path):
    base, text, _ = words_model
    session = tmp_path / "a.session"
    more, once = tmp_path / "more.txt", tmp_path / "once.txt"
    more.write_text("w2 w3\n" + text.read_text())
    once.write_text(text.read_text() + more.read_text())
    exact = ("--session-precision", "fp32")
    fwl_run("read", "-m", base, *BLOCKS, *exact, "--session", session, text)
    fwl_run("read", "-m", base, *BLOCKS, *exact, "--session", session, more)
    other = tmp_path / "b.session"
    fwl_run("read", "-m", base, *BLOCKS, *exact, "--session", other, once)
    generate = ("generate", "-m", base, *BLOCKS, "--prompt", "w1", "-n", "12", "--temp", "0", "--adapt", "write")
    written = fwl_run(*generate, "--session", session)
    assert written == fwl_run(*generate, "--session", other)
    shown = fwl_run("session", "show", session, "-m", base, *BLOCKS)
    assert "block 0 W" in shown
    for flags in ((), ("--blocks", "1")):
        refused = run([PROGRAM, "generate", "-m", base, *flags, "--session", session, "--prompt", "w1"])
        assert refused.returncode == 1 and "another model or adapter" in refused.stderr
