"""Quantises rows to Q4_K and Q6_K, which PyPI's gguf only reads. Simple scales: no search for the best ones."""

import numpy as np


def halves(numbers):
    return numbers.astype(np.float16).view(np.uint8).reshape(-1, 2)


def blocks_of(rows, group):
    return np.ascontiguousarray(rows, np.float32).reshape(-1, 256 // group, group)  # blocks, groups, values


def quantize_q4_k(rows):
    """Eight groups of 32 with a 6-bit scale and a 6-bit minimum each, 4-bit values."""
    x = blocks_of(rows, 32)
    lowest = np.minimum(x.min(2), 0)
    scale, minimum = (x.max(2) - lowest) / 15, -lowest
    d, dmin = scale.max(1) / 63, minimum.max(1) / 63
    d, dmin = (np.float32(np.float16(np.maximum(number, 1e-7))) for number in (d, dmin))
    sc = np.clip(np.rint(scale / d[:, None]), 0, 63).astype(np.uint8)
    m = np.clip(np.rint(minimum / dmin[:, None]), 0, 63).astype(np.uint8)
    step = np.maximum(d[:, None] * sc, 1e-12)[..., None]
    q = np.clip(np.rint((x + (dmin[:, None] * m)[..., None]) / step), 0, 15).astype(np.uint8)
    packed = np.empty((len(x), 12), np.uint8)
    packed[:, 0:4] = sc[:, :4] | sc[:, 4:] >> 4 << 6
    packed[:, 4:8] = m[:, :4] | m[:, 4:] >> 4 << 6
    packed[:, 8:12] = sc[:, 4:] & 15 | (m[:, 4:] & 15) << 4
    nibbles = q[:, 0::2] | q[:, 1::2] << 4
    blocks = np.concatenate([halves(d), halves(dmin), packed, nibbles.reshape(len(x), 128)], 1)
    return blocks.reshape(len(rows), -1)


def quantize_q6_k(rows):
    """Sixteen groups of 16 with an 8-bit scale each, 6-bit values around zero."""
    x = blocks_of(rows, 16)
    scale = np.abs(x).max(2) / 31
    d = np.float32(np.float16(np.maximum(scale.max(1) / 127, 1e-7)))
    sc = np.clip(np.rint(scale / d[:, None]), 0, 127).astype(np.int8)
    step = np.maximum(d[:, None] * sc, 1e-12)[..., None]
    q = (np.clip(np.rint(x / step), -32, 31) + 32).astype(np.uint8).reshape(-1, 2, 4, 32)  # two halves of four runs
    low = np.stack([q[:, :, 0] & 15 | (q[:, :, 2] & 15) << 4, q[:, :, 1] & 15 | (q[:, :, 3] & 15) << 4], 2)
    high = q[:, :, 0] >> 4 | q[:, :, 1] >> 4 << 2 | q[:, :, 2] >> 4 << 4 | q[:, :, 3] >> 4 << 6
    blocks = np.concatenate([low.reshape(len(x), 128), high.reshape(len(x), 64), sc.view(np.uint8), halves(d)], 1)
    return blocks.reshape(len(rows), -1)
