#!/usr/bin/env python3
"""Draws the folders of src and who includes whom into ARCHITECTURE.md, from the #include lines themselves.

Usage: python3 scripts/include_graph.py [--check]     (--check changes nothing and exits with 1 if the drawing is old)

The order of the folders is that of the table in ARCHITECTURE.md. Standard library only.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- include graph: scripts/include_graph.py -->", "<!-- end of include graph -->"


def stated_folders():
    """The folders of src in the order in which ARCHITECTURE.md lists them."""
    return re.findall(r"^\| `src/(\w+)` \|", PAGE.read_text(), re.MULTILINE)


def sources():
    return [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".h", ".cpp")]


def includes():
    """The folders that each folder includes, other than itself."""
    graph = {}
    for path in sources():
        own = path.parent.name
        named = re.findall(r'^#include "(\w+)/', path.read_text(), re.MULTILINE)
        graph.setdefault(own, set()).update(folder for folder in named if folder != own)
    return graph


def reachable(graph, start):
    seen, waiting = set(), list(graph.get(start, ()))
    while waiting:
        folder = waiting.pop()
        if folder not in seen:
            seen.add(folder)
            waiting.extend(graph.get(folder, ()))
    return seen


def without_implied(graph):
    """The arrows that no path over other arrows implies; with a cycle in it the graph stays as it is."""
    if any(folder in reachable(graph, folder) for folder in graph):
        return graph
    return {folder: {used for used in uses if not any(used in reachable(graph, other) for other in uses)}
            for folder, uses in graph.items()}


def diagram():
    graph, order = without_implied(includes()), stated_folders()

    def place(folder):
        return order.index(folder) if folder in order else len(order)

    lines = [f"  {used} --> {folder}"
             for folder in sorted(graph, key=place) for used in sorted(graph[folder], key=place)]
    return "\n".join([BEGIN, "```mermaid", "flowchart LR", *lines, "```", END])


def redrawn(page):
    pattern = re.escape(BEGIN) + ".*?" + re.escape(END)
    if len(re.findall(pattern, page, re.DOTALL)) != 1:
        sys.exit(f"include_graph: expected {BEGIN} … {END} once in {PAGE.name}")
    return re.sub(pattern, lambda _: diagram(), page, flags=re.DOTALL)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    page = PAGE.read_text()
    if redrawn(page) == page:
        return
    if sys.argv[1:] == ["--check"]:
        sys.exit("include_graph: the drawing in ARCHITECTURE.md is old; run python3 scripts/include_graph.py")
    PAGE.write_text(redrawn(page))


if __name__ == "__main__":
    main()
