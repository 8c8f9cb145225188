"""README and results say what the result files say, the examples run or compile, the shipped adapters were tested."""

import hashlib
import json
import re
from pathlib import Path


ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
METHODS = {"static": "static", "dynamic evaluation (SGD, tuned)": "dynamic-sgd", "fast weights, as in the paper": "fwl",
           "fast weights, gradients at chunk boundaries": "boundary"}


def rows_of(name):
    table = json.loads((ROOT / f"results/here/{name}.json").read_text())
    return {row["result"]["method"]: row["result"]["bits_per_byte"] for row in table["rows"] if row["seed"] == 0}


def test_the_table_is_that_of_the_result_files():
    tables = [rows_of("enwik8-sparse"), rows_of("enwik8-xl")]
    for label, method in METHODS.items():
        cells = re.search(rf"^\| {re.escape(label)} \| ([^|]+) \| ([^|]+) \|", README, re.M).groups()
        assert [cell.strip("*") for cell in cells] == [f"{table[method]:.3f}" for table in tables], label


def test_the_steps_are_those_of_the_run_records():
    header = next(line for line in README.splitlines() if line.startswith("| enwik8 test"))
    for table, shown in zip(("enwik8-sparse", "enwik8-xl"), re.findall(r"(\d+) steps", header), strict=True):
        record = (ROOT / f"results/here/{table}-boundary-0.jsonl").read_text().splitlines()[0]
        assert json.loads(record)["config"]["run"]["steps"] == int(shown)


def test_the_table_of_all_methods_is_the_summary():
    page = (ROOT / "results/README.md").read_text().splitlines()
    for table in ("here/summary.md", "blocks/summary.md", "blocks-trials/smollm2-blocks-valid.md"):
        lines = (ROOT / "results" / table).read_text().splitlines()
        assert all(line in page for line in lines if line.startswith("|")), table


def test_the_shipped_adapters_are_those_that_were_tested():
    results = [path.read_text() for path in ROOT.glob("results/*/*-books-*.json")]
    adapters = list(ROOT.glob("adapters/*/adapter.safetensors"))
    assert adapters
    for adapter in adapters:
        digest = hashlib.sha256(adapter.read_bytes()).hexdigest()
        assert any(f"+sha256:{digest}" in result for result in results), adapter


def perplexities(path):
    result = json.loads((ROOT / "results/adapter" / path).read_text())["result"]
    return [f"{method['perplexity']:.2f}" for method in result["methods"]]


def test_the_adapters_say_the_perplexities_of_both_contexts():
    for adapter, row in (("smollm2-135m", "fast-only"), ("smollm2-135m-books", "boundary")):
        text = (ROOT / f"adapters/{adapter}/README.md").read_text()
        assert "| base, 8,192 | this layer, 8,192 | base, 2,048 | this layer, 2,048 |" in text
        for label, name in (("four held-out books", "books"), ("Wikipedia (WikiText-103 test)", "wikipedia"),
                            ("Python's reference", "reference")):
            cells = re.search(rf"^\| {re.escape(label)} \| (.*) \|$", text, re.M).group(1).split(" | ")
            short = [*perplexities(f"smollm2-{name}-base-0.json"), *perplexities(f"smollm2-{name}-{row}-0.json")]
            long = [perplexities(f"context-8192/{name}-fast-only.json")[0], perplexities(f"context-8192/{name}-{row}.json")[1]]
            assert cells == [*long, *short], (adapter, label)  # without fast weights, fast-only is the base


def test_the_blocks_say_the_perplexities_of_their_records():
    texts = {path: path.read_text() for path in (ROOT / "adapters/smollm2-135m-blocks/README.md", ROOT / "README.md")}
    for label, name in (("four held-out books", "books"), ("Python's reference", "reference")):
        expected = [perplexities(f"../blocks/smollm2-{name}-{row}.json")[0]
                    for row in ("base-0", "blocks-0", "trained-1", "dynamic-sgd-0")]
        for path, text in texts.items():
            cells = re.search(rf"^\| {re.escape(label)} \| (.*) \|$", text, re.M).group(1).split(" | ")
            assert cells == expected, (path, label)


def test_the_readme_example_runs():
    examples = re.findall(r"```python\n(.*?)```", README, re.S)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})


def test_the_cpp_example_is_part_of_the_program_that_the_build_makes():
    examples = re.findall(r"```c\+\+\n(.*?)```", README, re.S)
    program = (ROOT / "examples/read_text.cpp").read_text()
    assert examples and all(example in program for example in examples)


def test_every_link_leads_to_a_file():
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    for page in pages + [path for folder in ("docs", "results", "adapters") for path in (ROOT / folder).rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_perplexities_at_full_context_are_those_of_the_records():
    page = (ROOT / "results/README.md").read_text()
    for label, text in (("four held-out books", "books"), ("Wikipedia", "wikipedia"), ("Python's reference", "reference")):
        row = re.findall(rf"^\| {label} \| (.*) \|$", page[page.index("| 8,192-token windows"):], re.M)[0].split(" | ")
        records = [json.loads((ROOT / f"results/adapter/context-8192/{text}-{name}.json").read_text())["result"]["methods"]
                   for name in ("fast-only", "boundary")]
        (base, fast_only), (slow, boundary) = ([f"{method['perplexity']:.2f}" for method in methods] for methods in records)
        assert row == [base, slow, boundary, fast_only]


def test_every_source_file_that_the_docs_name_exists():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]:
        for path in re.findall(r"\b(?:src|tests|scripts|benchmarks|config|examples)/[\w/.-]+\w", page.read_text()):
            assert (ROOT / path).exists(), f"{page.name}: {path}"
