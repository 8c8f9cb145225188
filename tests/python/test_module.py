"""The Python module loads and knows its version."""

import re

import fwl


def test_the_module_knows_its_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", fwl.__version__)
