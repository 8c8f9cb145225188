"""GGUF files of every architecture, written here from models of PyPI's transformers, compute what those models do."""

import sys
from pathlib import Path

import fwl
import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Type
from gguf_writing import write_model

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import k_quants  # noqa: E402
import make_goldens  # noqa: E402

WORDS = 300
WIDE = dict(vocab_size=WORDS, hidden_size=256, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1,
            eos_token_id=2)
FAMILIES = {
    "llama3": ("llama", dict(WIDE, tie_word_embeddings=True, rope_theta=5000.0, rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64))),
    "qwen2": ("qwen2", dict(WIDE, tie_word_embeddings=True, rope_theta=1e6)),
    "qwen3": ("qwen3", dict(WIDE, head_dim=128)),
    "gemma3": ("gemma3_text", dict(WIDE, num_hidden_layers=7, head_dim=64, query_pre_attn_scalar=64, sliding_window=7,
                                   rope_theta=5000.0, tie_word_embeddings=True,
                                   rope_scaling=dict(rope_type="linear", factor=8.0))),
    "phi3": ("phi3", dict(WIDE, sliding_window=9, original_max_position_embeddings=128)),
    "phi4": ("phi3", dict(WIDE, tie_word_embeddings=True, partial_rotary_factor=0.75, original_max_position_embeddings=64,
                          rope_scaling=dict(type="longrope", short_factor=[1 + i / 9 for i in range(24)],
                                            long_factor=[9.0] * 24))),
    "olmo2": ("olmo2", dict(WIDE)),
    "smollm3": ("smollm3", dict(WIDE, num_hidden_layers=4, tie_word_embeddings=True)),
}
KINDS = (Type.F32, Type.Q8_0, Type.Q4_0, Type.Q4_K, Type.Q6_K)


def family_model(family):
    kind, options = FAMILIES[family]
    torch.manual_seed(2)
    model = make_goldens.make_model(kind, options)
    with torch.no_grad():  # wide matrices need smaller weights
        for parameter in model.parameters():
            if parameter.dim() == 2:
                parameter.mul_(0.3)
    return model


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_gguf_file_computes_what_transformers_does_with_its_values(family, kind, tmp_path):
    peer = family_model(family)
    path = write_model(tmp_path / "model.gguf", peer, kind)
    tokens = torch.randint(1, WORDS, (1, 24))
    with torch.no_grad():
        expected = peer.model(tokens).last_hidden_state
        logits = peer(tokens).logits[0]
        for weights in ("quantized", "fp32"):
            model = fwl.open_base(path, weights=weights)
            for lengths in ([24], [1] * 24):
                state = model.new_state(1)
                hidden = torch.cat([model.read(part, state) for part in tokens.split(lengths, 1)], 1)
                assert (hidden - expected).abs().max() < 2e-5, (weights, lengths)
            assert (model.head.logits(hidden[0, :3]) - logits[:3]).abs().max() < 1e-4
            losses = model.head.loss(hidden[0, :-1], tokens[0, 1:])
            assert (losses - torch.nn.functional.cross_entropy(logits[:-1], tokens[0, 1:], reduction="none")).abs().max() < 5e-5


@pytest.mark.parametrize("quantize, kind, error", [(k_quants.quantize_q4_k, Type.Q4_K, 0.3),
                                                   (k_quants.quantize_q6_k, Type.Q6_K, 0.1)])
def test_the_quantiser_of_these_tests_keeps_values(quantize, kind, error):
    rows = np.random.default_rng(1).normal(size=(20, 512)).astype(np.float32)
    assert np.abs(gguf.quants.dequantize(quantize(rows), kind).reshape(rows.shape) - rows).max() < error


def test_longrope_refuses_contexts_beyond_its_first_window(tmp_path):
    model = fwl.open_base(write_model(tmp_path / "model.gguf", family_model("phi4"), Type.F32))
    assert model.context_tokens == 64
    with pytest.raises(fwl.UserError, match="up to 128 tokens need the long factors of longrope, which are not supported"):
        model.new_state(1, context=100)


def test_sliding_layers_of_gemma_keep_short_caches(tmp_path):
    model = fwl.open_base(write_model(tmp_path / "model.gguf", family_model("gemma3"), Type.Q8_0))
    state = model.new_state(1)
    with torch.no_grad():
        for _ in range(120):
            model.read(torch.tensor([[3]]), state)
    whole = 7 * 2 * 2 * 64 * 4  # bytes of a token in seven layers
    assert state.bytes < 0.75 * 120 * whole
