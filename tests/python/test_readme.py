"""The README's Python example runs as it stands, its results and the shipped adapters are those of the result files."""

import hashlib
import re
from pathlib import Path


ROOT = Path(__file__).resolve().parents[2]


def test_the_results_are_lines_of_the_result_files():
    known = {line for path in ROOT.glob("results/*/*.md") for line in path.read_text().splitlines()}
    rows = re.findall(r"^\| \S+ \| \d+(?: \| [\d,]+ \| \d+\.\d{4}|\.\d{3}) .*$", (ROOT / "README.md").read_text(), re.M)
    assert rows and all(row in known for row in rows), [row for row in rows if row not in known]


def test_the_shipped_adapters_are_those_that_were_tested():
    results = [path.read_text() for path in ROOT.glob("results/adapter/*-books-*.json")]
    adapters = list(ROOT.glob("adapters/*/adapter.safetensors"))
    assert adapters
    for adapter in adapters:
        digest = hashlib.sha256(adapter.read_bytes()).hexdigest()
        assert any(f"+sha256:{digest}" in result for result in results), adapter


def test_the_readme_example_runs():
    readme = (ROOT / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", readme, re.S)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})
