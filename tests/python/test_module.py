"""The Python module loads and knows its version."""

import re
import sys

import fwl
from test_training_process import PROGRAM, run


def test_the_module_knows_its_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", fwl.__version__)


def test_the_module_is_the_command_line_too():
    module = [sys.executable, "-m", "fwl"]
    assert run([*module, "help"]).stdout == run([PROGRAM, "help"]).stdout
    wrong = run([*module, "nonsense"])
    assert wrong.returncode == 2 and "expected a command, got 'nonsense'" in wrong.stderr
