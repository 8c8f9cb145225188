"""Models trained by `fwl train` as models of transformers: the C++ code, with autograd through it."""

import os
from typing import Optional, Union

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from fwl import _C
from fwl.hf.config import FwlConfig
from fwl.hf.prompt import Adaptation, KnowsPrompt, known_tokens
from fwl.hf.session_cache import SessionCache

class FwlForCausalLM(KnowsPrompt, PreTrainedModel, GenerationMixin):
    """Base, fast weights and head in one. Its parameters are the C++ model's own, by the same names."""

    config_class = FwlConfig
    main_input_name = "input_ids"

    def __init__(self, config: FwlConfig, trained: Optional[_C.TrainedModel] = None):
        super().__init__(config)
        if trained is None:
            trained = _C.TrainedModel.fresh(config.settings, int(torch.randint(1 << 31, ())))
        self.trained = trained
        self.fast_weights = Adaptation()
        for name, tensor in trained.model.parameters().items():
            register(self, name, tensor)

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Union[str, os.PathLike], *arguments,
                        config: Optional[FwlConfig] = None, dtype=None, torch_dtype=None, device_map=None, **options):
        """Opens a folder that `fwl train` or ``save_pretrained`` has written."""
        path, dtype = os.fspath(pretrained_model_name_or_path), dtype or torch_dtype
        if dtype not in (None, "auto", torch.float32, torch.float64, "float32", "float64"):
            raise _C.UserError(f"from_pretrained: dtype: expected float32 or float64, got {dtype}; the CPU code of fwl "
                               "computes in no other")
        trained = _C.TrainedModel.open(path)
        model = cls(FwlConfig(settings=trained.settings, name_or_path=path), trained)
        tokenizer = trained.model.tokenizer
        if tokenizer is not None:
            model.generation_config.eos_token_id = tokenizer.end_token
            model.generation_config.bos_token_id = tokenizer.begin_token
        if dtype not in (None, "auto"):
            model.to(getattr(torch, dtype) if isinstance(dtype, str) else dtype)
        if isinstance(device_map, (str, torch.device)) and device_map != "auto":
            model.to(device_map)
        return model.eval()

    def save_pretrained(self, save_directory: Union[str, os.PathLike], is_main_process: bool = True, **options) -> None:
        """Writes a folder that all commands of fwl read."""
        if is_main_process:
            self.trained.save(os.fspath(save_directory))
            self.generation_config.save_pretrained(save_directory)

    def __reduce__(self):  # copying and pickling
        values = {name: tensor.detach() for name, tensor in self.state_dict().items()}
        frozen = [name for name, tensor in self.named_parameters() if not tensor.requires_grad]
        return rebuilt, (type(self), self.config, values, frozen, self.generation_config, self.training,
                         self.trained.tokenizer_path, self.fast_weights.adapt)

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the first call makes a SessionCache

    def forward(self, input_ids: Tensor, attention_mask: Optional[Tensor] = None,
                past_key_values: Optional[SessionCache] = None, labels: Optional[Tensor] = None,
                use_cache: Optional[bool] = None, logits_to_keep: Union[int, Tensor] = 0,
                return_dict: Optional[bool] = None, **others) -> Union[tuple, CausalLMOutputWithPast]:
        """The logits after every token, adapted to those before it; the loss of labels, -100 being ignored."""
        cache = SessionCache(self.trained.model) if past_key_values is None else past_key_values
        if not isinstance(cache, SessionCache):
            raise _C.UserError(f"past_key_values: expected what this model has returned, got {type(cache).__name__}")
        cached, switch = cache.columns, self.fast_weights
        is_read = known_tokens(attention_mask, input_ids, cached)[:, cached:]
        adapt = "off" if switch.adapt == "off" else "write" if switch.learns(cached) else "read"
        with torch.autocast(input_ids.device.type, enabled=False):
            logits = cache.logits(input_ids.long(), is_read, adapt)
        logits = logits[:, slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep]
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=logits.shape[-1], **others)
        keeps_state = self.config.use_cache if use_cache is None else use_cache
        outputs = CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=cache if keeps_state else None)
        return outputs if return_dict is None or return_dict else outputs.to_tuple()


def register(module: nn.Module, name: str, tensor: Tensor) -> None:
    """Makes the C++ code's tensor itself a parameter, so that whatever an optimizer does to it is done there."""
    tensor._is_param = True  # what isinstance(tensor, nn.Parameter) looks at
    *parents, name = name.split(".")
    for parent in parents:
        if not hasattr(module, parent):
            module.add_module(parent, nn.Module())
        module = getattr(module, parent)
    module.register_parameter(name, tensor.requires_grad_())


def rebuilt(cls, config, values, frozen, generation_config, training, tokenizer_path, adapt) -> FwlForCausalLM:
    """A copy of a model."""
    model = cls(config)
    model.load_state_dict(values)
    for name, tensor in model.named_parameters():
        tensor.data = tensor.data.to(values[name].device, values[name].dtype)
        tensor.requires_grad_(name not in frozen)
    model.generation_config, model.trained.tokenizer_path = generation_config, tokenizer_path
    model.fast_weights.adapt = adapt
    return model.train(training)
