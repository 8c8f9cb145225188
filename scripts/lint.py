#!/usr/bin/env python3
"""Static analysis of the library and the program: clang-tidy on every file (or batch of files) that CMake compiles.

Usage: python3 scripts/lint.py BUILD_FOLDER     (standard library only; prints what it finds, exits with 1)
"""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGETS = ("fwl_torch_free", "fwl_library", "fwl_commands", "fwl.dir")


def compiled_files(build):
    """Batches and single files of the targets; a file that is compiled in a batch is analysed there."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if any(target in entry.get("output", entry["command"]) for target in TARGETS):
            yield entry["file"]


def analyse(build, file):
    command = ["clang-tidy", "-p", str(build), "--quiet", "--extra-arg=-Wno-unknown-warning-option",
               "--extra-arg=-fno-openmp", file]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    files = sorted(set(compiled_files(build)))
    start, failed = time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(analyse, build, file) for file in files]
        for done, (file, run) in enumerate(zip(files, runs), 1):
            code, findings, errors = run.result()
            failed += code != 0
            if code:
                print(findings or errors, flush=True)
            seconds = time.monotonic() - start
            print(f"lint: {done}/{len(files)} {Path(file).name}, {seconds:.0f} s", file=sys.stderr, flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
