"""A part of the hostile-input suite: some runs of each kind."""

import subprocess
import sys

from test_training_process import PROGRAM, ROOT


def test_hostile_inputs_end_in_order():
    suite = [sys.executable, ROOT / "tests/hostile/run.py", "--program", PROGRAM, "--runs", "60", "--jobs", "1"]
    result = subprocess.run(suite, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_session_goes_on_under_any_context_or_says_why_not():
    suite = [sys.executable, ROOT / "tests/hostile/run.py", "--program", PROGRAM, "--runs", "3000", "--jobs", "1",
             "--only", "session (8, 's"]
    result = subprocess.run(suite, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
