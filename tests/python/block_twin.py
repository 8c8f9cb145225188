"""A Llama with memories in its blocks in plain PyTorch, with autograd taken twice: an independent reading of the definition."""

import torch


def rms_norm(x, gain, eps):
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * gain


def rotate(x, positions, theta):
    """x: B,heads,T,d, whose first half is paired with its second."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * theta ** (-torch.arange(half, dtype=x.dtype) / half)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class BlockTwin:
    def __init__(self, weights, config, settings):
        self.weights, self.config, self.settings = weights, config, settings

    def features(self, y, keys):
        raw = torch.relu(y @ keys) ** 2
        return raw / (raw.square().sum(-1, keepdim=True) + 1e-12).sqrt()

    def hidden(self, tokens, start, past, keys, fast):
        """Hidden states of a chunk, its keys and values after those of the past, and what the memories add."""
        w, c = self.weights, self.config
        heads, kv_heads, d = c["num_attention_heads"], c["num_key_value_heads"], c["hidden_size"] // c["num_attention_heads"]
        x = w["model.embed_tokens.weight"][tokens]
        positions = torch.arange(start, start + tokens.shape[1], dtype=x.dtype)
        seen, added = [], []
        for layer in range(c["num_hidden_layers"]):
            def weight(name, layer=layer):
                return w[f"model.layers.{layer}.{name}.weight"]

            def in_heads(name, count, y):
                return (y @ weight(f"self_attn.{name}_proj").T).view(*y.shape[:2], count, d).transpose(1, 2)

            y = rms_norm(x, weight("input_layernorm"), c["rms_norm_eps"])
            q = rotate(in_heads("q", heads, y), positions, c["rope_theta"])
            k = rotate(in_heads("k", kv_heads, y), positions, c["rope_theta"])
            v = in_heads("v", kv_heads, y)
            if past:
                k, v = (torch.cat([old, new], 2) for old, new in zip(past[layer], (k, v)))
            seen.append((k.detach(), v.detach()))
            group = heads // kv_heads
            scores = q @ k.repeat_interleave(group, 1).transpose(2, 3) / d ** 0.5
            later = torch.arange(k.shape[2])[None] > positions[:, None]
            mixed = torch.softmax(scores.masked_fill(later, -torch.inf), -1) @ v.repeat_interleave(group, 1)
            x = x + mixed.transpose(1, 2).flatten(2) @ weight("self_attn.o_proj").T
            y = rms_norm(x, weight("post_attention_layernorm"), c["rms_norm_eps"])
            inner = torch.nn.functional.silu(y @ weight("mlp.gate_proj").T) * (y @ weight("mlp.up_proj").T)
            added.append(self.features(y, keys[layer]) @ fast[layer])
            x = x + inner @ weight("mlp.down_proj").T + added[-1]
        return rms_norm(x, w["model.norm.weight"], c["rms_norm_eps"]), seen, added

    def read(self, inputs, targets, keys, log_steps, decay_logits):
        """Losses of all targets; every chunk is read with the weights that the chunks before it have left."""
        s = self.settings
        chunk, batch = s["chunk_tokens"], inputs.shape[0]
        shape = (batch, s["rank"], self.config["hidden_size"])
        fast = [torch.zeros(shape, dtype=keys.dtype, requires_grad=True) for _ in keys]
        squares = torch.zeros(batch, len(keys), dtype=keys.dtype)
        past, losses = None, []
        for start in range(0, inputs.shape[1], chunk):
            part = slice(start, start + chunk)
            hidden, past, added = self.hidden(inputs[:, part], start, past, keys, fast)
            logits = hidden @ self.weights["lm_head.weight"].T
            loss = torch.logsumexp(logits, -1) - logits.gather(-1, targets[:, part, None]).squeeze(-1)
            losses.append(loss)
            gradients = torch.autograd.grad(loss.sum() / chunk, [*fast, *added], create_graph=True)
            fresh = chunk / (min(start, 16 * chunk) + chunk)
            warm = min(1.0, (start + chunk) / (chunk * max(1, s["warmup_chunks"])))
            moved, present = [], []
            for layer, (own, gradient, output) in enumerate(zip(fast, gradients, gradients[len(fast):])):
                mean = (output * chunk).square().sum((1, 2)) / chunk
                present.append(squares[:, layer] + fresh * (mean - squares[:, layer]))
                scale, step = present[-1], log_steps[layer].exp() * warm
                update = gradient * (step / scale)[:, None, None]
                bound = s["max_update"] * step * scale.rsqrt()
                length = update.square().sum((1, 2)).sqrt()
                update = update * torch.clamp(bound / length, max=1)[:, None, None]
                moved.append(own * torch.sigmoid(decay_logits[layer]) - update)
            fast, squares = moved, torch.stack(present, 1)
        return torch.cat(losses, 1), fast
