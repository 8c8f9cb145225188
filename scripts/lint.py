#!/usr/bin/env python3
"""Static analysis of the library and the program with clang-tidy: all that CMake compiles, or what has changed.

Usage: python3 scripts/lint.py BUILD_FOLDER                                  every file (or batch of files)
       python3 scripts/lint.py BUILD_FOLDER --changed [--base REV] [--limit N]   files changed since a revision

Without --base, changes are counted from where this branch left origin/main, or from the previous commit; a clone
without either has nothing to compare with. Of more than N changed files the N with most changed lines are analysed,
and the others are named. Standard library only; prints what it finds, exits with 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("fwl_torch_free", "fwl_library", "fwl_commands", "fwl.dir")


def say(message):
    print(f"lint: {message}", file=sys.stderr, flush=True)


def compiled_files(build):
    """Batches and single files of the targets; a file that is compiled in a batch is analysed there."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if any(target in entry.get("output", entry["command"]) for target in TARGETS):
            yield entry["file"]


def git(*words):
    """The output of a git command, or None where git cannot answer."""
    result = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else None


def base_revision(wanted):
    if wanted:
        if git("rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}") is None:
            sys.exit(f"lint: expected a revision of this clone as base, got '{wanted}'")
        return git("merge-base", wanted, "HEAD") or wanted
    fork = git("merge-base", "origin/main", "HEAD")
    return fork if fork and fork != git("rev-parse", "HEAD") else git("rev-parse", "--verify", "--quiet", "HEAD~1")


def changed_lines(base):
    """Lines added or removed since the base, by file that still exists; files that git does not know yet included."""
    lines = {}
    for row in git("diff", "--numstat", "--no-renames", base).splitlines():
        added, removed, name = row.split("\t")
        if added != "-":
            lines[name] = int(added) + int(removed)
    for name in git("ls-files", "--others", "--exclude-standard").splitlines():
        lines[name] = len((ROOT / name).read_bytes().splitlines())
    return {name: count for name, count in lines.items() if (ROOT / name).exists()}


def file_that_includes(header, files):
    """A header is analysed with its own source file, or with the first that includes it."""
    own = header.with_suffix(".cpp")
    if own in files:
        return own
    name = re.sub(r"^src/", "", str(header.relative_to(ROOT)))
    return next((file for file in files if f'#include "{name}"' in file.read_text()), None)


def changed_files(files, base, limit):
    files = [Path(file) for file in files]
    weights = {}
    for name, count in changed_lines(base).items():
        path = ROOT / name
        file = path if path in files else file_that_includes(path, files) if path.suffix == ".h" else None
        if file:
            weights[file] = weights.get(file, 0) + count
    chosen = sorted(weights, key=lambda file: (-weights[file], file))
    if limit and len(chosen) > limit:
        left, shown = [str(file.relative_to(ROOT)) for file in chosen[limit:]], 10
        more = f" and {len(left) - shown} more" if len(left) > shown else ""
        say(f"{len(chosen)} files have changed since {base[:8]}, more than {limit}; left out: "
            + " ".join(left[:shown]) + more)
    return [str(file) for file in chosen[:limit]]


def analyse(build, file):
    command = ["clang-tidy", "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
               "--extra-arg=-fno-openmp", file]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def analyse_all(build, files):
    """How many files have findings."""
    start, failed = time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(analyse, build, file) for file in files]
        for done, (file, run) in enumerate(zip(files, runs), 1):
            code, findings, errors = run.result()
            failed += code != 0
            if code:
                print(findings or errors, flush=True)
            say(f"{done}/{len(files)} {Path(file).name}, {time.monotonic() - start:.0f} s")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--base", default="")
    parser.add_argument("--limit", type=int)
    options = parser.parse_args()
    build = options.build.resolve()
    files = sorted(set(compiled_files(build)))
    if options.changed:
        base = base_revision(options.base)
        if not base:
            say("this clone has no earlier revision to compare with: no file counts as changed")
            return
        files = changed_files(files, base, options.limit)
        if not files:
            say(f"no source file has changed since {base[:8]}")
    sys.exit(1 if analyse_all(build, files) else 0)


if __name__ == "__main__":
    main()
