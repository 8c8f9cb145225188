"""fwl: language models that keep learning while they read."""

import torch  # noqa: F401  the module below links against torch's libraries

from fwl import _C

__version__ = _C.version
