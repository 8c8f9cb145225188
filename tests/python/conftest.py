"""Helpers beside the tests are imported by name; one thread, because the tensors of the tests are tiny."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parent))
torch.set_num_threads(1)
