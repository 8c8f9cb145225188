"""Output heads: hidden states to losses, without ever holding T x V numbers."""

import torch
from torch import nn

from fwl import _C

BLOCK_BYTES = 40 << 20


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

    def __init__(self, weight, bias=None, block_bytes=BLOCK_BYTES, skip_probability_below=0.0):
        super().__init__()
        _hold(self, "weight", weight)
        _hold(self, "bias", bias)
        self.block_bytes = block_bytes
        self.skip_probability_below = skip_probability_below
        self.core()

    def core(self):
        """The C++ head over the present tensors."""
        return _C.SoftmaxHead(self.weight, self.bias, self.block_bytes, self.skip_probability_below)

    def nll(self, hidden, targets):
        """hidden (..., D), targets (...) -> the losses (...)."""
        return self.core().loss(hidden.flatten(0, -2), targets.flatten()).view(targets.shape)

    def nll_and_grad(self, hidden, targets):
        """The losses (...) and each loss's gradient to its own hidden state (..., D), both differentiable."""
        loss, gradient = self.core().loss_and_gradient(hidden.flatten(0, -2), targets.flatten())
        return loss.view(targets.shape), gradient.view(hidden.shape)

    def logits(self, hidden):
        """hidden (..., D) -> (..., V)."""
        return self.core().logits(hidden.flatten(0, -2)).view(*hidden.shape[:-1], -1)


class AdaptiveSoftmaxHead(SoftmaxHead):
    """Frequent words in cluster 0, rarer ones in narrower tail clusters; the vocabulary is in order of frequency.

    ``weights``: one (words, d) per cluster. ``biases``: one (words) or None each. ``projections``: one (D, d) or None
    each. ``cluster_weight`` (tails, d of cluster 0) and ``cluster_bias`` (tails) stand behind cluster 0's words.
    ``AdaptiveSoftmaxHead.create`` makes fresh ones from cutoffs and div_val.
    """

    def __init__(self, weights, biases=None, projections=None, cluster_weight=None, cluster_bias=None,
                 block_bytes=BLOCK_BYTES, skip_probability_below=0.0):
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
    def create(cls, d_model, vocabulary_size, cutoffs, div_val=1, bias=True, **options):
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

    def core(self):
        """The C++ head over the present tensors."""
        def of_each(name):
            return [getattr(self, f"{name}_{k}") for k in range(self.clusters)]

        return _C.AdaptiveSoftmaxHead(of_each("weight"), of_each("bias"), of_each("projection"), self.cluster_weight,
                                      self.cluster_bias, self.block_bytes, self.skip_probability_below)
