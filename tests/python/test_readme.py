"""The README's Python example runs as it stands."""

import re
from pathlib import Path


def test_the_readme_example_runs():
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", readme, re.S)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
