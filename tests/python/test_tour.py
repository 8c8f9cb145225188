"""The README's tour: every command runs, from top to bottom, in the project's folder; small stand-ins for the large parts."""

import os
import re
import subprocess

import pytest
from test_training_process import PROGRAM, ROOT, run
from tiny_gguf import attach_tiny_adapter, write_tiny_gguf

README = (ROOT / "README.md").read_text()
# The same commands, with a small model and adapter under the names of the README, and fewer steps and tokens.
STAND_IN = """#!/bin/bash
given=()
for word in "$@"; do
  case $word in smollm2) word={model};; smollm2-135m-blocks) word={adapter};; esac
  given+=("$word")
done
case $1 in
  train) given+=(--run.steps 2 --data.valid-tokens 500 --data.rows 1 --threads 1);;
  attach) given+=(--run.steps 2 --window-tokens 128 --segment-tokens 128 --layer.size 32 --threads 1);;
  perplexity) given+=(--max-tokens 3000 --threads 1);;
  generate) given+=(-n 5 --threads 1);;
esac
exec {program} "${{given[@]}}"
"""


def tour():
    section = README.split("## Command line\n")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.S)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder like the project's, whose build has the stand-in."""
    folder = tmp_path_factory.mktemp("tour")
    for name in ("src", "docs", "cli", "config", "README.md"):
        (folder / name).symlink_to(ROOT / name)
    model = write_tiny_gguf(folder / "tiny.gguf")
    adapter = attach_tiny_adapter(PROGRAM, model, ROOT / "CHANGELOG.md", folder / "adapter")
    build = folder / "build/release"
    build.mkdir(parents=True)
    (build / "fwl").write_text(STAND_IN.format(model=model, adapter=adapter, program=PROGRAM))
    (build / "fwl").chmod(0o755)
    return folder


def test_every_command_of_the_tour_runs_from_top_to_bottom(folder):
    script = "\n".join(tour())
    commands = [line for line in script.splitlines() if line.startswith("fwl ")]
    assert {line.split()[1] for line in commands} >= {"perplexity", "read", "session", "generate", "train", "attach", "report"}
    result = subprocess.run(["bash", "-euxc", script], cwd=folder, capture_output=True, text=True, errors="replace",
                            timeout=100, env={**os.environ, "FWL_DATA": str(folder / "data")})
    assert result.returncode == 0, result.stderr
    assert not (folder / "data/smollm2").exists()  # nothing was fetched
    for line in commands:
        for made in re.findall(r"--(?:out|session|save-nll) (\S+)", line):
            assert (folder / made).exists(), made


def test_the_large_parts_of_the_tour_are_known_by_name():
    text = "\n".join(tour())
    assert "--model smollm2 " in text and (ROOT / "adapters/smollm2-135m-blocks/adapter.json").exists()
    assert "smollm2" in run([PROGRAM, "get", "--help"]).stdout


@pytest.mark.parametrize("config", sorted((ROOT / "config").glob("*.toml")), ids=lambda path: path.name)
def test_every_config_can_be_read_and_says_how_long_it_takes(config):
    printed = run([PROGRAM, "train", "--config", config, "--out", "run", "--print-config"])
    assert printed.returncode == 0, printed.stderr
    head = config.read_text().split("[")[0]
    assert re.search(r"(minutes|hours?|years?)\s(# )?on two cores", head) and "fwl plan" in head
