"""An interrupt ends every long command within a second, also in the middle of a window, a validation or a training step."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest
from test_training_process import PROGRAM, ROOT, run

sys.path.insert(0, str(ROOT / "tests/hostile"))
from tiny_model import UINT32, default_metadata, default_shapes, gguf_bytes  # noqa: E402

LAYERS, WINDOW = 32, 6144


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """A model that needs seconds for a window, and a text of some windows."""
    folder = tmp_path_factory.mktemp("deep")
    shapes = default_shapes()
    shapes |= {name.replace("blk.0.", f"blk.{layer}."): shape for layer in range(2, LAYERS)
               for name, shape in default_shapes().items() if name.startswith("blk.0.")}
    metadata = {**default_metadata(), "llama.block_count": (UINT32, LAYERS), "llama.context_length": (UINT32, WINDOW)}
    (folder / "m.gguf").write_bytes(gguf_bytes(metadata, shapes))
    (folder / "text.txt").write_text("".join(f"the number {index} and the other {index * index}\n" for index in range(1200)))
    return folder / "m.gguf", folder / "text.txt"


def processor_seconds(process):
    fields = (f"/proc/{process.pid}/stat", os.sysconf("SC_CLK_TCK"))
    with open(fields[0]) as file:
        parts = file.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / fields[1]


def seconds_to_end(command, folder, is_time):
    """Of the processor, so that a busy machine is no failure; and the exit code."""
    with open(folder / "messages", "w+") as messages:
        before_all = resource.getrusage(resource.RUSAGE_CHILDREN)
        process = subprocess.Popen([PROGRAM, *map(str, command)], stdout=messages, stderr=messages)
        while process.poll() is None and not is_time(process):
            time.sleep(0.02)
        before = processor_seconds(process)
        process.send_signal(signal.SIGINT)
        code = process.wait(timeout=100)
        after_all = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = after_all.ru_utime + after_all.ru_stime - before_all.ru_utime - before_all.ru_stime
    return total - before, code


def test_a_window_is_interrupted(deep, tmp_path):
    model, text = deep
    for method in ("static", "blocks"):
        seconds, code = seconds_to_end(["perplexity", "-m", model, "--text", text, "--context", WINDOW, "--method", method,
                                        "--threads", "1"], tmp_path, lambda process: processor_seconds(process) > 1.5)
        assert code == 130 and seconds < 1, method


def test_attach_is_interrupted_while_it_reads(deep, tmp_path):
    model, text = deep
    seconds, code = seconds_to_end(["attach", "--base", model, "--text", text, "--out", tmp_path / "run", "--threads", "1",
                                    "--window-tokens", WINDOW], tmp_path, lambda process: processor_seconds(process) > 1.5)
    assert code == 130 and seconds < 1


def test_a_step_that_was_interrupted_is_taken_again_with_the_same_bits(tmp_path):
    (tmp_path / "m.gguf").write_bytes(gguf_bytes())
    (tmp_path / "text.txt").write_text("".join(f"the number {index}\n" for index in range(400)))

    def attach(out, *flags):
        return ["attach", "--base", tmp_path / "m.gguf", "--text", tmp_path / "text.txt", "--out", tmp_path / out, "--threads",
                "1", "--window-tokens", 64, "--segment-tokens", 1024, "--layer.size", 512, "--run.steps", 12, "--run.log-every",
                1, "--run.checkpoint-every", 1000, "--cache", tmp_path / "cache", *flags]

    whole = run([PROGRAM, *map(str, attach("whole"))])
    assert whole.returncode == 0, whole.stderr
    seconds, code = seconds_to_end(attach("run"), tmp_path, lambda _: "step 4/" in (tmp_path / "messages").read_text())
    assert code == 130 and seconds < 1
    again = run([PROGRAM, *map(str, attach("run", "--resume"))])
    assert again.returncode == 0 and "step 1/" not in again.stderr, again.stderr
    for name in ("adapter.safetensors", "adapter.json"):
        assert (tmp_path / "run/model" / name).read_bytes() == (tmp_path / "whole/model" / name).read_bytes()
