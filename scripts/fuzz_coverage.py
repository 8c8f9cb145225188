#!/usr/bin/env python3
"""Coverage-guided fuzzing of every reader: libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer.

Usage: scripts/fuzz_coverage.py PROGRAM [--executions N] [--slice N] [--target NAME] [--record FILE]
Starts each target from its corpus in tests/fuzz/corpus and its valid files, and runs its share of N executions in slices. What
earlier runs have done counts if it is in the record, so a run can be stopped at any time and goes on where it was. At the end of
its share a target keeps what reaches the most code: at most 40 inputs and 40 kB. An input that breaks a reader is left in
build/fuzz, and its target is not run any further.
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
WORK = ROOT / "build" / "fuzz"
KEPT_FILES, KEPT_BYTES = 40, 40_000
SETTINGS = {"ASAN_OPTIONS": "detect_leaks=0:malloc_context_size=4:quarantine_size_mb=16", "UBSAN_OPTIONS": "print_stacktrace=1"}


def run(program, target, *flags, **variables):
    environment = {**os.environ, **SETTINGS, "FWL_FUZZ_TARGET": target, **variables}
    return subprocess.run([program, *map(str, flags)], env=environment, capture_output=True, text=True, errors="replace")


class Target:
    """One reader: its inputs so far, and how to run it on more."""

    def __init__(self, program, name):
        self.program, self.name, self.work = program, name, WORK / name
        self.words, self.seeds = WORK / f"{name}.words", WORK / f"{name}-seeds"
        self.work.mkdir(parents=True, exist_ok=True)
        self.seeds.mkdir(exist_ok=True)
        run(program, name, FWL_FUZZ_SEEDS=str(self.seeds))
        seeds = [path.read_bytes() for path in self.seeds.iterdir()]
        self.longest = max(512, 2 * max(map(len, seeds)))
        words = {word for seed in seeds for word in re.findall(rb"[A-Za-z_|]{3,20}|[{}%-]{2,3}", seed)}
        self.words.write_text("".join(f'"{word.decode()}"\n' for word in sorted(words)))
        for path in (CORPUS / name).glob("*"):
            shutil.copy(path, self.work)

    def fuzz(self, executions, seed):
        start = time.time()
        done = run(self.program, self.name, f"-runs={executions}", f"-seed={seed}", f"-max_len={self.longest}", f"-dict={self.words}",
                   "-timeout=60", "-rss_limit_mb=2048", f"-artifact_prefix={self.work}-", "-print_final_stats=1", self.work, self.seeds)
        counts = {name: int(number) for name, number in re.findall(r"stat::(\w+):\s+(\d+)", done.stderr)}
        covered = re.findall(r"cov: (\d+)", done.stderr)
        if done.returncode:
            print(done.stderr[-5000:], file=sys.stderr)
        return {"executions": counts.get("number_of_executed_units", 0), "edges": int(covered[-1]) if covered else 0,
                "peak_mb": counts.get("peak_rss_mb", 0), "seconds": round(time.time() - start), "exit": done.returncode}

    def keep_smallest(self):
        """The inputs that cover what the whole corpus covers, small ones first."""
        kept, corpus = WORK / f"{self.name}-kept", CORPUS / self.name
        for folder in (kept, corpus):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        run(self.program, self.name, "-merge=1", f"-max_len={self.longest}", kept, self.work)
        left = KEPT_BYTES
        for path in sorted(kept.iterdir(), key=lambda path: path.stat().st_size)[:KEPT_FILES]:
            left -= path.stat().st_size
            if left < 0:
                break
            shutil.copy(path, corpus)


def add(total, part):
    """A target's sums over slices; the exit code of the latest."""
    result = {name: total.get(name, 0) + part[name] for name in ("executions", "seconds")}
    result |= {name: max(total.get(name, 0), part[name]) for name in ("edges", "peak_mb")}
    return result | {"slices": total.get("slices", 0) + 1, "exit": part["exit"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--executions", type=int, default=1_000_000, help="in total, shared by the targets")
    parser.add_argument("--slice", type=int, default=100_000, help="executions after which the record is written")
    parser.add_argument("--target", help="only this one")
    parser.add_argument("--record", type=Path, help="JSON with the sums of each target; what it says already counts")
    options = parser.parse_args()
    names = re.findall(r"FuzzTarget (\w+)_target\(\);", (ROOT / "tests" / "fuzz" / "fuzz_target.h").read_text())
    targets = [Target(options.program, name) for name in names if options.target in (None, name)]
    share = -(-options.executions // len(targets))
    record = json.loads(options.record.read_text()) if options.record and options.record.exists() else {}
    done = lambda target: record.get(target.name, {}).get("executions", 0)  # noqa: E731
    failed = False
    while targets:
        target = min(targets, key=done)
        if done(target) >= share:
            break
        part = target.fuzz(min(options.slice, share - done(target)), record.get(target.name, {}).get("slices", 0) + 1)
        record[target.name] = add(record.get(target.name, {}), part)
        print(json.dumps({"target": target.name, **record[target.name]}), flush=True)
        if options.record:
            options.record.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
        if part["exit"]:
            failed = True
        if part["exit"] or done(target) >= share:
            target.keep_smallest()
            targets.remove(target)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
