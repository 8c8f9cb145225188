"""The fast weight layer in plain PyTorch, with autograd taken twice: an independent reading of the definition."""

import torch


def normalise(z, eps):
    return (z - z.mean(-1, keepdim=True)) / (z.var(-1, keepdim=True, unbiased=False) + eps).sqrt()


def softmax_nll(y, targets, weight, bias):
    logits = y @ weight.T + (0 if bias is None else bias)
    return torch.logsumexp(logits, -1) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def adaptive_nll(y, targets, weights, biases, projections, cluster_weight, cluster_bias):
    """The adaptive softmax from the full table of log-probabilities."""
    def project(k):
        return y if projections[k] is None else y @ projections[k]

    head = torch.log_softmax(project(0) @ torch.cat([weights[0], cluster_weight]).T
                             + torch.cat([biases[0], cluster_bias]), -1)
    words = weights[0].shape[0]
    table = [head[..., :words]]
    for k in range(1, len(weights)):
        tail = torch.log_softmax(project(k) @ weights[k].T + biases[k], -1)
        table.append(head[..., words + k - 1:words + k] + tail)
    return -torch.cat(table, -1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)


def layer(weights, steps, hidden, targets, nll, *, token_weights=None, residual=False, layer_norm=True, eps=1e-6,
          grad_scale=1.0, gradient_at="slow", segment=None, decays=None, first_order=False):
    """(slow nll, fast nll, sums) with every sum over the past written as a masked T x T product.

    ``weights``, ``steps``, ``decays``: dicts by weight name. ``nll(y, targets)``: the head. ``segment``: where sums are
    closed (boundary: the chunk), None for never.
    """
    batch, tokens, _ = hidden.shape
    closed = {name: torch.zeros(batch, *weight.shape, dtype=weight.dtype) for name, weight in weights.items()}
    slow_parts, fast_parts = [], []
    for start in range(0, tokens, segment or tokens):
        part = slice(start, start + (segment or tokens))
        w = None if token_weights is None else token_weights[:, part]
        slow, fast, sums = _segment(weights, steps, hidden[:, part], targets[:, part], nll, w, closed, residual,
                                    layer_norm, eps, grad_scale, gradient_at, first_order)
        slow_parts.append(slow)
        fast_parts.append(fast)
        closed = {name: (1 if decays is None else decays[name]) * closed[name] + sums[name] for name in closed}
    return torch.cat(slow_parts, 1), torch.cat(fast_parts, 1), closed


def _forward(h, weights, residual, layer_norm, eps):
    """With a leading batch dimension on every weight; returns y and the nodes whose gradients are wanted."""
    z1 = h @ weights["U"] + weights["a"].unsqueeze(1)
    v = torch.relu(z1) ** 2
    z2 = v @ weights["W"] + weights["b"].unsqueeze(1)
    gain = weights["gain"].unsqueeze(1).expand_as(z2) * 1
    shift = weights["shift"].unsqueeze(1).expand_as(z2) * 1
    f = normalise(z2, eps) * gain + shift if layer_norm else z2
    return (h + f if residual else f), v, (z1, z2, gain, shift)


def _segment(weights, steps, h, targets, nll, token_weights, closed, residual, layer_norm, eps, grad_scale,
             gradient_at, first_order):
    batch = h.shape[0]
    slow_weights = {name: weight.unsqueeze(0).expand(batch, *weight.shape) for name, weight in weights.items()}
    at_boundary = gradient_at == "boundary"
    point = {name: slow_weights[name] - steps[name] * closed[name] for name in closed} if at_boundary else slow_weights
    slow_nll = nll(_forward(h, slow_weights, residual, layer_norm, eps)[0], targets)

    y, v, nodes = _forward(h, point, residual, layer_norm, eps)
    loss = nll(y, targets) * grad_scale
    if token_weights is not None:
        loss = loss * token_weights
    dz1, dz2, dg, ds = torch.autograd.grad(loss.sum(), nodes, create_graph=True, allow_unused=True)
    if dg is None:
        dg, ds = torch.zeros_like(nodes[2]), torch.zeros_like(nodes[3])
    keys_h, keys_v = h, v
    if first_order:
        dz1, dz2, dg, ds, keys_h, keys_v = (t.detach() for t in (dz1, dz2, dg, ds, keys_h, keys_v))

    before = {name: torch.zeros_like(closed[name]) if at_boundary else closed[name] for name in closed}

    def attend(query, keys, values):
        return (query @ keys.transpose(1, 2)).tril(-1) @ values

    def past(values):
        return torch.ones(values.shape[1], values.shape[1], dtype=values.dtype).tril(-1) @ values

    z1 = (h @ point["U"] + point["a"].unsqueeze(1) - steps["U"] * (attend(h, keys_h, dz1) + h @ before["U"])
          - steps["a"] * (past(dz1) + before["a"].unsqueeze(1)))
    v = torch.relu(z1) ** 2
    z2 = (v @ point["W"] + point["b"].unsqueeze(1) - steps["W"] * (attend(v, keys_v, dz2) + v @ before["W"])
          - steps["b"] * (past(dz2) + before["b"].unsqueeze(1)))
    f = z2
    if layer_norm:
        gain = point["gain"].unsqueeze(1) - steps["gain"] * (past(dg) + before["gain"].unsqueeze(1))
        shift = point["shift"].unsqueeze(1) - steps["shift"] * (past(ds) + before["shift"].unsqueeze(1))
        f = normalise(z2, eps) * gain + shift
    fast_nll = nll(h + f if residual else f, targets)
    sums = {"U": keys_h.transpose(1, 2) @ dz1, "a": dz1.sum(1), "W": keys_v.transpose(1, 2) @ dz2, "b": dz2.sum(1),
            "gain": dg.sum(1), "shift": ds.sum(1)}
    return slow_nll, fast_nll, sums


def bias_only(hidden, targets, weight, bias, step, token_weights=None):
    """(slow nll, fast nll) where only the output bias follows the gradients."""
    logits = hidden @ weight.T + bias
    gradient = torch.softmax(logits, -1) - torch.nn.functional.one_hot(targets, weight.shape[0])
    if token_weights is not None:
        gradient = gradient * token_weights.unsqueeze(-1)
    past = torch.ones(hidden.shape[1], hidden.shape[1], dtype=hidden.dtype).tril(-1) @ gradient

    def nll(scores):
        return torch.logsumexp(scores, -1) - scores.gather(-1, targets.unsqueeze(-1)).squeeze(-1)

    return nll(logits), nll(logits - step * past)
