"""Helpers beside the tests are imported by name; one thread, because the tensors of the tests are tiny."""

import json
import random
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))
torch.set_num_threads(1)


@pytest.fixture
def words_model(tmp_path):
    """A tiny published model (GPT-2's golden) with a vocabulary of words, a text for it, and its tokens."""
    from test_training_process import PROGRAM, ROOT, run

    base = tmp_path / "base"
    base.mkdir()
    for name in ("config.json", "model.safetensors"):
        (base / name).write_bytes((ROOT / "tests/goldens/gpt2" / name).read_bytes())
    size = json.loads((base / "config.json").read_text())["vocab_size"]
    source = tmp_path / "source.txt"
    source.write_text("\n".join(" ".join([f"w{index}"] * (size - index + 1)) for index in range(size - 1)) + "\n")
    assert run([PROGRAM, "vocabulary", "--out", base / "words.vocab", source]).returncode == 0
    chance, text = random.Random(1), tmp_path / "text.txt"
    text.write_text("\n".join(" ".join(f"w{chance.randrange(9)}" for _ in range(9)) for _ in range(30)) + "\n")
    tokens = tmp_path / "text.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", base / "words.vocab", "--out", tokens, text]).returncode == 0
    return base, text, tokens
