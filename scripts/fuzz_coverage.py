#!/usr/bin/env python3
"""Coverage-guided fuzzing of every reader: libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer.

Usage: scripts/fuzz_coverage.py PROGRAM [--executions N] [--target NAME] [--record FILE]
Starts each target from its corpus in tests/fuzz/corpus and its valid files, runs its share of N executions, and keeps what
reaches new code: at most 40 inputs and 40 kB per target. A crash ends the run and leaves its input in build/fuzz.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "fuzz" / "corpus"
KEPT_FILES, KEPT_BYTES = 40, 40_000
SETTINGS = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


def run(program, target, *flags, **variables):
    environment = {**os.environ, **SETTINGS, "FWL_FUZZ_TARGET": target, **variables}
    return subprocess.run([program, *map(str, flags)], env=environment, capture_output=True, text=True, errors="replace")


def keep_smallest(program, target, work):
    """The inputs that cover what the whole corpus covers, small ones first."""
    kept = work.with_name(target + "-kept")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    run(program, target, "-merge=1", "-max_len=32768", kept, work)
    corpus = CORPUS / target
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    left = KEPT_BYTES
    for path in sorted(kept.iterdir(), key=lambda path: path.stat().st_size)[:KEPT_FILES]:
        left -= path.stat().st_size
        if left < 0:
            break
        shutil.copy(path, corpus)


def fuzz(program, target, executions):
    work = ROOT / "build" / "fuzz" / target
    work.mkdir(parents=True, exist_ok=True)
    run(program, target, FWL_FUZZ_SEEDS=str(work))
    for path in (CORPUS / target).glob("*"):
        shutil.copy(path, work)
    start = time.time()
    done = run(program, target, f"-runs={executions}", "-max_len=32768", "-timeout=60", "-rss_limit_mb=4096",
               f"-artifact_prefix={work.parent}/{target}-", "-print_final_stats=1", work)
    counts = {name: int(number) for name, number in re.findall(r"stat::(\w+):\s+(\d+)", done.stderr)}
    covered = re.findall(r"cov: (\d+)", done.stderr)
    result = {"target": target, "executions": counts.get("number_of_executed_units", 0),
              "edges": int(covered[-1]) if covered else 0, "peak_mb": counts.get("peak_rss_mb", 0),
              "seconds": round(time.time() - start), "exit": done.returncode}
    if done.returncode == 0:
        keep_smallest(program, target, work)
    else:
        print(done.stderr[-5000:], file=sys.stderr)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--executions", type=int, default=1_000_000, help="in total, shared by the targets")
    parser.add_argument("--target")
    parser.add_argument("--record", help="JSON lines, one per target")
    options = parser.parse_args()
    names = re.findall(r"FuzzTarget (\w+)_target\(\);", (ROOT / "tests" / "fuzz" / "fuzz_target.h").read_text())
    targets = [options.target] if options.target else names
    failed = False
    for target in targets:
        result = fuzz(options.program, target, -(-options.executions // len(targets)))
        print(json.dumps(result), flush=True)
        if options.record:
            with open(options.record, "a") as record:
                record.write(json.dumps(result) + "\n")
        failed |= result["exit"] != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
