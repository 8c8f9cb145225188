"""Hooks that add what the memories know to the feed-forward parts of a model's blocks."""

from contextlib import contextmanager
from typing import Optional

import torch
from torch import Tensor, nn

from fwl._C import UserError
from fwl.heads import computing
from fwl.hf.block_memory import BlockMemory

FEED_FORWARD_NAMES = ("mlp", "feed_forward", "ffn", "block_sparse_moe")
OUTPUT_NORM = "post_feedforward_layernorm"  # between a feed-forward part and the sum that it goes to


class BlockPass:
    """The weights (S times B,R,D) of one pass over a batch, and what they add (S times B,T,D)."""

    def __init__(self, memory: BlockMemory, weights: list[Tensor]):
        self.memory, self.weights = memory, weights
        self.outputs: dict[int, Tensor] = {}

    def addition(self, index: int, y: Tensor) -> Tensor:
        with torch.autocast(y.device.type, enabled=False):
            self.outputs[index] = self.memory.features(index, computing(y)) @ self.weights[index]
        return self.outputs[index].to(y.dtype)


class BlockAddition:
    """The hooks of one block. They do nothing outside of a pass."""

    def __init__(self, index: int, norm_epsilon: Optional[float]):
        self.index = index
        self.norm_epsilon = norm_epsilon  # of a block whose feed-forward part gets its input without a norm
        self.current: Optional[BlockPass] = None
        self.input: Optional[Tensor] = None

    def keep_input(self, part: nn.Module, inputs: tuple, output) -> None:
        self.input = inputs[0] if self.current else None

    def add(self, part: nn.Module, inputs: tuple, output):
        if self.current is None:
            return None
        y = self.input
        if self.norm_epsilon is not None:
            y = y * (y.square().mean(-1, keepdim=True) + self.norm_epsilon).rsqrt()
        added = self.current.addition(self.index, y)
        return (output[0] + added, *output[1:]) if isinstance(output, tuple) else output + added


def feed_forward_parts(body: nn.Module) -> list[tuple[nn.Module, nn.Module]]:
    """The blocks of a model, each with its feed-forward part."""
    count = body.config.get_text_config(decoder=True).num_hidden_layers
    for module in body.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            parts = [(block, getattr(block, name)) for block in module for name in FEED_FORWARD_NAMES
                     if isinstance(getattr(block, name, None), nn.Module)]
            if len(parts) == count:
                return parts
    raise UserError(f"attach: expected {count} blocks with a feed-forward part named {', '.join(FEED_FORWARD_NAMES)}, "
                    f"got none in {type(body).__name__}; memories in the blocks do not know this model")


def hook_blocks(body: nn.Module, memory: BlockMemory) -> list[BlockAddition]:
    """Registers the hooks of all blocks that have a memory."""
    parts, additions = feed_forward_parts(body), []
    for index, number in enumerate(memory.blocks):
        if number == len(parts):
            continue  # the memory before the head
        block, part = parts[number]
        output_norm = getattr(block, OUTPUT_NORM, None)
        is_normed = output_norm is None or hasattr(block, "pre_feedforward_layernorm")
        addition = BlockAddition(index, None if is_normed else body.config.rms_norm_eps)
        part.register_forward_hook(addition.keep_input)
        (part if output_norm is None else output_norm).register_forward_hook(addition.add)
        additions.append(addition)
    return additions


@contextmanager
def using(additions: list[BlockAddition], current: BlockPass):
    """Blocks add what this pass says."""
    for addition in additions:
        addition.current = current
    try:
        yield
    finally:
        for addition in additions:
            addition.current = addition.input = None
