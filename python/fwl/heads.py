"""Output heads: hidden states to losses, without ever holding T x V numbers."""

from typing import Optional

import torch
from torch import Tensor, nn

from fwl import _C

BLOCK_BYTES = 40 << 20


def computing(tensor: Optional[Tensor], dtype: torch.dtype = torch.float32) -> Optional[Tensor]:
    """The tensor as the C++ code computes with it: half precision becomes ``dtype``."""
    return tensor.to(dtype) if tensor is not None and tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def core_head(layout: str, tensors: list[Tensor], dtype: torch.dtype = torch.float32) -> _C.Head:
    """The C++ head over the tensors of a head module; ``layout`` and ``tensors`` are that module's."""
    clusters, presence, block_bytes, skip = layout.split(";")
    clusters, options, left = int(clusters), (int(block_bytes), float(skip)), iter(tensors)
    parts = [computing(next(left), dtype) if present == "1" else None for present in presence]
    if clusters == 0:
        return _C.SoftmaxHead(*parts, *options)
    of_each = [parts[start:start + clusters] for start in range(0, 3 * clusters, clusters)]
    return _C.AdaptiveSoftmaxHead(*of_each, *parts[3 * clusters:], *options)


def _hold(module, name, tensor):
    """Keeps a tensor on a module: a Parameter stays shared (tied), anything else moves along as a buffer."""
    if tensor is None or isinstance(tensor, nn.Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class SoftmaxHead(nn.Module):
    """The full softmax over ``weight`` (V, D), which may be the input embedding's, and ``bias`` (V) or None.

    ``skip_probability_below`` leaves out blocks of words whose probabilities are all below it; 0 is exact.
    """

    def __init__(self, weight: Tensor, bias: Optional[Tensor] = None, block_bytes: int = BLOCK_BYTES,
                 skip_probability_below: float = 0.0):
        super().__init__()
        _hold(self, "weight", weight)
        _hold(self, "bias", bias)
        self.block_bytes = block_bytes
        self.skip_probability_below = skip_probability_below
        self.core()

    clusters = 0

    def parts(self) -> list[Optional[Tensor]]:
        """All tensors that the head may have, in the order of ``core_head``."""
        return [self.weight, self.bias]

    def tensors(self) -> list[Tensor]:
        """Those that it has."""
        return [part for part in self.parts() if part is not None]

    def layout(self) -> str:
        """What ``core_head`` needs to know besides the tensors."""
        presence = "".join(["0" if part is None else "1" for part in self.parts()])
        return f"{self.clusters};{presence};{self.block_bytes};{self.skip_probability_below}"

    def core(self, dtype: torch.dtype = torch.float32) -> _C.Head:
        """The C++ head over the present tensors; those of half precision are converted to ``dtype``."""
        return core_head(self.layout(), self.tensors(), dtype)

    def nll(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """hidden (..., D), targets (...) -> the losses (...)."""
        with torch.autocast(hidden.device.type, enabled=False):
            rows = computing(hidden).flatten(0, -2)
            return self.core(rows.dtype).loss(rows, targets.flatten().long()).view(targets.shape)

    def nll_and_grad(self, hidden: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The losses (...) and each loss's gradient to its own hidden state (..., D), both differentiable."""
        with torch.autocast(hidden.device.type, enabled=False):
            rows = computing(hidden).flatten(0, -2)
            loss, gradient = self.core(rows.dtype).loss_and_gradient(rows, targets.flatten().long())
        return loss.view(targets.shape), gradient.view(hidden.shape)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden (..., D) -> (..., V)."""
        with torch.autocast(hidden.device.type, enabled=False):
            rows = computing(hidden).flatten(0, -2)
            return self.core(rows.dtype).logits(rows).view(*hidden.shape[:-1], -1)

    def extra_repr(self) -> str:
        shapes = ", ".join(str(tuple(part.shape)) for part in self.tensors())
        return shapes if self.skip_probability_below == 0 else f"{shapes}, skips below {self.skip_probability_below}"


class AdaptiveSoftmaxHead(SoftmaxHead):
    """Frequent words in cluster 0, rarer ones in narrower tail clusters; the vocabulary is in order of frequency.

    ``weights``: one (words, d) per cluster. ``biases``: one (words) or None each. ``projections``: one (D, d) or None
    each. ``cluster_weight`` (tails, d of cluster 0) and ``cluster_bias`` (tails) stand behind cluster 0's words.
    ``AdaptiveSoftmaxHead.create`` makes fresh ones from cutoffs and div_val.
    """

    def __init__(self, weights: list[Tensor], biases: Optional[list[Optional[Tensor]]] = None,
                 projections: Optional[list[Optional[Tensor]]] = None, cluster_weight: Optional[Tensor] = None,
                 cluster_bias: Optional[Tensor] = None, block_bytes: int = BLOCK_BYTES,
                 skip_probability_below: float = 0.0):
        nn.Module.__init__(self)
        self.clusters = len(weights)
        biases = biases or [None] * self.clusters
        projections = projections or [None] * self.clusters
        for k in range(self.clusters):
            _hold(self, f"weight_{k}", weights[k])
            _hold(self, f"bias_{k}", biases[k])
            _hold(self, f"projection_{k}", projections[k])
        _hold(self, "cluster_weight", cluster_weight)
        _hold(self, "cluster_bias", cluster_bias)
        self.block_bytes = block_bytes
        self.skip_probability_below = skip_probability_below
        self.core()

    @classmethod
    def create(cls, d_model: int, vocabulary_size: int, cutoffs: list[int], div_val: int = 1, bias: bool = True,
               **options) -> "AdaptiveSoftmaxHead":
        """Fresh weights for clusters that end at ``cutoffs`` and at the vocabulary's end, each div_val times narrower."""
        ends = [*cutoffs, vocabulary_size]
        if sorted(set(ends)) != ends or ends[0] <= 0:
            raise _C.UserError(f"AdaptiveSoftmaxHead: expected rising cutoffs below {vocabulary_size}, got {cutoffs}")
        sizes = [end - start for start, end in zip([0, *cutoffs], ends)]
        widths = [d_model // div_val**k for k in range(len(sizes))]
        if widths[-1] == 0:
            raise _C.UserError(f"AdaptiveSoftmaxHead: expected div_val that leaves every cluster a width, got {div_val}")

        def fresh(*shape):
            return nn.Parameter(torch.randn(*shape) * shape[-1] ** -0.5)

        def zeros(count):
            return nn.Parameter(torch.zeros(count)) if bias else None

        tails = len(sizes) - 1
        projections = [fresh(d_model, width) if div_val > 1 else None for width in widths]
        return cls([fresh(size, width) for size, width in zip(sizes, widths)], [zeros(size) for size in sizes],
                   projections, fresh(tails, widths[0]) if tails else None, zeros(tails) if tails else None, **options)

    def parts(self) -> list[Optional[Tensor]]:
        """All tensors that the head may have, in the order of ``core_head``."""
        of_each = [getattr(self, f"{name}_{k}") for name in ("weight", "bias", "projection")
                   for k in range(self.clusters)]
        return [*of_each, self.cluster_weight, self.cluster_bias]
