#!/usr/bin/env python3
"""The hostile-input suite: every run ends in order, whatever it is given.

Usage: tests/hostile/run.py [--program build/release/fwl] [--runs 3000] [--seed 1] [--jobs 2] [--record FILE]
A tenth of the generated runs gets a signal at a random moment. A run is judged by one rule: exit 0, 1 or 2, or 128 + the signal
that it was sent (within ten seconds), never by a signal of its own; an error is one line; no control characters and no
internal errors on the screen; no partial or unexpected files; at most 20 seconds of the processor and 2 GB of memory.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import cases  # noqa: E402
from tiny_model import gguf_bytes  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS, MOST_BYTES, MOST_ANSWER_SECONDS = 20, 2 << 30, 10
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def send(process, case):
    """Sends the signal of a case, unless the process has ended by then; the seconds that it then takes to end."""
    time.sleep(case.signal_after)
    if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        os.kill(process.pid, case.signal)
    sent = time.monotonic()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    case.answer_seconds = time.monotonic() - sent


def execute(program, arguments, folder, given="", case=None):
    """Exit code, both outputs and the peak memory in bytes."""
    environment = {**os.environ, "FWL_DATA": str(folder / "data"), "TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"}
    with open(folder / "out", "w+b") as out, open(folder / "err", "w+b") as err:
        process = subprocess.Popen([program, *arguments], cwd=folder / "work", env=environment, stdin=subprocess.PIPE,
                                   stdout=out, stderr=err, preexec_fn=limits)
        try:
            process.stdin.write(given.encode(errors="surrogateescape"))
            process.stdin.close()
        except BrokenPipeError:
            pass
        if case and case.signal:
            send(process, case)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(1 << 22).decode(errors="replace"))
    return process.returncode, *texts, usage.ru_maxrss * 1024


def judge(case, code, out, err, peak, before, after):
    """What is wrong with a run, or nothing."""
    if case.answer_seconds > MOST_ANSWER_SECONDS:
        return f"{case.answer_seconds:.1f} seconds after the signal"
    if unexpected := {name for name in after - before if name.split("/")[0] not in case.outputs}:
        return f"files {sorted(unexpected)}"
    if case.signal and code in (128 + case.signal, -case.signal):  # by the handler, or before there was one
        return None
    lines = [line for line in err.splitlines() if not re.match(r"(note|warning): |A new conv|Continuing|.*: a run; |.*  \d", line)]
    if code not in case.exits:
        return f"exit {code}"
    if "internal error" in err:
        return "an internal error"
    if code != 0 and len([line for line in lines if line.startswith("fwl: ")]) != 1 and "chat" not in case.arguments[0]:
        return f"{len(lines)} lines of error"
    is_text = case.arguments[0] in ("generate", "chat")  # a model's text is kept as it is where it is not shown
    if CONTROL.search(err) or (not is_text and CONTROL.search(out)):
        return "control characters"
    if peak > MOST_BYTES:
        return f"{peak >> 20} MB"
    return None


def run_case(program, case, files):
    folder = Path(tempfile.mkdtemp(prefix="fwl-hostile-"))
    try:
        for part in ("work", "tmp", "data"):
            (folder / part).mkdir()
        for name, data in {**files, **case.files}.items():
            (folder / "work" / name).write_bytes(data)
        listed = lambda: {str(path.relative_to(folder / "work")) for path in (folder / "work").rglob("*")} | \
            {"tmp/" + path.name for path in (folder / "tmp").iterdir()}  # noqa: E731
        before = listed()
        if case.arguments[0] == "read-then-read":
            split = case.arguments.index("--then")
            common = ["read", *case.arguments[1:5]]
            first = execute(program, [*common, *case.arguments[5:split], "a.txt"], folder)
            second = execute(program, [*common, *case.arguments[split + 1:], "b.txt"], folder)
            for result in (first, second):
                if problem := judge(case, *result, before, listed()):
                    return problem, result
            return None, second
        result = execute(program, case.arguments, folder, case.input, case)
        problem = judge(case, *result, before, listed())
        if not problem and case.then and execute(program, case.then, folder)[0]:
            problem = f"{' '.join(case.then)} fails"
        return problem, result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sample_files(program):
    """The valid files that every case starts from."""
    folder = Path(tempfile.mkdtemp(prefix="fwl-hostile-"))
    for part in ("work", "tmp", "data"):
        (folder / part).mkdir()
    work = folder / "work"
    (work / "m.gguf").write_bytes(gguf_bytes())
    (work / "a.txt").write_text("the cat and the other cat\n" * 8 + cases.FORGED + "\n")
    (work / "b.txt").write_text("another text, and the end\n" * 3)
    for arguments in (["read", "-m", "m.gguf", "--session", "s.session", "b.txt"],
                      ["tokenize", "--tokenizer", "m.gguf", "--out", "a.tokens", "a.txt"]):
        code, _, err, _ = execute(program, arguments, folder)
        if code:
            sys.exit(f"{' '.join(arguments)}: {err}")
    files = {path.name: path.read_bytes() for path in work.iterdir() if path.is_file()}
    shutil.rmtree(folder)
    return files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=str(ROOT / "build" / "release" / "fwl"))
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--record", help="write the counts as JSON")
    options = parser.parse_args()
    files = sample_files(options.program)
    known = [*cases.model_cases(), *cases.session_cases(), *cases.path_cases(), *cases.flag_cases()]
    known = known[::max(1, 2 * len(known) // options.runs)]  # a short run takes some of each kind
    generated = cases.mixed(cases.damaged_cases(files, options.seed), cases.signal_cases(files, options.seed))
    endless = itertools.chain(known, generated)
    wanted = [case for case in itertools.islice(endless, options.runs) if options.only in case.name]
    counts, problems, start = {}, [], time.time()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for case, (problem, result) in zip(wanted, pool.map(lambda case: run_case(options.program, case, files), wanted)):
            counts[result[0]] = counts.get(result[0], 0) + 1
            if problem:
                problems.append(case.name)
                print(f"{case.name}: {problem}\n  {case.arguments}\n  {result[2][-600:]!r}", flush=True)
    summary = {"runs": len(wanted), "seed": options.seed, "exits": {str(code): counts[code] for code in sorted(counts)},
               "signals": sum(case.signal > 0 for case in wanted),
               "slowest_answer_seconds": round(max(case.answer_seconds for case in wanted), 2), "problems": len(problems),
               "seconds": round(time.time() - start), "load": [round(load, 1) for load in os.getloadavg()], "jobs": options.jobs}
    print(json.dumps(summary))
    if options.record:
        Path(options.record).write_text(json.dumps(summary) + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
