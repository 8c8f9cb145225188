"""fwl perplexity against transformers, live, on tiny random models with a byte-level vocabulary beside them."""

import json
import sys

import numpy as np
import pytest
import torch
import transformers

from test_perplexity import perplexity
from test_training_process import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import make_goldens  # noqa: E402

CONTEXT = 24


def byte_letters():
    """The letters that stand for the 256 bytes in byte-level vocabularies, by byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain} | {byte: chr(256 + rank) for rank, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


@pytest.fixture(params=["gpt2", "llama-grouped", "llama-tied"])
def peer(request, tmp_path):
    """A model of transformers, its folder, and a text; the ids of the text are its bytes."""
    transformers.logging.set_verbosity_error()
    kind, options = make_goldens.CASES[request.param]
    torch.manual_seed(7)
    model = make_goldens.make_model(kind, dict(options, vocab_size=256))
    folder = tmp_path / "peer"
    model.save_pretrained(folder)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": byte_level, "decoder": byte_level,
        "model": {"type": "BPE", "vocab": {letter: byte for byte, letter in enumerate(byte_letters())}, "merges": []}}))
    text = tmp_path / "text.txt"
    text.write_bytes((ROOT / "README.md").read_bytes()[:500])
    return model, folder, text


def windows_of(text):
    return torch.tensor(list(text.read_bytes())).split(CONTEXT)


def test_windows_give_the_mean_loss_of_transformers(peer):
    model, folder, text = peer
    windows = [window.unsqueeze(0) for window in windows_of(text) if len(window) > 1]
    counts = [window.shape[1] - 1 for window in windows]
    with torch.no_grad():
        losses = [model(window, labels=window).loss.item() for window in windows]
    result = perplexity(folder, "--text", text, "--protocol", "windows", "--context", CONTEXT)["methods"][0]
    assert result["tokens"] == sum(counts)
    assert result["nll"] == pytest.approx(np.average(losses, weights=counts), abs=5e-5)


def test_the_llama_protocol_scores_the_second_half_of_whole_windows(peer):
    model, folder, text = peer
    losses = []
    for window in windows_of(text):
        if len(window) < CONTEXT:
            continue
        with torch.no_grad():
            logits = model(window.unsqueeze(0)).logits[0].double().numpy()
        for position in range(CONTEXT // 2, CONTEXT - 1):  # the token after it is the one that is scored
            row = logits[position] - logits[position].max()
            losses.append(np.log(np.exp(row).sum()) - row[window[position + 1]])
    result = perplexity(folder, "--text", text, "--protocol", "llama", "--context", CONTEXT)["methods"][0]
    assert result["tokens"] == len(losses)
    assert result["nll"] == pytest.approx(np.mean(losses), abs=5e-5)
    assert result["perplexity"] == pytest.approx(np.exp(np.mean(losses)), rel=1e-4)
