"""Llama models from GGUF files that PyPI's gguf writes here, with every type of quantised weights."""

from pathlib import Path

import fwl
import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType as Type

WIDTH, HEADS, KEY_HEADS, INNER, LAYERS, WORDS = 256, 4, 2, 256, 2, 300


def random_weights(seed):
    torch.manual_seed(seed)
    head = WIDTH // HEADS

    def normal(*shape):
        return torch.randn(*shape) * 0.06

    weights = {"token_embd.weight": normal(WORDS, WIDTH) * 10, "output_norm.weight": 1 + normal(WIDTH)}
    for layer in range(LAYERS):
        weights |= {f"blk.{layer}.{name}.weight": tensor for name, tensor in {
            "attn_norm": 1 + normal(WIDTH), "attn_q": normal(WIDTH, WIDTH), "attn_k": normal(KEY_HEADS * head, WIDTH),
            "attn_v": normal(KEY_HEADS * head, WIDTH), "attn_output": normal(WIDTH, WIDTH),
            "ffn_norm": 1 + normal(WIDTH), "ffn_gate": normal(INNER, WIDTH), "ffn_up": normal(INNER, WIDTH),
            "ffn_down": normal(WIDTH, INNER)}.items()}
    return weights


def write_gguf(path, weights, kind, architecture="llama", changes=()):
    writer = gguf.GGUFWriter(str(path), architecture)
    numbers = {"embedding_length": WIDTH, "block_count": LAYERS, "attention.head_count": HEADS,
               "attention.head_count_kv": KEY_HEADS, "feed_forward_length": INNER, "context_length": 128,
               **dict(changes)}
    for key, value in numbers.items():
        writer.add_uint32(f"{architecture}.{key}", value)
    writer.add_float32(f"{architecture}.attention.layer_norm_rms_epsilon", 1e-5)
    writer.add_float32(f"{architecture}.rope.freq_base", 5000.0)
    for name, tensor in weights.items():
        array = tensor.numpy()
        if tensor.dim() == 1 or kind == Type.F32:
            writer.add_tensor(name, array)
        else:
            writer.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)


def plain_llama(weights, tokens):
    """Llama as its paper has it, with neighbouring pairs turned, which is how GGUF files are laid out."""
    def norm(x, gain):
        return x * (x.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * gain

    head, count = WIDTH // HEADS, tokens.shape[0]
    angles = torch.outer(torch.arange(count).double(), 5000.0 ** (-torch.arange(0, head, 2).double() / head))
    turn = torch.polar(torch.ones_like(angles), angles)[:, None]  # T,1,d/2

    def rotate(x):
        return torch.view_as_real(torch.view_as_complex(x.view(count, -1, head // 2, 2)) * turn).flatten(2)

    x = weights["token_embd.weight"][tokens]
    mask = torch.full((count, count), -torch.inf, dtype=x.dtype).triu(1)
    for layer in range(LAYERS):
        w = {name: weights[f"blk.{layer}.{name}.weight"] for name in (
            "attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down")}
        h = norm(x, w["attn_norm"])
        q = rotate(h @ w["attn_q"].T).transpose(0, 1)
        k = rotate(h @ w["attn_k"].T).transpose(0, 1).repeat_interleave(HEADS // KEY_HEADS, 0)
        v = (h @ w["attn_v"].T).view(count, -1, head).transpose(0, 1).repeat_interleave(HEADS // KEY_HEADS, 0)
        p = (q @ k.transpose(1, 2) / head**0.5 + mask).softmax(-1)
        x = x + (p @ v).transpose(0, 1).flatten(1) @ w["attn_output"].T
        h = norm(x, w["ffn_norm"])
        x = x + (torch.nn.functional.silu(h @ w["ffn_gate"].T) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T
    return norm(x, weights["output_norm.weight"])


KINDS = [Type.F32, Type.F16, Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_quantised_weights_compute_what_dequantised_ones_do(kind, tmp_path):
    path = write_gguf(tmp_path / "model.gguf", random_weights(1), kind)
    tokens = torch.randint(0, WORDS, (1, 24))
    exact = plain_llama({name: tensor.double() for name, tensor in fwl.load_gguf(path).items()}, tokens[0])
    for weights in ("quantized", "fp32"):
        model = fwl.open_base(path, weights=weights)
        for lengths in ([24], [1] * 24, [5, 3, 16]):
            with torch.no_grad():
                state = model.new_state(1)
                hidden = torch.cat([model.read(part, state) for part in tokens.split(lengths, 1)], 1)
                assert (hidden[0].double() - exact).abs().max() < 2e-5, (weights, lengths)
                logits = model.head.logits(hidden[0, :3])
                expected = exact[:3] @ fwl.load_gguf(path)["token_embd.weight"].double().T
                assert (logits.double() - expected).abs().max() < 1e-4


def test_opening_a_quantised_model_needs_no_memory_of_its_own(tmp_path):
    path = write_gguf(tmp_path / "model.gguf", random_weights(1), Type.Q8_0)
    model = fwl.open_base(path)
    assert all(tensor.dim() == 1 for tensor in model.parameters().values())  # only the gains were copied
    Path(path).unlink()  # the map stays
    with torch.no_grad():
        assert model.read(torch.tensor([[1, 2]]), model.new_state(1)).isfinite().all()


def test_gradients_need_dense_weights(tmp_path):
    path = write_gguf(tmp_path / "model.gguf", random_weights(1), Type.Q4_1)
    model = fwl.open_base(path, weights="fp32")
    for parameter in model.parameters().values():
        parameter.requires_grad_(True)
    model.read(torch.tensor([[1, 2, 3]]), model.new_state(1)).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters().values())


@pytest.mark.parametrize("change, message", [
    ({"architecture": "mamba"}, "general.architecture: expected one of llama, .*, got 'mamba'"),
    ({"changes": {"attention.head_count_kv": 1}}, "attn_k.weight: expected shape"),
    ({"changes": {"block_count": 3}}, "a tensor blk.2.attn_norm.weight"),
    ({"changes": {"embedding_length": 128}}, "token_embd.weight: expected shape"),
    ({"changes": {"attention.head_count": 0}}, "head_count: expected a whole number of at least 1"),
])
def test_a_damaged_gguf_model_is_one_clear_error(tmp_path, change, message):
    path = write_gguf(tmp_path / "model.gguf", random_weights(1), Type.F32, **change)
    with pytest.raises(fwl.UserError, match=message):
        fwl.open_base(path)


def test_the_rows_of_every_quantised_type_multiply_as_their_values(tmp_path):
    rng = np.random.default_rng(0)
    for kind in KINDS[1:]:
        rows = rng.normal(size=(WORDS, WIDTH)).astype(np.float32)
        weights = random_weights(2) | {"token_embd.weight": torch.from_numpy(rows)}
        path = write_gguf(tmp_path / f"{kind.name}.gguf", weights, kind)
        head, dense = fwl.open_base(path).head, fwl.load_gguf(path)["token_embd.weight"]
        hidden = torch.randn(20, WIDTH)
        for count in (1, 2, 6, 7, 20):
            exact = hidden[:count].double() @ dense.double().T
            assert (head.logits(hidden[:count]).double() - exact).abs().max() < 1e-4, (kind.name, count)
