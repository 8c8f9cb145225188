"""Runs commands of fwl in the processes of a torchrun launch, each as one rank. See docs/scale.md."""

import datetime
import os
import sys
import time
import uuid

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


def agreed_name(store, rank, size, timeout):
    """A name that only the processes of this launch know.

    After a restart torchrun's store may still hold the addresses of the processes before, so nothing that was in it can
    be trusted: every rank asks under a name of its own, and the first one answers until all have confirmed.
    """
    own = uuid.uuid4().hex
    if rank > 0:
        store.set(f"fwl/rank/{rank}", own)
        store.wait([f"fwl/name/{own}"], timeout)
        name = store.get(f"fwl/name/{own}").decode()
        store.set(f"fwl/confirmed/{name}/{rank}", "")
        return name
    waiting = set(range(1, size))
    deadline = time.monotonic() + timeout.total_seconds()
    while waiting and time.monotonic() < deadline:
        for other in list(waiting):
            if store.check([f"fwl/rank/{other}"]):
                store.set("fwl/name/" + store.get(f"fwl/rank/{other}").decode(), own)
            if store.check([f"fwl/confirmed/{own}/{other}"]):
                waiting.remove(other)
        time.sleep(0.01)
    if waiting:
        raise TimeoutError(f"no sign of rank {min(waiting)}")
    return own


def join(backend, timeout):
    """Makes the process group of this launch."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    try:
        store, _, _ = next(dist.rendezvous("env://", timeout=timeout))
        store = dist.PrefixStore(agreed_name(store, rank, size, timeout), store)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
    except (RuntimeError, TimeoutError) as error:  # the engine's errors are RuntimeErrors
        sys.exit(f"fwl: rank {rank} of {size}: expected {size} ranks within {timeout.total_seconds():g} s, got "
                 f"{str(error).splitlines()[0]}; a rank did not start, or machines cannot reach one another")


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
    join("cpu:gloo,cuda:nccl" if is_cuda else "gloo", datetime.timedelta(seconds=timeout))
    try:
        code = _C.run_command([command, *arguments, "--device", device], dist.group.WORLD.group_name, timeout)
    finally:
        dist.destroy_process_group()
    sys.exit(code)
