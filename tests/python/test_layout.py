"""The layout that ARCHITECTURE.md states is true: includes go one way, torch stays where it belongs, headers say why."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("support", "files", "tokenizer", "data", "inspect", "template", "kernels", "engine", "attention", "weights", "head",
           "base", "architecture", "memory", "model", "store", "train", "evaluate", "generate", "report", "reproduce")
TORCH_FREE = ("support", "files", "tokenizer", "data", "inspect", "template", "kernels")


def sources():
    return [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".h", ".cpp")]


def test_includes_only_go_up_in_the_list_of_folders():
    for path in sources():
        own = FOLDERS.index(path.parent.name)
        for folder in re.findall(r'#include "(\w+)/', path.read_text()):
            assert FOLDERS.index(folder) <= own, f"{path.relative_to(ROOT)} includes {folder}/"


def test_torch_stays_out_of_the_torch_free_folders():
    for path in sources():
        if path.parent.name in TORCH_FREE:
            assert not re.search(r"#include <(torch|ATen|c10)/", path.read_text()), path.relative_to(ROOT)


def test_every_header_opens_with_a_sentence_of_purpose():
    for path in [*sources(), *(ROOT / "cli").glob("*.h")]:
        if path.suffix == ".h":
            lines = path.read_text().splitlines()
            assert lines[0].startswith("// ") and "#pragma once" in lines[:6], path.relative_to(ROOT)
            assert "using namespace" not in path.read_text(), path.relative_to(ROOT)


def test_every_dependency_states_its_reason():
    import tomllib

    groups = tomllib.loads((ROOT / "dependencies.toml").read_text())
    for packages in groups["system"].values():
        assert all(len(reason) > 10 for reason in packages.values())
    for packages in groups["python"].values():
        assert all(len(reason) > 10 for _, reason in packages.values())
