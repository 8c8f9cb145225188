"""Runs commands of fwl in the processes of a torchrun launch, each as one rank. See docs/scale.md."""

import datetime
import os
import sys

import torch.distributed as dist

from fwl import _C

DEFAULT_TIMEOUT = 600.0


def take_flag(arguments, name, default):
    """Removes `--name VALUE` or `--name=VALUE` from the arguments and returns the value."""
    for index, argument in enumerate(arguments):
        if argument == name and index + 1 < len(arguments):
            value = arguments[index + 1]
            del arguments[index:index + 2]
            return value
        if argument.startswith(name + "="):
            del arguments[index]
            return argument[len(name) + 1:]
    return default


def timeout_seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < 1e7:
        sys.exit(f"fwl: --rank-timeout: expected seconds, got '{text}'")
    return seconds


def run(command):
    """Runs `fwl command` with this process's arguments; under torchrun, as one rank of all its processes."""
    arguments = sys.argv[1:]
    timeout = timeout_seconds(take_flag(arguments, "--rank-timeout", DEFAULT_TIMEOUT))
    if "RANK" not in os.environ or "--help" in arguments or "-h" in arguments:
        sys.exit(_C.run_command([command, *arguments]))
    device = take_flag(arguments, "--device", "cpu")
    is_cuda = device.startswith("cuda")
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    dist.init_process_group("cpu:gloo,cuda:nccl" if is_cuda else "gloo", timeout=datetime.timedelta(seconds=timeout))
    try:
        code = _C.run_command([command, *arguments, "--device", device], dist.group.WORLD.group_name, timeout)
    finally:
        dist.destroy_process_group()
    sys.exit(code)
