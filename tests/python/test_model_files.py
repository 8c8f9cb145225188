"""Model files are read as PyPI's gguf and safetensors read them, and written so that they read them."""

import gguf
import numpy as np
import pytest
import safetensors.torch
import torch
from gguf import GGMLQuantizationType, GGUFValueType

import fwl

TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]


def assert_same_bits(ours, theirs):
    """Equal bit patterns, where any NaN equals any NaN."""
    ours, theirs = np.asarray(ours, np.float32).ravel(), np.asarray(theirs, np.float32).ravel()
    assert ours.shape == theirs.shape
    both_nan = np.isnan(ours) & np.isnan(theirs)
    different = (ours.view(np.uint32) != theirs.view(np.uint32)) & ~both_nan
    assert not different.any(), np.flatnonzero(different)[:5]


@pytest.mark.parametrize("name", TYPES)
def test_random_blocks_unpack_to_the_bits_of_the_reference(name):
    kind = GGMLQuantizationType[name]
    _, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = np.random.default_rng(7).integers(0, 256, (4096, block_bytes), dtype=np.uint8)
    blocks[:16] = 0
    blocks[16:32] = 255
    with np.errstate(all="ignore"):
        theirs = gguf.quants.dequantize(blocks, kind)
    assert_same_bits(fwl.dequantize(name, blocks.tobytes()).numpy(), theirs)


@pytest.mark.parametrize("name", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "BF16"])
def test_real_weights_unpack_to_the_bits_of_the_reference(name):
    kind = GGMLQuantizationType[name]
    weights = np.random.default_rng(3).normal(0, 0.05, (64, 256)).astype(np.float32)
    packed = gguf.quants.quantize(weights, kind)
    assert_same_bits(fwl.dequantize(name, packed.tobytes()).numpy(), gguf.quants.dequantize(packed, kind))


def test_blocks_that_are_cut_and_types_that_are_unknown_are_errors():
    with pytest.raises(fwl.UserError, match="whole blocks, got 33 bytes"):
        fwl.dequantize("Q8_0", bytes(33))
    with pytest.raises(fwl.UserError, match="got IQ2_XS"):
        fwl.dequantize("IQ2_XS", bytes(74))
    with pytest.raises(fwl.UserError, match="'Q9_9'"):
        fwl.dequantize("Q9_9", bytes(74))


def write_gguf(path):
    writer = gguf.GGUFWriter(path, "llama")
    values = {
        "v.uint8": (200, GGUFValueType.UINT8),
        "v.int8": (-100, GGUFValueType.INT8),
        "v.uint16": (60000, GGUFValueType.UINT16),
        "v.int16": (-30000, GGUFValueType.INT16),
        "v.uint32": (4_000_000_000, GGUFValueType.UINT32),
        "v.int32": (-2_000_000_000, GGUFValueType.INT32),
        "v.uint64": (2**64 - 1, GGUFValueType.UINT64),
        "v.int64": (-(2**63), GGUFValueType.INT64),
        "v.float32": (1.5, GGUFValueType.FLOAT32),
        "v.float64": (0.1, GGUFValueType.FLOAT64),
        "v.bool": (True, GGUFValueType.BOOL),
        "v.text": ("größer 🙂", GGUFValueType.STRING),
    }
    for key, (value, kind) in values.items():
        writer.add_key_value(key, value, kind)
    lists = {"l.ints": [1, -2, 3], "l.floats": [0.5, 2.0], "l.bools": [True, False], "l.texts": ["a", "", "ü"]}
    for key, value in lists.items():
        writer.add_array(key, value)
    weights = np.random.default_rng(1).normal(size=(3, 256)).astype(np.float32)
    tensors = {"f32": weights, "f16": weights.astype(np.float16), "vector": weights[0]}
    for name, array in tensors.items():
        writer.add_tensor(name, array)
    for kind in (GGMLQuantizationType.Q8_0, GGMLQuantizationType.Q4_1, GGMLQuantizationType.BF16):
        writer.add_tensor(kind.name.lower(), gguf.quants.quantize(weights, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return {key: value for key, (value, _) in values.items()} | lists


def test_a_written_gguf_file_has_the_same_metadata_here(tmp_path):
    path = str(tmp_path / "m.gguf")
    expected = write_gguf(path) | {"general.architecture": "llama"}
    as_bytes = lambda value: value.encode() if isinstance(value, str) else value  # noqa: E731
    expected = {k: [as_bytes(x) for x in v] if isinstance(v, list) else as_bytes(v) for k, v in expected.items()}
    assert fwl.gguf_metadata(path) == expected


def test_a_written_gguf_file_has_the_same_tensors_here(tmp_path):
    path = str(tmp_path / "m.gguf")
    write_gguf(path)
    ours = fwl.load_gguf(path)
    theirs = gguf.GGUFReader(path).tensors
    assert sorted(ours) == sorted(tensor.name for tensor in theirs)
    for tensor in theirs:
        assert list(ours[tensor.name].shape) == list(reversed(tensor.shape.tolist()))
        assert_same_bits(ours[tensor.name].numpy(), gguf.quants.dequantize(tensor.data, tensor.tensor_type))


def sample_tensors():
    torch.manual_seed(0)
    dtypes = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
    tensors = {str(dtype): torch.randn(3, 5).to(dtype) for dtype in dtypes}
    whole = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64]
    tensors |= {str(dtype): torch.arange(7).to(dtype) for dtype in whole}
    return tensors | {"bool": torch.tensor([True, False]), "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 4)}


def assert_same_tensors(ours, theirs):
    assert sorted(ours) == sorted(theirs)
    for name, tensor in theirs.items():
        assert ours[name].dtype == tensor.dtype and ours[name].shape == tensor.shape, name
        raw = lambda each: each.contiguous().reshape(-1).view(torch.uint8)  # noqa: E731
        assert torch.equal(raw(ours[name]), raw(tensor)), name


def test_safetensors_written_there_load_here(tmp_path):
    path = str(tmp_path / "m.safetensors")
    safetensors.torch.save_file(sample_tensors(), path, {"format": "pt", "note": "ü"})
    assert_same_tensors(fwl.load_safetensors(path), sample_tensors())
    assert fwl.safetensors_metadata(path) == {"format": "pt", "note": "ü"}


def test_safetensors_written_here_load_there(tmp_path):
    path = str(tmp_path / "m.safetensors")
    fwl.save_safetensors(sample_tensors() | {"turned": torch.randn(2, 3).T}, path, {"format": "pt", "note": "ü"})
    theirs = safetensors.torch.load_file(path)
    assert_same_tensors(fwl.load_safetensors(path), theirs)
    theirs.pop("turned")
    assert_same_tensors(sample_tensors(), theirs)
    with safetensors.safe_open(path, "pt") as file:
        assert file.metadata() == {"format": "pt", "note": "ü"}


def test_files_that_the_peer_rejects_are_rejected_here(tmp_path):
    good = safetensors.torch.save({"w": torch.ones(4)})
    for bad in (b"", good[:-1], good + b"x", b"\xff" * 8 + good[8:], good.replace(b"[4]", b"[5]")):
        path = tmp_path / "bad.safetensors"
        path.write_bytes(bad)
        with pytest.raises(Exception):
            safetensors.torch.load(bad)
        with pytest.raises(fwl.UserError):
            fwl.load_safetensors(str(path))


def test_inspect_gives_formats_metadata_and_totals(tmp_path):
    path = str(tmp_path / "m.gguf")
    write_gguf(path)
    seen = fwl.inspect(path)
    assert seen["format"] == "GGUF" and seen["metadata"]["v.text"] == "größer 🙂"
    assert seen["totals"]["parameters"] == 256 * 16
    assert seen["totals"]["types"]["Q8_0"] == {"tensors": 1, "parameters": 768, "bytes": 768 // 32 * 34}
