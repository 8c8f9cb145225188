"""A stream thousands of times longer than training: a small trained layer stays finite, never worse than static."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
import byte_stream  # noqa: E402

STREAM_TOKENS = 1_000_000


@pytest.mark.parametrize("point", ("slow", "boundary"))
def test_a_million_real_bytes_stay_finite_and_never_worse_than_static(point):
    text = byte_stream.real_bytes(STREAM_TOKENS + 1)
    assert len(text) == STREAM_TOKENS + 1
    torch.manual_seed(0)
    model = byte_stream.ByteModel(width=24, layer_width=48, gradient_at=point)
    byte_stream.train(model, text[:200_000], model.fast_loss, steps=120, tokens=256)
    done, slow_sum, fast_sum = 0, 0.0, 0.0
    for count, slow, fast, state in model.read(text, piece=50_000):
        assert torch.isfinite(fast).all()
        done += count
        if done > 0.9 * STREAM_TOKENS:
            slow_sum += slow.sum().item()
            fast_sum += fast.sum().item()
    assert state.tokens_read == [STREAM_TOKENS]
    assert fast_sum <= slow_sum, f"fast {fast_sum / 1e5:.4f}, static {slow_sum / 1e5:.4f} nats per byte"
