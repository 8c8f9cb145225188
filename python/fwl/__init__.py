"""fwl: language models that keep learning while they read."""

import torch  # noqa: F401  the module below links against torch's libraries

from fwl import _C
from fwl._C import (  # noqa: F401
    UserError,
    dequantize,
    gguf_metadata,
    inspect,
    load_gguf,
    load_safetensors,
    safetensors_metadata,
    save_safetensors,
)

__version__ = _C.version
