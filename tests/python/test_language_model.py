"""A base model, a fast weight layer and a head as one language model with one session state."""

from pathlib import Path

import fwl
import pytest
import torch
from safetensors.torch import load_file, save_file
from sealed import BLANK, with_checksum

GOLDENS = Path(__file__).resolve().parents[1] / "goldens"
NAMES = ["gpt2", "llama-grouped", "gemma3", "phi4-longrope", "olmo2", "smollm3", "xl-divided", "xl-shared-biases", "sparse"]
TOLERANCE = 1e-5


def base_model(name):
    if name == "sparse":
        return fwl.new_base("sparse-local", 61, layers=2, hidden_size=16, heads=2, ffn_size=24, block_tokens=5, seed=3)
    return fwl.open_base(str(GOLDENS / name))


def language_model(name, gradient_at="boundary", segment_tokens=0):
    base = base_model(name)
    torch.manual_seed(5)
    layer = fwl.FastWeightLayer(base.hidden_size, 24, residual=True, gradient_at=gradient_at, segment_tokens=segment_tokens)
    with torch.no_grad():  # a layer that does something
        layer.W.normal_(0, 0.2)
        layer.set_step_sizes({"U": 1e-3, "W": 1e-2, "a": 1e-2, "b": 1e-2, "gain": 1e-2, "shift": 1e-2})
    return fwl.LanguageModel(base, layer.core()), base


def read(model, tokens, lengths, context=None, **options):
    session = model.new_session(tokens.shape[0], **(context or {}))
    with torch.no_grad():
        losses = [model.read(part, session, chunk=4, **options) for part in tokens.split(lengths, 1)]
    return torch.cat(losses, 1), session


def differ(a, b):
    return (a - b).abs().max().item()


@pytest.mark.parametrize("gradient_at", ["slow", "boundary"])
@pytest.mark.parametrize("name", NAMES)
def test_whole_segments_and_single_tokens_leave_the_same_losses_and_session(name, gradient_at):
    model, base = language_model(name, gradient_at)
    tokens = torch.randint(0, base.vocabulary_size, (2, 30))
    whole, session = read(model, tokens, [30])
    assert whole.shape == (2, 29)
    for lengths in ([1] * 30, [7, 1, 13, 9]):
        losses, other = read(model, tokens, lengths)
        assert differ(losses, whole) < TOLERANCE
        assert differ(model.next_logits(other), model.next_logits(session)) < 10 * TOLERANCE
        assert other.tokens_read == session.tokens_read == 30


@pytest.mark.parametrize("name", NAMES)
def test_a_session_goes_on_from_its_file_or_its_copy_as_if_it_had_never_stopped(name, tmp_path):
    model, base = language_model(name)
    tokens = torch.randint(0, base.vocabulary_size, (2, 30))
    _, session = read(model, tokens[:, :17], [17])
    copy = session.clone()
    model.save_session(session, str(tmp_path / "a.session"), "model-1")
    loaded = model.load_session(str(tmp_path / "a.session"), "model-1")
    with torch.no_grad():
        expected = model.read(tokens[:, 17:], session, chunk=4)
        assert torch.equal(model.read(tokens[:, 17:], copy, chunk=4), expected)
        assert differ(model.read(tokens[:, 17:], loaded, chunk=4), expected) < 1e-6
        assert differ(model.next_logits(loaded), model.next_logits(session)) < TOLERANCE


def test_fast_weights_can_be_off_used_or_also_changed():
    model, base = language_model("gpt2")
    plain = fwl.LanguageModel(base)
    tokens = torch.randint(0, 61, (1, 12))
    _, session = read(model, tokens, [12])
    more = torch.randint(0, 61, (1, 10))
    with torch.no_grad():
        before = {name: value.clone() for name, value in session.fast.total().items()}
        used, off = session.clone(), session.clone()
        losses_used = model.read(more, used, adapt="read")
        losses_off = model.read(more, off, adapt="off")
        assert differ(losses_used, losses_off) > 1e-4
        for name, value in used.fast.total().items():
            assert torch.equal(value, before[name])
        model.read(more, session, adapt="write", chunk=4)
        assert differ(session.fast.total()["W"], before["W"]) > 1e-5
        static, _ = read(plain, tokens, [12])
        assert static.shape == (1, 11)


def test_a_text_longer_than_the_context_keeps_its_fast_weights():
    model, _ = language_model("gpt2")
    context = {"context": 16, "long_text": "restart"}
    tokens = torch.randint(0, 61, (1, 90))
    whole, session = read(model, tokens, [90], context)
    parts, _ = read(model, tokens, [40, 1, 49], context)
    assert differ(whole, parts) < TOLERANCE
    assert session.tokens_read == 90 and session.fast.tokens_read == [89]
    assert whole.isfinite().all()


def test_a_saved_session_remembers_its_context(tmp_path):
    model, _ = language_model("gpt2")
    tokens = torch.randint(0, 61, (1, 60))
    whole, _ = read(model, tokens, [60], {"context": 16, "long_text": "restart"})
    first, session = read(model, tokens[:, :25], [25], {"context": 16, "long_text": "restart"})
    model.save_session(session, str(tmp_path / "a.session"), "model")
    session = model.load_session(str(tmp_path / "a.session"), "model")
    with torch.no_grad():
        rest = model.read(tokens[:, 25:], session, chunk=4)
    assert differ(torch.cat([first, rest], 1), whole) < TOLERANCE


def damage(path, tmp_path, change):
    tensors = load_file(path)
    with open(path, "rb") as file:
        header = fwl.safetensors_metadata(str(path))
        assert file.read(8)
    header["fwl_checksum"] = BLANK
    change(tensors, header)
    bad = tmp_path / "bad.session"
    save_file(tensors, bad, metadata=header)
    bad.write_bytes(with_checksum(bad.read_bytes()))  # what the checksum does not find, what follows does
    return str(bad)


@pytest.mark.parametrize("change, message", [
    (lambda tensors, header: header.update(format="other"), "a session"),
    (lambda tensors, header: header.update(model="model-2"), "made with another model"),
    (lambda tensors, header: tensors.pop("base.cache.1"), "base.cache.1"),
    (lambda tensors, header: tensors.pop("base.numbers"), "base.numbers"),
    (lambda tensors, header: tensors["base.cache.0"].fill_(float("nan")), "finite"),
    (lambda tensors, header: tensors["base.numbers"].fill_(-3), "negative"),
    (lambda tensors, header: tensors["base.context"].fill_(7), "a context"),
    (lambda tensors, header: tensors["base.context"].copy_(torch.tensor([64, 2, 0, 0, 0])), "1 to 32 tokens"),
    (lambda tensors, header: tensors["base.context"].copy_(torch.tensor([32, 0, 9, 0, 0])), "memory of a gpt2"),
    (lambda tensors, header: tensors["base.numbers"].fill_(1 << 50), "counts of tokens"),
    (lambda tensors, header: tensors.update(extra=torch.zeros(1)), "also a tensor extra"),
    (lambda tensors, header: tensors.update({"last_hidden": torch.zeros(3)}), "last_hidden"),
    (lambda tensors, header: tensors.update({"fast.sequences": torch.tensor([2])}), "fast"),
])
def test_a_damaged_or_foreign_session_is_refused_with_the_reason(tmp_path, change, message):
    model, _ = language_model("gpt2")
    _, session = read(model, torch.randint(0, 61, (1, 9)), [9])
    path = tmp_path / "good.session"
    model.save_session(session, str(path), "model-1")
    with pytest.raises(fwl.UserError, match=message):
        model.load_session(damage(path, tmp_path, change), "model-1")


def test_a_session_of_another_architecture_is_refused(tmp_path):
    model, _ = language_model("gpt2")
    _, session = read(model, torch.randint(0, 61, (1, 9)), [9])
    model.save_session(session, str(tmp_path / "a.session"), "same")
    other, _ = language_model("xl-divided")
    with pytest.raises(fwl.UserError):
        other.load_session(str(tmp_path / "a.session"), "same")
