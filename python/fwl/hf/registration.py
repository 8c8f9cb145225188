"""Tells transformers' Auto classes about fwl's models when they are imported, and not before."""

import importlib.abc
import importlib.util
import sys


def _config() -> None:
    from transformers import AutoConfig

    from fwl.hf.config import FwlConfig

    AutoConfig.register("fwl", FwlConfig, exist_ok=True)


def _model() -> None:
    from transformers import AutoModelForCausalLM

    from fwl.hf.config import FwlConfig
    from fwl.hf.model import FwlForCausalLM

    AutoModelForCausalLM.register(FwlConfig, FwlForCausalLM, exist_ok=True)


def _tokenizer() -> None:
    from transformers import AutoTokenizer

    from fwl.hf.config import FwlConfig
    from fwl.hf.tokenizer import FwlTokenizerFast

    AutoTokenizer.register(FwlConfig, fast_tokenizer_class=FwlTokenizerFast, exist_ok=True)


AUTO = "transformers.models.auto."
ACTIONS = {AUTO + "configuration_auto": _config, AUTO + "modeling_auto": _model, AUTO + "tokenization_auto": _tokenizer}


class _AfterImport(importlib.abc.MetaPathFinder):
    """Runs an action right after a module of that name has been imported."""

    def __init__(self):
        self.searching = set()

    def find_spec(self, name, path, target=None):
        if name not in ACTIONS or name in self.searching:
            return None
        self.searching.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.searching.discard(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module):
            execute(module)
            ACTIONS[name]()

        spec.loader.exec_module = execute_and_act
        return spec


def register() -> None:
    """To be called once, by `import fwl`."""
    for name, action in ACTIONS.items():
        if name in sys.modules:
            action()
    sys.meta_path.insert(0, _AfterImport())
