"""The fast-weight state of a batch of texts: what a layer has learned while reading them."""

from dataclasses import dataclass, replace
from typing import Callable, Iterable, Optional, Union

import torch
from torch import Tensor

from fwl import _C

WEIGHT_NAMES = ("U", "a", "W", "b", "gain", "shift")


@dataclass
class FastState:
    """Sums of gradients per weight, one row per text. It can be copied, moved, pickled, joined and saved."""

    tensors: dict[str, Tensor]  # "closed.U", "open.U", …: each (B, …); a name that is missing stands for zeros
    positions: Tensor  # (2, B), int64 in main memory: tokens in the open segment, tokens read since the start
    segment_tokens: int = 0  # length of a segment; 0: a segment never ends

    @classmethod
    def of(cls, core: _C.FastState) -> "FastState":
        return cls(core.tensors, torch.tensor([core.open_tokens, core.tokens_read]), core.segment_tokens)

    def core(self) -> _C.FastState:
        """The same for the C++ code; the tensors are shared."""
        return _C.FastState(self.tensors, self.open_tokens, self.tokens_read, self.segment_tokens)

    @property
    def open_tokens(self) -> list[int]:
        return self.positions[0].tolist()

    @property
    def tokens_read(self) -> list[int]:
        return self.positions[1].tolist()

    @property
    def sequences(self) -> int:
        return self.positions.shape[1]

    @property
    def bytes(self) -> int:
        return sum(tensor.nbytes for tensor in self.tensors.values())

    @property
    def closed(self) -> dict[str, Tensor]:
        """Sums of all closed segments; empty while none is closed."""
        return self._named("closed.")

    @property
    def open(self) -> dict[str, Tensor]:
        """Sums of the open segment."""
        return self._named("open.")

    def _named(self, prefix: str) -> dict[str, Tensor]:
        return {name: self.tensors[prefix + name] for name in WEIGHT_NAMES if prefix + name in self.tensors}

    def total(self) -> dict[str, Tensor]:
        """closed + open, by weight: what the step sizes are applied to."""
        closed = self.closed
        return {name: closed[name] + sums if name in closed else sums for name, sums in self.open.items()}

    def _map(self, function: Callable[[Tensor], Tensor]) -> "FastState":
        return replace(self, tensors={name: function(tensor) for name, tensor in self.tensors.items()})

    def clone(self) -> "FastState":
        return replace(self._map(torch.clone), positions=self.positions.clone())

    def detach(self) -> "FastState":
        return self._map(torch.detach)

    def to(self, *arguments, **options) -> "FastState":
        """The state on another device or in another precision; the same arguments as ``Tensor.to``."""
        return self._map(lambda tensor: tensor.to(*arguments, **options))

    def sequence(self, index: int) -> "FastState":
        """The state of one text."""
        return self.rows(torch.tensor([index]))

    def rows(self, indices: Tensor) -> "FastState":
        """The states of some texts, in this order; a text may occur more than once (beam search)."""
        selected = self._map(lambda tensor: tensor.index_select(0, indices.to(tensor.device)))
        return replace(selected, positions=self.positions[:, indices.to(self.positions.device)])

    @classmethod
    def join(cls, states: Iterable["FastState"]) -> "FastState":
        """Several states as one batch."""
        return cls.of(_C.FastState.join([state.core() for state in states]))

    def save(self, path) -> None:
        """Writes a safetensors file that ``FastWeightLayer.load_state`` reads."""
        self.core().save(str(path))


def core_of(state: Optional[Union[FastState, _C.FastState]]) -> Optional[_C.FastState]:
    return state.core() if isinstance(state, FastState) else state


torch.serialization.add_safe_globals([FastState])  # torch.load(weights_only=True) reads it
