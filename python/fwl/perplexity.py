"""`python -m fwl.perplexity`: the command `fwl perplexity`; under torchrun its processes share the work."""

from fwl.launch import run

if __name__ == "__main__":
    run("perplexity")
