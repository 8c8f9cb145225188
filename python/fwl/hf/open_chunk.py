"""The chunk that the memories in the blocks learn from next, of texts that may be at different places in theirs."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass
class OpenChunk:
    """Row by row the tokens that were read, and those among them whose target the memories learn from."""

    tokens: Tensor  # (B, n): the first `count` of a row count
    targets: Tensor  # (B, n): of the last token it is not known yet
    weights: Tensor  # (B, n): 0 where the memories do not learn
    count: Tensor  # (B), in main memory

    @classmethod
    def empty(cls, texts: int, device: torch.device) -> "OpenChunk":
        nothing = torch.zeros((texts, 0), dtype=torch.int64, device=device)
        return cls(nothing, nothing, nothing.float(), torch.zeros(texts, dtype=torch.int64))

    def map(self, function) -> "OpenChunk":
        return OpenChunk(function(self.tokens), function(self.targets), function(self.weights), function(self.count))

    @staticmethod
    def join(chunks: list["OpenChunk"]) -> "OpenChunk":
        longest = max(chunk.tokens.shape[1] for chunk in chunks)

        def together(name):
            return torch.cat([F.pad(tensor, (0, longest - tensor.shape[1]))
                              for tensor in (getattr(chunk, name) for chunk in chunks)])

        return OpenChunk(together("tokens"), together("targets"), together("weights"),
                         torch.cat([chunk.count for chunk in chunks]))

    def add(self, tokens: Tensor, is_read: Tensor, weights: Tensor) -> None:
        """Appends those tokens (B, T) that are read. Each is the target of the one before it, with that weight."""
        width = int((self.count + is_read.sum(1).cpu()).max())
        for name in ("tokens", "targets", "weights"):
            tensor = getattr(self, name)
            setattr(self, name, F.pad(tensor, (0, max(0, width - tensor.shape[1]))))
        for row, count in enumerate(self.count.tolist()):
            kept = is_read[row]
            new, first = tokens[row, kept], 1 if count == 0 else 0
            if len(new) == 0:
                continue
            end = count + len(new)
            self.tokens[row, count:end] = new
            self.targets[row, count - 1 + first:end - 1] = new[first:]
            self.weights[row, count - 1 + first:end - 1] = weights[row, kept][first:].to(self.weights)
            self.count[row] = end

    def set_target(self, rows: Tensor, tokens: Tensor, weights: Tensor) -> None:
        """What comes after the last token of some texts."""
        last = (self.count[rows] - 1).to(tokens.device)
        self.targets[rows, last] = tokens
        self.weights[rows, last] = weights.to(self.weights)
