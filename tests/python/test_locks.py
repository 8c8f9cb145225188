"""Two processes that would write the same run, session or cache: the second one says who is first, and changes nothing."""

import signal
import subprocess

from test_outputs import one_line
from test_training_process import PROGRAM, run, tokens, train  # noqa: F401

FOREVER = ["--run.steps", "1000000", "--run.log-every", "1", "--run.checkpoint-every", "2"]


def start_until(command, sign):
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if line.startswith(sign):
            return process
    raise AssertionError(f"{command} ended")


def test_a_run_belongs_to_one_process(tokens, tmp_path):
    folder = tmp_path / "run"
    process = start_until(train(tokens, folder, *FOREVER), "step 3/")
    try:
        for flags in ([], ["--resume"]):
            one_line(run(train(tokens, folder, *FOREVER, *flags)), folder, f"process {process.pid} on ", "fwl train")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    # The kernel has released the lock.
    process = start_until(train(tokens, folder, *FOREVER, "--resume"), "step ")
    process.send_signal(signal.SIGTERM)
    process.stderr.read()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert not list(folder.rglob("*.lock"))


def test_a_session_belongs_to_one_process(words_model, tmp_path):
    base, text, _ = words_model
    session, long_text, link = tmp_path / "a.session", tmp_path / "long.txt", tmp_path / "link.session"
    assert run([PROGRAM, "read", "--model", base, "--session", session, text]).returncode == 0
    long_text.write_text(text.read_text() * 300)
    link.symlink_to(session)
    before = session.read_bytes()
    process = subprocess.Popen([PROGRAM, "read", "--model", base, "--session", session, "--save-every", "1000000",
                                long_text], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (tmp_path / "a.session.lock").exists() or not (tmp_path / "a.session.lock").read_text():
            assert process.poll() is None
        for command in (["read", "--model", base, "--session", session, text],
                        ["read", "--model", base, "--session", link, text],
                        ["generate", "--model", base, "--session", session, "-p", "w1"],
                        ["session", "reset", session], ["session", "decay", session],
                        ["session", "copy", tmp_path / "link.session", session]):
            result = run([PROGRAM, *command])
            assert result.returncode == 1, (command, result)
            assert "an output" in result.stderr or f"process {process.pid} on " in result.stderr, result.stderr
        assert run([PROGRAM, "session", "show", session]).returncode == 0  # reading is free
        assert session.read_bytes() == before
    finally:
        process.kill()
        process.wait()
    assert run([PROGRAM, "session", "reset", session]).returncode == 0
    assert not list(tmp_path.glob("*.lock"))


def test_a_cache_is_never_changed_under_its_reader(words_model, tmp_path):
    base, text, _ = words_model
    other = tmp_path / "other.txt"
    other.write_text("\n".join(text.read_text().splitlines()[:4]) + "\n")
    cache = tmp_path / "cache"
    flags = ["--cache", cache, "--layer.size", "8", "--segment-tokens", "32", "--window-tokens", "32", "--threads", "1"]

    def attach(words, out, *more):
        return [PROGRAM, "attach", "--base", base, "--text", words, "--out", tmp_path / out, *flags, *more]

    process = start_until(attach(text, "first", *FOREVER), "step 3/")
    try:
        shared = run(attach(text, "second", "--run.steps", "2"))  # the same text: both read the cache
        assert shared.returncode == 0, shared.stderr
        one_line(run(attach(other, "third", "--run.steps", "2")), cache / "train.hidden",
                 f"process {process.pid} on ")
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 128 + signal.SIGTERM
    assert run(attach(other, "third", "--run.steps", "2")).returncode == 0
    assert not list(cache.glob("*.lock"))
