"""The config of models trained by `fwl train`, for transformers."""

from typing import Optional

from transformers import PretrainedConfig

SETTINGS = ("model", "memory", "layer", "bias", "delta", "blocks", "objective", "trained_tokens", "tokenizer")


class FwlConfig(PretrainedConfig):
    """``settings`` are what `fwl train` writes into config.json."""

    model_type = "fwl"
    keys_to_ignore_at_inference = ["past_key_values"]

    def __init__(self, settings: Optional[dict] = None, **others):
        own = {name: others.pop(name) for name in SETTINGS if name in others}
        for name in ("fwl_version", "fwl_checksum"):
            others.pop(name, None)
        self.settings = settings or own
        model = self.settings.get("model", {})
        self.vocab_size = model.get("vocabulary_size", 0)
        self.hidden_size = model.get("hidden_size", 0)
        self.num_hidden_layers = model.get("layers", 0)
        self.use_cache = others.pop("use_cache", True)
        super().__init__(**others)
