"""Objects of transformers get further methods in place: their class becomes one of the same name with a mixin."""

import functools
import importlib
import sys

from transformers.utils.generic import _CAN_RECORD_REGISTRY

MIXINS = {"AttachedModel": "fwl.hf.attached", "AttachedBody": "fwl.hf.attached", "FastWeightCache": "fwl.hf.cache"}


@functools.cache
def mixed(mixin: type, cls: type) -> type:
    """A class of cls's name that has the mixin's methods too. Pickle finds it by its qualified name in this module."""
    new = type(cls.__name__, (mixin, cls), {"__module__": __name__, "__doc__": cls.__doc__})
    new.__qualname__ = f"{mixin.__name__}_{cls.__name__}"
    setattr(sys.modules[__name__], new.__qualname__, new)
    if str(cls) in _CAN_RECORD_REGISTRY:  # which hidden states and attentions a class can give
        _CAN_RECORD_REGISTRY[str(new)] = _CAN_RECORD_REGISTRY[str(cls)]
    return new


def mix_in(mixin: type, thing) -> None:
    """Gives an object the mixin's methods; it stays the same object."""
    thing.__class__ = mixed(mixin, type(thing))


def __getattr__(name: str) -> type:
    """A mixed class that a pickle names, in a process that has not made it yet."""
    mixin, _, cls = name.partition("_")
    if mixin not in MIXINS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import transformers

    return mixed(getattr(importlib.import_module(MIXINS[mixin]), mixin), getattr(transformers, cls))
