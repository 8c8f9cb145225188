"""The README's Python example runs as it stands, and its results are those of the result files."""

import re
from pathlib import Path


ROOT = Path(__file__).resolve().parents[2]


def test_the_results_are_lines_of_the_result_files():
    known = {line for path in ROOT.glob("results/*/*.md") for line in path.read_text().splitlines()}
    rows = re.findall(r"^\| \S+ \| \d+(?: \| [\d,]+ \| \d+\.\d{4}|\.\d{3}) .*$", (ROOT / "README.md").read_text(), re.M)
    assert rows and all(row in known for row in rows), [row for row in rows if row not in known]


def test_the_readme_example_runs():
    readme = (ROOT / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", readme, re.S)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
