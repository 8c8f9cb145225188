"""`python -m fwl.attach`: the command `fwl attach`; under torchrun its processes share the work."""

import sys

import fwl
from fwl.launch import run

if __name__ == "__main__":
    run("attach")
else:
    sys.modules[__name__] = fwl.attach  # importing the module gives the function of its name
