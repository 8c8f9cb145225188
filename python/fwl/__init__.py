"""fwl: language models that keep learning while they read."""

import torch  # noqa: F401  the module below links against torch's libraries

from fwl import _C
from fwl._C import (  # noqa: F401
    TokenFile,
    Tokenizer,
    UserError,
    dequantize,
    gguf_metadata,
    inspect,
    load_gguf,
    load_safetensors,
    open_tokenizer,
    render_chat_template,
    safetensors_metadata,
    save_safetensors,
)
from fwl._C import BaseModel, BaseState, LanguageModel, Session, new_base, open_base, open_model  # noqa: F401
from fwl._C import few_shot, find_adapter, find_model, with_method  # noqa: F401
from fwl._C import has_bf16_gemm, has_fast_bf16_gemm, matmul_precision, set_activations  # noqa: F401
from fwl.attached import attach, from_pretrained  # noqa: F401
from fwl.heads import AdaptiveSoftmaxHead, SoftmaxHead  # noqa: F401
from fwl.layer import BiasOnly, FastWeightLayer, FastWeightOutput  # noqa: F401
from fwl.state import FastState  # noqa: F401
from fwl.hf import registration

registration.register()
__version__ = _C.version
