"""Base models against PyPI's transformers: committed goldens, and live."""

import json
import shutil
import sys
from pathlib import Path

import fwl
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).resolve().parents[2]
GOLDENS = ROOT / "tests" / "goldens"
NAMES = sorted(path.name for path in GOLDENS.iterdir())
DECODERS = [name for name in NAMES if not name.startswith(("xl", "gpt2"))]
TOLERANCE = 1e-5

sys.path.insert(0, str(ROOT / "scripts"))
import make_goldens  # noqa: E402


def case_folders(name, tmp_path):
    """The committed golden, and a fresh one with other numbers."""
    folders = [GOLDENS / name]
    # Releases after 4.35.2 keep Transformer-XL among deprecated models, where it no longer runs.
    if make_goldens.CASES[name][0] != "xl" or transformers.__version__ == "4.35.2":
        make_goldens.make_case(name, tmp_path / name, seed=1)
        folders.append(tmp_path / name)
    return folders


def read_in_segments(model, segments, **context):
    """Every segment's hidden states, one state throughout."""
    state = model.new_state(segments[0].shape[0], **context)
    return [model.read(segment, state) for segment in segments]


def differ(a, b):
    return (a - b).abs().max().item()


@pytest.mark.parametrize("name", NAMES)
def test_hidden_states_logits_and_losses_equal_those_of_the_original(name, tmp_path):
    for folder in case_folders(name, tmp_path):
        expected = load_file(folder / "expected.safetensors")
        model = fwl.open_base(str(folder))
        with torch.no_grad():
            for index, hidden in enumerate(read_in_segments(model, expected["tokens"])):
                assert differ(hidden, expected["hidden"][index]) < TOLERANCE
                logits = model.head.logits(hidden.flatten(0, 1)).view(*hidden.shape[:2], -1)
                assert differ(logits.log_softmax(-1), expected["logits"][index].log_softmax(-1)) < TOLERANCE
                targets = expected["tokens"][index][:, 1:]
                losses = model.head.loss(hidden[:, :-1].flatten(0, 1), targets.flatten()).view(targets.shape)
                assert differ(losses, expected["losses"][index]) < TOLERANCE


@pytest.mark.parametrize("name", NAMES)
def test_training_computes_the_same_and_reaches_every_weight(name):
    expected = load_file(GOLDENS / name / "expected.safetensors")
    model = fwl.open_base(str(GOLDENS / name), weights="fp32")
    for parameter in model.parameters().values():
        parameter.requires_grad_(True)
    total = 0
    for index, hidden in enumerate(read_in_segments(model, expected["tokens"])):
        assert differ(hidden, expected["hidden"][index]) < TOLERANCE
        targets = expected["tokens"][index][:, 1:].flatten()
        total = total + model.head.loss(hidden[:, :-1].flatten(0, 1), targets).sum()
    total.backward()
    for key, parameter in model.parameters().items():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, key


@pytest.mark.parametrize("tokens", (5, 70))  # attention goes in blocks of 64
@pytest.mark.parametrize("name", ("gpt2", "llama-grouped", "llama-tied", "qwen2-windows", "qwen3", "gemma3", "phi3-window",
                                  "olmo2", "smollm3"))
def test_the_gradients_of_every_weight_equal_those_of_transformers(name, tokens, tmp_path):
    kind, options = make_goldens.CASES[name]
    torch.manual_seed(5)
    peer = make_goldens.make_model(kind, dict(options, **{"n_positions" if kind == "gpt2" else "max_position_embeddings": 80}))
    peer.save_pretrained(tmp_path)
    text = torch.randint(1, peer.config.vocab_size, (2, tokens))  # 0 is padding, of which some have no gradient
    peer.double()(text, labels=text).loss.backward()
    expected = {key: parameter.grad for key, parameter in peer.named_parameters()}
    model = fwl.open_base(str(tmp_path), weights="fp32")
    for parameter in model.parameters().values():
        parameter.requires_grad_(True)
    hidden = model.read(text, model.new_state(2))
    model.head.loss(hidden[:, :-1].flatten(0, 1), text[:, 1:].flatten()).mean().backward()
    assert model.parameters().keys() == expected.keys()
    for key, parameter in model.parameters().items():
        # Biases of keys change no softmax: their gradients are zero but for rounding.
        assert differ(parameter.grad, expected[key]) < 2e-6 + 1e-5 * expected[key].abs().max().item(), key


def small_models():
    for name in NAMES:
        context = {}
        if name == "xl-one-table":  # made without same length: there segments are part of the definition
            context = {"memory": 9, "clamp": 12, "same_length": True}
        yield name, fwl.open_base(str(GOLDENS / name)), context
    sparse = fwl.new_base("sparse-local", 61, layers=2, hidden_size=16, heads=2, ffn_size=24, block_tokens=5, seed=3)
    yield "sparse", sparse, {}


@pytest.mark.parametrize("name, model, context", small_models(),
                         ids=lambda value: value if isinstance(value, str) else "")
def test_whole_segments_and_single_tokens_give_the_same(name, model, context):
    torch.manual_seed(4)
    tokens = torch.randint(0, model.vocabulary_size, (2, 31))
    with torch.no_grad():
        (whole,) = read_in_segments(model, [tokens], **context)
        for lengths in ([1] * 31, [7, 1, 13, 10], [30, 1]):
            parts = torch.cat(read_in_segments(model, tokens.split(lengths, 1), **context), 1)
            assert differ(parts, whole) < TOLERANCE, lengths
        alone = read_in_segments(model, [tokens[1:]], **context)[0]
        assert differ(alone, whole[1:]) < TOLERANCE  # the same text scores the same in any company


def test_a_sparse_model_sees_its_own_block_and_the_one_before():
    model = fwl.new_base("sparse-local", 50, layers=1, hidden_size=16, heads=2, ffn_size=24, block_tokens=4, seed=1)
    tokens = torch.randint(0, 50, (1, 16))
    with torch.no_grad():
        before = read_in_segments(model, [tokens])[0][0]
        for changed in range(16):
            other = tokens.clone()
            other[0, changed] = (other[0, changed] + 1) % 50
            after = read_in_segments(model, [other])[0][0]
            moved = [position for position in range(16) if differ(after[position], before[position]) > 1e-7]
            last = changed // 4 * 4 + 7  # the end of the next block
            assert moved == list(range(changed, min(15, last) + 1)), changed


def test_training_and_reading_agree_in_the_sparse_model_with_any_block_length():
    for block in (1, 3, 5, 64):
        model = fwl.new_base("sparse-local", 50, layers=2, hidden_size=16, heads=2, ffn_size=24, block_tokens=block, seed=2)
        tokens = torch.randint(0, 50, (2, 140))
        with torch.no_grad():
            read = read_in_segments(model, [tokens])[0]
        for parameter in model.parameters().values():
            parameter.requires_grad_(True)
        assert differ(read_in_segments(model, [tokens])[0], read) < TOLERANCE


def test_a_sliding_window_equals_a_mask_over_the_last_positions():
    model = fwl.open_base(str(GOLDENS / "llama-grouped"))
    context = {"context": 6, "long_text": "slide"}
    tokens = torch.randint(0, 61, (1, 200))
    with torch.no_grad():
        whole = read_in_segments(model, [tokens], **context)[0]
        single = torch.cat(read_in_segments(model, tokens.split(1, 1), **context), 1)
        assert differ(whole, single) < 2e-5
        changed = tokens.clone()
        changed[0, 0] = (changed[0, 0] + 1) % 61
        seen = 2 * (6 - 1)  # two layers, each looking five back
        after = read_in_segments(model, [changed], **context)[0]
        assert differ(after[:, : seen + 1], whole[:, : seen + 1]) > 1e-4
        assert differ(after[:, seen + 1:], whole[:, seen + 1:]) == 0
        state = model.new_state(1, **context)
        sizes = []
        for token in torch.randint(0, 61, (300, 1, 1)):
            model.read(token, state)
            sizes.append(state.bytes)
        assert max(sizes[150:]) == max(sizes[:150])  # the cache stays flat


@pytest.mark.parametrize("name", DECODERS)
def test_a_window_slides_over_texts_of_any_length(name):
    model = fwl.open_base(str(GOLDENS / name))
    context = {"context": 6, "long_text": "slide"}
    tokens = torch.randint(0, 61, (2, 90))
    with torch.no_grad():
        whole = read_in_segments(model, [tokens], **context)[0]
        for lengths in ([1] * 90, [40, 3, 47]):
            assert differ(torch.cat(read_in_segments(model, tokens.split(lengths, 1), **context), 1), whole) < 2e-5


@pytest.mark.parametrize("name", ["gpt2", *DECODERS])
def test_a_window_that_restarts_reads_its_last_half_again(name):
    model = fwl.open_base(str(GOLDENS / name))
    tokens = torch.randint(0, 61, (2, 30))
    with torch.no_grad():
        context = {"context": 8, "long_text": "restart"}
        whole = read_in_segments(model, [tokens], **context)[0]
        parts = read_in_segments(model, tokens.split([3, 5, 1, 14, 7], 1), **context)
        assert differ(torch.cat(parts, 1), whole) < TOLERANCE
        for start in range(0, 24, 4):  # windows of 8 that overlap by 4
            window = read_in_segments(model, [tokens[:, start:start + 8]])[0]
            first = 0 if start == 0 else 4
            expected = whole[:, start + first:start + 8]
            assert differ(window[:, first:first + expected.shape[1]], expected) < TOLERANCE


def test_the_end_of_the_context_is_an_error_that_names_it():
    model = fwl.open_base(str(GOLDENS / "gpt2"))
    state = model.new_state(1)
    model.read(torch.zeros(1, 30, dtype=torch.long), state)
    with pytest.raises(fwl.UserError, match="at most 32 tokens of context, got 33"):
        model.read(torch.zeros(1, 3, dtype=torch.long), state)
    with pytest.raises(fwl.UserError, match="its positions are absolute"):
        model.new_state(context=16, long_text="slide")
    with pytest.raises(fwl.UserError, match="1 to 32 tokens"):
        model.new_state(context=64, long_text="restart")


@pytest.mark.parametrize("tokens, message", [
    (torch.zeros(2, 3, dtype=torch.long), "shape 1,T"),
    (torch.zeros(1, 0, dtype=torch.long), "at least one token"),
    (torch.tensor([[61]]), "token ids from 0 to 60, got 61"),
    (torch.tensor([[-1]]), "got -1"),
    (torch.zeros(1, 3), "integer token ids"),
])
def test_bad_tokens_are_one_clear_error(tokens, message):
    model = fwl.open_base(str(GOLDENS / "gpt2"))
    with pytest.raises(fwl.UserError, match=message):
        model.read(tokens, model.new_state(1))


def damaged(tmp_path, name, config=None, drop=None, reshape=None):
    folder = tmp_path / "model"
    shutil.copytree(GOLDENS / name, folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, **(config or {})}))
    weights = load_file(folder / "model.safetensors")
    if drop:
        del weights[drop]
    if reshape:
        weights[reshape] = weights[reshape].flatten()
    save_file(weights, folder / "model.safetensors")
    return str(folder)


@pytest.mark.parametrize("name, change, message", [
    ("gpt2", {"drop": "transformer.h.1.attn.c_proj.weight"}, r"a tensor transformer.h.1.attn.c_proj.weight of shape"),
    ("llama-tied", {"reshape": "model.layers.0.mlp.up_proj.weight"}, r"up_proj.weight: expected shape \[24, 16\]"),
    ("xl-divided", {"drop": "crit.cluster_weight"}, "a tensor crit.cluster_weight"),
    ("gpt2", {"config": {"model_type": "mamba"}}, "model_type: expected one of transfo-xl, llama, mistral, qwen2, .*, gpt2, got 'mamba'"),
    ("gpt2", {"config": {"n_head": 5}}, "heads of equal size"),
    ("gpt2", {"config": {"n_layer": -1}}, "n_layer: expected a whole number of at least 1"),
    ("llama-tied", {"config": {"num_hidden_layers": None}}, "num_hidden_layers"),
    ("llama-tied", {"config": {"rope_scaling": {"rope_type": "yarn", "factor": 2}}}, "default, linear or llama3"),
    ("llama-tied", {"config": {"hidden_act": "gelu"}}, "hidden_act: expected silu"),
    ("xl-divided", {"config": {"cutoffs": [40, 20]}}, "rising numbers"),
    ("xl-divided", {"config": {"cutoffs": "all"}}, "cutoffs: expected a list"),
    ("xl-divided", {"config": {"div_val": 100}}, "at least one number per token"),
])
def test_a_damaged_model_folder_is_one_clear_error(tmp_path, name, change, message):
    with pytest.raises(fwl.UserError, match=message):
        fwl.open_base(damaged(tmp_path, name, **change))


def test_half_precision_weights_multiply_as_they_are_stored(tmp_path):
    tokens = torch.randint(0, 61, (1, 20))
    for dtype in (torch.float16, torch.bfloat16):
        folder = tmp_path / str(dtype)
        shutil.copytree(GOLDENS / "llama-grouped", folder)
        weights = load_file(folder / "model.safetensors")
        save_file({key: value.to(dtype) for key, value in weights.items()}, folder / "model.safetensors")
        quantised, dense = fwl.open_base(str(folder)), fwl.open_base(str(folder), weights="fp32")
        with torch.no_grad():
            for lengths in ([20], [1] * 20):
                a = torch.cat(read_in_segments(quantised, tokens.split(lengths, 1)), 1)
                b = torch.cat(read_in_segments(dense, tokens.split(lengths, 1)), 1)
                assert differ(a, b) < TOLERANCE


def test_llama3_scaling_divides_long_wavelengths_only(tmp_path):
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 64}
    tokens = torch.randint(0, 61, (1, 40))
    with torch.no_grad():
        plain = read_in_segments(fwl.open_base(str(GOLDENS / "llama-tied")), [tokens])[0]
        model = fwl.open_base(damaged(tmp_path, "llama-tied", config={"rope_scaling": scaling}))
        scaled = read_in_segments(model, [tokens])[0]
    assert differ(plain, scaled) > 1e-3
    assert differ(plain[:, :1], scaled[:, :1]) < 1e-6  # position 0 is not turned at all


@pytest.mark.parametrize("name", NAMES)
def test_states_at_different_positions_are_read_in_one_pass(name):
    model = fwl.open_base(str(GOLDENS / name))
    states = [model.new_state(sequences) for sequences in (1, 2, 1)]
    texts = [torch.randint(0, model.vocabulary_size, (state.sequences, count)) for state, count in zip(states, (4, 1, 9))]
    with torch.no_grad():
        model.read(torch.randint(0, model.vocabulary_size, (2, 6)), states[1])
        alone = [model.read(text, state.clone()) for text, state in zip(texts, states)]
        for hidden, expected in zip(model.read_together(texts, states), alone):
            assert differ(hidden, expected) < TOLERANCE
    assert [state.tokens_read for state in states] == [4, 7, 9]
    with pytest.raises(fwl.UserError, match="tokens for 3 states, got 2"):
        model.read_together(texts[:2], states)
