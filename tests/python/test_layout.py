"""The layout that ARCHITECTURE.md states is true: includes go one way, torch stays where it belongs, headers say why."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import include_graph  # noqa: E402
from include_graph import sources  # noqa: E402

FOLDERS = include_graph.stated_folders()
TORCH_FREE = ("support", "files", "tokenizer", "data", "inspect", "template", "kernels")


def test_the_table_of_folders_names_every_folder_of_src_as_cmake_does():
    assert sorted(FOLDERS) == sorted(path.name for path in (ROOT / "src").iterdir() if path.is_dir())
    listed = re.findall(r"foreach\(FOLDER ([\w ]+)\)", (ROOT / "CMakeLists.txt").read_text())
    assert " ".join(listed).split() == FOLDERS


def test_includes_only_go_up_in_the_table_of_folders():
    for path in sources():
        own = FOLDERS.index(path.parent.name)
        for folder in re.findall(r'#include "(\w+)/', path.read_text()):
            assert FOLDERS.index(folder) <= own, f"{path.relative_to(ROOT)} includes {folder}/"


def test_the_include_graph_in_the_documentation_is_the_real_one():
    page = include_graph.PAGE.read_text()
    assert include_graph.redrawn(page) == page, "run python3 scripts/include_graph.py"


def test_the_graph_leaves_out_what_other_arrows_imply_and_nothing_else():
    graph = {"a": set(), "b": {"a"}, "c": {"a", "b"}, "d": {"a", "c"}}
    assert include_graph.without_implied(graph) == {"a": set(), "b": {"a"}, "c": {"b"}, "d": {"c"}}
    circle = {"a": {"b"}, "b": {"a"}}
    assert include_graph.without_implied(circle) == circle
    real = include_graph.includes()
    drawn = include_graph.without_implied(real)
    for folder in real:
        assert include_graph.reachable(drawn, folder) == include_graph.reachable(real, folder)
        assert folder not in include_graph.reachable(real, folder), f"{folder} includes itself through others"


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
