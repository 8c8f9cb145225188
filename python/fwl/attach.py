"""`python -m fwl.attach`: the command `fwl attach`; under torchrun its processes share the work."""

from fwl.launch import run

if __name__ == "__main__":
    run("attach")
