"""lm-evaluation-harness with fwl: equal to its hf model class while the fast weights are off, and what they change."""

import json
import math
import subprocess
import sys

import fwl
import pytest
import torch
from test_training_process import ROOT

pytest.importorskip("lm_eval", reason="python3 scripts/setup.py lm_eval installs it")
from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: E402
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast  # noqa: E402

from fwl.lm_eval import FastWeightLM  # noqa: E402

WINDOW = 48
TEXTS = ["The weights follow the text.", "a", "Two plus two is four. " * 12]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hf")
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: index for index, letter in enumerate([*letters, "th", "Ġt"])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("t", "h"), ("Ġ", "t")]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<begin>", eos_token="<end>").save_pretrained(folder)
    torch.manual_seed(1)
    config = LlamaConfig(vocab_size=len(vocabulary) + 2, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=WINDOW,
                         bos_token_id=len(vocabulary), eos_token_id=len(vocabulary) + 1)
    model = LlamaForCausalLM(config)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4)  # so that it is sure of something
    model.save_pretrained(folder)
    return folder


def requests(kind, arguments):
    return [Instance(kind, {}, given, index) for index, given in enumerate(arguments)]


def pairs():
    questions = [("The answer is", " yes"), ("The answer is", " no, it is not"), ("", "Empty context"), ("Q: two\nA: ", "four"),
                 ("a long context " * 9, " and its end"), ("The answer is", " no")]
    return requests("loglikelihood", questions)


@pytest.fixture(scope="module")
def peers(folder):
    hf = HFLM(pretrained=str(folder), dtype="float32", device="cpu", batch_size=2)
    return hf, FastWeightLM(path=folder, batch_size=3)


def test_likelihoods_without_fast_weights_are_those_of_hf(peers):
    theirs, ours = [model.loglikelihood(pairs(), disable_tqdm=True) for model in peers]
    for (their_sum, their_greedy), (our_sum, our_greedy) in zip(theirs, ours, strict=True):
        assert math.isclose(their_sum, our_sum, rel_tol=1e-5, abs_tol=1e-4) and their_greedy == our_greedy


def test_a_continuation_is_greedy_if_generation_gives_it(peers):
    hf, ours = peers
    prompt = ours.tok_encode("The answer is")
    session = ours.model.new_session()
    ours.model.read(torch.tensor([prompt]), session, adapt="off")
    written = ours.model.generate(session, 6, temperature=0, adapt="off")
    asked = [(("a", "b"), prompt, written), (("a", "c"), prompt, [*written[:-1], (written[-1] + 1) % 256])]
    for model in (hf, ours):
        assert [is_greedy for _, is_greedy in model._loglikelihood_tokens(asked, disable_tqdm=True)] == [True, False]


def test_rolling_likelihoods_of_long_texts_are_those_of_hf(peers):
    theirs, ours = [model.loglikelihood_rolling(requests("loglikelihood_rolling", [(text,) for text in TEXTS]),
                                                disable_tqdm=True) for model in peers]
    assert all(math.isclose(their, our, rel_tol=1e-5, abs_tol=1e-4) for their, our in zip(theirs, ours, strict=True))


def test_generated_texts_are_those_of_hf(peers):
    asked = requests("generate_until", [(text, {"until": ["\n", "e"], "max_gen_toks": 12}) for text in TEXTS])
    theirs, ours = [model.generate_until(asked, disable_tqdm=True) for model in peers]
    assert theirs == ours


def test_fast_weights_are_fresh_for_every_request_and_batching_changes_nothing(folder):
    one, many = (FastWeightLM(path=folder, blocks="all", batch_size=size) for size in (1, 6))
    alone, together = (model.loglikelihood(pairs(), disable_tqdm=True) for model in (one, many))
    again = many.loglikelihood(pairs()[::-1], disable_tqdm=True)[::-1]
    assert torch.allclose(torch.tensor([value for value, _ in alone]), torch.tensor([value for value, _ in together]),
                          atol=1e-4)
    assert torch.allclose(torch.tensor([value for value, _ in again]), torch.tensor([value for value, _ in together]),
                          atol=1e-4)


def test_rolling_carries_the_fast_weights_past_the_window(folder, peers):
    text = "Two plus two is four. " * 40
    asked = requests("loglikelihood_rolling", [(text,)])
    adapted = FastWeightLM(path=folder, method="fwl", blocks="all")
    without, learned = (model.loglikelihood_rolling(asked, disable_tqdm=True)[0] for model in (peers[1], adapted))
    assert learned > without + 10


def test_examples_in_the_weights_leave_the_context_to_the_question(folder):
    context = "Q: red?\nA: no\n\nQ: blue?\nA: yes\n\nQ: green?\nA:"
    model = FastWeightLM(path=folder, blocks="all", examples="weights", passes=3)
    assert model.split(context) == ("Q: red?\nA: no\n\nQ: blue?\nA: yes\n\n", "Q: green?\nA:")
    alone = FastWeightLM(path=folder, blocks="all")
    [(learned, _)] = model.loglikelihood(requests("loglikelihood", [(context, " yes")]), disable_tqdm=True)
    [(plain, _)] = alone.loglikelihood(requests("loglikelihood", [("Q: green?\nA:", " yes")]), disable_tqdm=True)
    assert learned > plain
    both = FastWeightLM(path=folder, blocks="all", examples="both")
    assert both.split(context)[1] == context


def test_wrong_arguments_are_named(folder):
    with pytest.raises(ValueError, match="expected context, weights, both, got memory"):
        FastWeightLM(path=folder, examples="memory")
    with pytest.raises(ValueError, match="got static"):
        FastWeightLM(path=folder, examples="weights")
    with pytest.raises(fwl.UserError, match="expected a model with fast weights"):
        FastWeightLM(path=folder, method="fwl")
    with pytest.raises(ValueError, match="batchsize"):
        FastWeightLM(path=folder, batchsize=3)


def test_the_command_runs_a_task_from_a_file(folder, tmp_path):
    (tmp_path / "colours.jsonl").write_text("\n".join(
        json.dumps({"query": f"Colour {n}:", "choices": ["red", "blue"], "gold": n % 2}) for n in range(4)) + "\n")
    (tmp_path / "colours.yaml").write_text(
        "task: colours\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: " + str(tmp_path / "colours.jsonl")
        + "\ntest_split: test\noutput_type: multiple_choice\ndoc_to_text: \"{{query}}\"\ndoc_to_target: \"{{gold}}\"\n"
        "doc_to_choice: \"{{choices}}\"\nmetric_list:\n  - metric: acc\n")
    made = subprocess.run(
        [sys.executable, "-m", "fwl.lm_eval", "--model", "fwl", "--model_args", f"path={folder},blocks=all,method=fwl",
         "--tasks", "colours", "--include_path", tmp_path, "--output_path", tmp_path / "out", "--batch_size", "4"],
        capture_output=True, text=True, timeout=120, cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1"})
    assert made.returncode == 0, made.stderr
    [result] = (tmp_path / "out").rglob("results_*.json")
    assert 0 <= json.loads(result.read_text())["results"]["colours"]["acc,none"] <= 1
