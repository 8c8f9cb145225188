"""Models trained by `fwl train` in transformers' Auto classes, and back on the command line."""

import copy
import importlib
import pickle
import subprocess
import sys

import fwl
import pytest
import torch

from hf_models import losses
from test_perplexity import perplexity, trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import GOLDENS, PROGRAM, ROOT, TINY, run


def opened(path):
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(path)


def ids_of(text, count=300):
    return torch.tensor([list(text.read_bytes()[:count])])


def test_logits_are_those_of_the_program_and_stay_so_after_fine_tuning_and_saving(trained, tmp_path):  # noqa: F811
    path, text, tokens = trained
    model, core, ids = opened(path), fwl.open_model(str(path)), ids_of(text)
    with torch.no_grad():
        expected = core.read(ids, core.new_session())
        assert (losses(model, ids) - expected).abs().max() < 1e-5
        session = core.new_session()
        core.read(ids, session)
        assert (model(input_ids=ids).logits[:, -1] - core.next_logits(session)).abs().max() < 1e-5
    optimizer = torch.optim.Adam(model.train().parameters(), 3e-3)
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
    model.eval().save_pretrained(tmp_path / "tuned")
    with torch.no_grad():
        whole = losses(model, torch.tensor([list(text.read_bytes())]))
        assert torch.equal(losses(opened(tmp_path / "tuned"), ids), losses(model, ids))
    result = perplexity(tmp_path / "tuned", "--tokens", tokens, "--method", "fwl")["methods"][0]
    assert result["nll"] == pytest.approx(whole.mean().item(), abs=1e-5)
    assert result["nll"] < perplexity(path, "--tokens", tokens, "--method", "fwl")["methods"][0]["nll"] - 1e-3


@pytest.mark.parametrize("flags", [
    ("--memory.kind", "bias-only"), ("--memory.kind", "delta-rule"), ("--memory.kind", "none", "--objective.name", "static"),
    ("--memory.kind", "none", "--blocks", "all", "--blocks.rank", "4", "--blocks.chunk-tokens", "16"),
])
def test_every_kind_of_model_opens_and_scores_alike_in_pieces(trained, tmp_path, flags):  # noqa: F811
    _, text, tokens = trained
    out = tmp_path / "run"
    result = run([PROGRAM, "train", "--data.train", tokens, "--out", out, *TINY, "--run.steps", "2", *flags])
    assert result.returncode == 0, result.stderr
    model, core, ids = opened(out / "model"), fwl.open_model(str(out / "model")), ids_of(text, 70)
    with torch.no_grad():
        assert (losses(model, ids) - core.read(ids, core.new_session())).abs().max() < 1e-5
        whole, first = model(input_ids=ids), model(input_ids=ids[:, :41])
        rest = model(input_ids=ids[:, 41:], past_key_values=first.past_key_values)
        assert torch.allclose(torch.cat([first.logits, rest.logits], 1), whole.logits, atol=1e-4)


def test_generate_gives_the_text_of_the_program(trained):  # noqa: F811
    from transformers import AutoTokenizer

    path, text, _ = trained
    model, tokenizer = opened(path), AutoTokenizer.from_pretrained(path)
    assert tokenizer.is_fast and tokenizer("aé").input_ids == list("aé".encode())
    prompt = "Licensed under the"
    out = model.generate(**tokenizer(prompt, return_tensors="pt"), max_new_tokens=24, do_sample=False)
    result = run([PROGRAM, "generate", "--model", path, "--prompt", prompt, "-n", "24", "--temp", "0"])
    assert result.stdout.removeprefix(prompt).rstrip("\n") == tokenizer.decode(out[0, len(prompt):]).rstrip("\n")


def test_padding_beams_and_batches_are_each_text_alone(trained):  # noqa: F811
    path, text, _ = trained
    model, ids = opened(path), ids_of(text, 40)
    short = ids[:, 5:30]
    both = torch.cat([ids, torch.cat([torch.zeros(1, 15, dtype=torch.int64), short], 1)])
    mask = torch.ones_like(both)
    mask[1, :15] = 0
    options = dict(max_new_tokens=7, do_sample=False, pad_token_id=0)
    model.fast_weights.adapt = "write"
    out = model.generate(both, attention_mask=mask, **options)
    for row, prompt in enumerate((ids, short)):
        assert torch.equal(out[row, 40:], model.generate(prompt, **options)[0, prompt.shape[1]:])
    beams = model.generate(ids, num_beams=3, return_dict_in_generate=True, output_scores=True, **options)
    with torch.no_grad():
        assert -losses(model, beams.sequences)[0, 39:].mean() == pytest.approx(float(beams.sequences_scores[0]), abs=1e-4)


def test_a_model_is_copied_pickled_made_afresh_and_trained_by_the_trainer(trained, tmp_path):  # noqa: F811
    from transformers import AutoConfig, AutoModelForCausalLM, Trainer, TrainingArguments

    path, text, tokens = trained
    model, ids = opened(path), ids_of(text, 48)
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with torch.no_grad():
            assert torch.equal(losses(same, ids), losses(model, ids))
            next(same.parameters()).add_(1)
            assert not torch.equal(losses(same, ids), losses(model, ids))
    assert opened(path).double()(input_ids=ids).logits.dtype == torch.float64
    fresh = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(path))
    assert fresh.num_parameters() == model.num_parameters()
    arguments = TrainingArguments(str(tmp_path), max_steps=2, use_cpu=True, report_to=[], save_steps=2)
    data = [{"input_ids": ids[0], "labels": ids[0]}] * 4
    trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:2])
    trainer.train()
    with torch.no_grad():  # the Trainer divides by the number of labels before they are shifted
        expected = losses(model.eval(), ids).mean().item() * 47 / 48
        assert trainer.evaluate()["eval_loss"] == pytest.approx(expected, abs=1e-5)
    result = perplexity(tmp_path / "checkpoint-2", "--tokens", tokens, "--method", "fwl")["methods"][0]
    with torch.no_grad():
        whole = losses(model.eval(), torch.tensor([list(text.read_bytes())]))
    assert result["nll"] == pytest.approx(whole.mean().item(), abs=1e-5)


def test_words_have_the_ids_of_the_program(tmp_path):
    from fwl.hf.tokenizer import word_tokenizer

    source = tmp_path / "text.txt"
    source.write_text("one two\ntwo three four\n\nfive two\n")
    assert run([PROGRAM, "vocabulary", "--min-count", "1", "--out", tmp_path / "a.vocab", source]).returncode == 0
    own, fast = fwl.open_tokenizer(str(tmp_path / "a.vocab")), word_tokenizer(str(tmp_path / "a.vocab"))
    text = "two  one\n\tfive\n\n three"
    ids = own.encode(text).tolist()
    assert fast.encode(text).ids == ids
    assert fast.decode(ids, skip_special_tokens=False) == own.decode(ids).decode()


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_pieces_have_the_ids_of_the_program(tmp_path, kind):
    from fwl.hf.sentencepiece import sentencepiece_tokenizer

    path = str(tmp_path / "a.model")
    source = ROOT / "docs/fast-weights.md"
    result = run([PROGRAM, "vocabulary", "--kind", "sentencepiece", "--model-type", kind, "--size", "500", "--out", path, source])
    assert result.returncode == 0, result.stderr
    own, fast = fwl.open_tokenizer(path), sentencepiece_tokenizer(path)
    for text in (source.read_text(), "  two  spaces\n\tand é 日本 \n"):
        text = text.replace("```", "")  # which can be split in two ways that are equally likely
        ids = own.encode(text).tolist()
        assert fast.encode(text, add_special_tokens=False).ids == ids
        assert fast.decode(ids, skip_special_tokens=False) == own.decode(ids).decode()


def test_registration_waits_until_transformers_is_there():
    code = ("import sys, fwl; assert not any(name.startswith('transformers') for name in sys.modules); "
            "from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer; "
            f"print(AutoConfig.from_pretrained({str(GOLDENS / 'gpt2')!r}).model_type); "
            "from fwl.hf.config import FwlConfig; from fwl.hf.model import FwlForCausalLM; "
            "assert AutoModelForCausalLM._model_mapping[FwlConfig] is FwlForCausalLM")
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout == "gpt2\n", result.stderr
    code = "import sys; sys.modules['transformers'] = None; import fwl; fwl.attach(None)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "expected transformers 4.57, got none" in result.stderr


def test_the_command_of_the_same_name_still_runs():
    function = fwl.attach
    assert importlib.import_module("fwl.attach") is function is fwl.attach
    result = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-m", "fwl.attach", "--help"],
                            capture_output=True, text=True)
    assert result.returncode == 0 and "--base" in result.stdout and result.stderr == ""


def test_the_pinned_version_is_the_one_that_is_known():
    import tomllib

    from fwl.hf import TRANSFORMERS_VERSION

    pinned = tomllib.loads((ROOT / "dependencies.toml").read_text())["python"]["test"]["transformers"][0]
    assert pinned.startswith(TRANSFORMERS_VERSION + ".")
