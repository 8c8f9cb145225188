"""Small random models of PyPI's transformers with what they compute, for tests/python/test_base_models.py.

python scripts/make_goldens.py OUT [NAME …] [--seed 0]

Each case is a folder as the library saves it (config.json, model.safetensors) and expected.safetensors: tokens
(segments, B, T), hidden states, logits and losses of every segment. Transformer-XL needs transformers 4.35.2, the last
release that has it. The committed ones in tests/goldens were made with 4.35.2, and those of newer architectures with
4.57.1.
"""

import argparse
import json
import warnings
from pathlib import Path

import torch
from safetensors.torch import save_file

XL = dict(vocab_size=60, d_model=12, n_head=2, d_head=5, d_inner=20, n_layer=2, mem_len=9, dropout=0.0, dropatt=0.0)
SMALL = dict(vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=0, bos_token_id=1,
             eos_token_id=2)
CASES = {
    "xl-one-table": ("xl", dict(XL, cutoffs=[20, 40], d_embed=8, div_val=1, same_length=False, clamp_len=12,
                                tie_projs=[False, True, True])),
    "xl-divided": ("xl", dict(XL, cutoffs=[20, 40], d_embed=12, div_val=2, same_length=True, clamp_len=6,
                              tie_projs=[False, True, True])),
    "xl-shared-biases": ("xl", dict(XL, cutoffs=[30], d_embed=12, div_val=1, same_length=True, clamp_len=-1,
                                    untie_r=False, pre_lnorm=True, tie_projs=[False, False])),
    "gpt2": ("gpt2", dict(vocab_size=61, n_embd=12, n_layer=2, n_head=3, n_positions=32, resid_pdrop=0.0,
                          embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)),
    "llama-grouped": ("llama", dict(vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
                                    tie_word_embeddings=False, rms_norm_eps=1e-5, rope_theta=1000.0)),
    "llama-tied": ("llama", dict(vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                                 num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=64,
                                 tie_word_embeddings=True, attention_bias=True)),
    "llama3-scaling": ("llama", dict(SMALL, rope_theta=500.0, tie_word_embeddings=True, rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16))),
    "mistral-window": ("mistral", dict(SMALL, sliding_window=6)),
    "qwen2-tied": ("qwen2", dict(SMALL, tie_word_embeddings=True, rope_theta=1000.0)),
    "qwen2-windows": ("qwen2", dict(SMALL, use_sliding_window=True, sliding_window=5, max_window_layers=1)),
    "qwen3": ("qwen3", dict(SMALL, head_dim=6)),
    "gemma3": ("gemma3_text", dict(SMALL, num_hidden_layers=4, head_dim=8, query_pre_attn_scalar=12, sliding_window=5,
                                   layer_types=["sliding_attention", "sliding_attention", "full_attention",
                                                "sliding_attention"],
                                   rope_theta=1000.0, rope_local_base_freq=100.0, tie_word_embeddings=True,
                                   rope_scaling=dict(rope_type="linear", factor=8.0))),
    "phi3-window": ("phi3", dict(SMALL, sliding_window=6)),
    "phi4-longrope": ("phi3", dict(SMALL, num_attention_heads=2, tie_word_embeddings=True, partial_rotary_factor=0.75,
                                   original_max_position_embeddings=32,
                                   rope_scaling=dict(type="longrope", short_factor=[1.0, 1.3, 1.9],
                                                     long_factor=[1.0, 3.0, 9.0]))),
    "olmo2": ("olmo2", dict(SMALL)),
    "smollm3": ("smollm3", dict(SMALL, num_hidden_layers=4, no_rope_layer_interval=2, tie_word_embeddings=True,
                                rope_theta=2000.0)),
}
DEVIATION = {"xl": 0.3, "gpt2": 0.3, "llama": 0.3}  # of weights, by kind; 0.2 for others
SEGMENTS, SEQUENCES, TOKENS = 3, 2, 7


def make_model(kind, options):
    import transformers

    config_class, model_class = {
        "xl": ("TransfoXLConfig", "TransfoXLLMHeadModel"),
        "gpt2": ("GPT2Config", "GPT2LMHeadModel"),
        "llama": ("LlamaConfig", "LlamaForCausalLM"),
        "mistral": ("MistralConfig", "MistralForCausalLM"),
        "qwen2": ("Qwen2Config", "Qwen2ForCausalLM"),
        "qwen3": ("Qwen3Config", "Qwen3ForCausalLM"),
        "gemma3_text": ("Gemma3TextConfig", "Gemma3ForCausalLM"),
        "phi3": ("Phi3Config", "Phi3ForCausalLM"),
        "olmo2": ("Olmo2Config", "Olmo2ForCausalLM"),
        "smollm3": ("SmolLM3Config", "SmolLM3ForCausalLM"),
    }[kind]
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**options)).eval()
    with torch.no_grad():  # the library's own start is too uniform to tell mistakes apart
        for name, parameter in model.named_parameters():
            is_gain = "norm" in name and name.endswith("weight") or "ln_" in name and name.endswith("weight")
            mean = 1.0 if is_gain and kind != "gemma3_text" else 0.0  # Gemma adds 1 to its gains
            parameter.copy_(torch.randn_like(parameter) * (0.1 if is_gain else DEVIATION.get(kind, 0.2)) + mean)
    model.tie_weights()
    return model


def losses_of(logits, tokens):
    """The loss of each token but the first, from logits or log-probabilities."""
    rows = torch.nn.functional.log_softmax(logits[:, :-1].double(), -1)
    return -rows.gather(2, tokens[:, 1:, None]).squeeze(2).float()


def expected(kind, model, tokens):
    with torch.no_grad():
        if kind == "xl":
            hidden, logits, losses, memory = [], [], [], None
            for segment in tokens:
                inner = model.transformer(segment, mems=memory)
                hidden.append(inner.last_hidden_state)
                logits.append(model.crit(inner.last_hidden_state).view(*segment.shape, -1))
                losses.append(model.crit(inner.last_hidden_state, segment, keep_order=True).view(segment.shape[0], -1))
                memory = inner.mems
            return torch.stack(hidden), torch.stack(logits), torch.stack(losses)
        whole = tokens.transpose(0, 1).reshape(SEQUENCES, -1)  # one text per sequence, read at once
        inner = model.transformer if kind == "gpt2" else model.model
        hidden, logits = inner(whole).last_hidden_state, model(whole).logits

        def in_segments(tensor):
            return tensor.view(SEQUENCES, SEGMENTS, TOKENS, -1).transpose(0, 1)

        logits = in_segments(logits)
        losses = torch.stack([losses_of(logits[index], tokens[index]) for index in range(SEGMENTS)])
        return in_segments(hidden), logits, losses


def make_case(name, folder, seed):
    kind, options = CASES[name]
    torch.manual_seed(seed)
    model = make_model(kind, options)
    tokens = torch.randint(0, options["vocab_size"], (SEGMENTS, SEQUENCES, TOKENS))
    hidden, logits, losses = expected(kind, model, tokens)
    folder.mkdir(parents=True, exist_ok=True)
    # Tied tensors once, as published files have them.
    seen, weights = set(), {}
    for key, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:
            seen.add(tensor.data_ptr())
            weights[key] = tensor.detach().clone().contiguous()
    save_file(weights, folder / "model.safetensors")
    config = json.loads(model.config.to_json_string(use_diff=False))
    kept = {key: value for key, value in config.items() if key in options or key in KEPT_KEYS}
    (folder / "config.json").write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
    save_file({"tokens": tokens, "hidden": hidden.contiguous(), "logits": logits.contiguous(),
               "losses": losses.contiguous()}, folder / "expected.safetensors")


KEPT_KEYS = {"model_type", "tie_word_embeddings", "untie_r", "pre_lnorm", "layer_norm_epsilon", "rms_norm_eps",
             "rope_theta", "rope_scaling", "hidden_act", "activation_function", "attn_type", "attention_bias"}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", help=f"among {', '.join(CASES)}; all if none is given")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore")
    for name in options.names or CASES:
        make_case(name, options.out / name, options.seed)
        print(options.out / name)


if __name__ == "__main__":
    main()
