"""`python -m fwl.train`: the command `fwl train`; under torchrun its processes share the work."""

from fwl.launch import run

if __name__ == "__main__":
    run("train")
