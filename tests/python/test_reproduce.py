"""fwl reproduce: tables from training to test, as commands that are shown, kept and not run twice."""

import json
import os
import shutil
from xml.etree import ElementTree

from test_training_process import PROGRAM, ROOT, run

CONFIG = """
[model]
layers = 1
hidden_size = 16
heads = 2
ffn_size = 32
block_tokens = 8
[layer]
size = 32
chunk_tokens = 16
[data]
train = "{tokens}"
valid = "{tokens}"
rows = 2
segment_tokens = 64
[run]
steps = 5
"""
PLAN = """
[[table]]
name = "tiny"
config = "{folder}/tiny.toml"
settings = ["optimizer.lr=1e-2"]
seeds = [0, 1]
methods = ["static", "fwl", "boundary", "boundary-off", "short", "bias-only", "test-time", "dynamic-sgd", "dynamic-reset"]
valid = "{tokens}"
test = "{tokens}"
train = "{tokens}"
tokenizer = "bytes"
tuning_tokens = 200
test_tokens = 400
protocol = ["--protocol", "windows", "--context", "64", "--threads", "1"]
[table.method_settings]
fwl = ["objective.slow_share=0.5"]
short = ["layer.chunk_tokens=8", "objective.name=fwl-first-order"]
"""


def test_a_plan_becomes_a_table_with_everything_that_made_it(tmp_path):
    tokens = tmp_path / "text.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", tokens, ROOT / "README.md"]).returncode == 0
    (tmp_path / "tiny.toml").write_text(CONFIG.format(tokens=tokens))
    (tmp_path / "small.toml").write_text(PLAN.format(folder=tmp_path, tokens=tokens))
    command = [PROGRAM, "reproduce", "tables", "--scale", "small", "--plans", tmp_path, "--runs", tmp_path / "runs",
               "--results", tmp_path / "results"]
    one = run([*command, "--only", "tiny-fwl-1"])
    assert one.returncode == 0, one.stderr
    assert [path.name for path in sorted((tmp_path / "results/small").iterdir())] == ["tiny-fwl-1.json",
                                                                                      "tiny-fwl-1.jsonl"]
    assert not (tmp_path / "results/report.html").exists()
    made = run(command)
    assert made.returncode == 0, made.stderr
    commands = [line for line in made.stderr.splitlines() if line.startswith("$ fwl ")]
    assert sum("fwl train" in line for line in commands) == 6  # static, fwl twice, boundary, short, bias-only once; one is there
    assert sum("fwl tune" in line for line in commands) == 3
    assert sum("dynamic-sgd --dynamic.reset" in line for line in commands) == 1  # its test; in tuning --json is between
    table = (tmp_path / "results/small/tiny.md").read_text()
    assert table == made.stdout and table.count("\n| ") == 16 and "2 seeds" in table
    rows = json.loads((tmp_path / "results/small/tiny.json").read_text())["rows"]
    assert [(row["result"]["method"], row["seed"]) for row in rows][:3] == [("static", 0), ("fwl", 0), ("boundary", 0)]
    kept = json.loads((tmp_path / "results/small/tiny-test-time-0.json").read_text())
    assert kept["command"] in "\n".join(commands) and kept["result"]["methods"][0]["method"] == "test-time"
    first = json.loads((tmp_path / "results/small/tiny-boundary-0.jsonl").read_text().splitlines()[0])
    assert first["config"]["layer"]["gradient_at"] == "boundary" and first["config"]["run"]["seed"] == 0
    assert first["config"]["objective"]["slow_share"] == 0
    fwl = json.loads((tmp_path / "results/small/tiny-fwl-0.jsonl").read_text().splitlines()[0])["config"]
    assert fwl["objective"]["slow_share"] == 0.5
    short = json.loads((tmp_path / "results/small/tiny-short-0.jsonl").read_text().splitlines()[0])["config"]
    assert short["layer"]["chunk_tokens"] == 8 and short["objective"]["name"] == "fwl-first-order"
    picture = (tmp_path / "results/small/tiny.svg").read_text()
    ElementTree.fromstring(picture)
    assert picture.count("aria-label") == 3
    assert "passage" in (tmp_path / "results/small/tiny.html").read_text()
    overview = (tmp_path / "results/report.html").read_text()
    assert "<h2>small: tiny</h2>" in overview and "small/tiny.html" in overview and overview.count("aria-label") == 3
    summary = (tmp_path / "results/small/summary.md").read_text().splitlines()
    assert len(summary) == 3 and summary[2].startswith(
        f"| tiny | bits per byte | 5 | {rows[0]['result']['bits_per_byte']:.3f} | ")
    again = run(command)
    commands = [line for line in again.stderr.splitlines() if line.startswith("$ fwl")]
    assert again.stdout == made.stdout and [line.split()[2] for line in commands] == ["report"]
    shutil.copy(tmp_path / "results/small/tiny-speed-0.json", tmp_path / "small-speed.json")
    shutil.rmtree(tmp_path / "runs")  # as after a clone, which has results but no runs
    repeated = run([*command, "--only", "tiny-static-0"])
    assert "fwl train" in repeated.stderr and "fwl perplexity" in repeated.stderr
    loss = f"{rows[0]['result']['nll']:.4f}"
    assert f"tiny-static-0: {loss}, published {loss}, difference +0.0000" in repeated.stderr
    costs = run([*command, "--only", "tiny-speed-0"])
    assert "fwl perplexity" in costs.stderr and (tmp_path / "runs/small/tiny-speed-0.json").exists()
    shutil.copy(tmp_path / "small-speed.json", tmp_path / "runs/small/tiny-speed-0.json")
    (tmp_path / "results/small/tiny.json").unlink()
    finished = run([*command, "--finished"])  # of all rows but one only what is published is at hand
    assert finished.returncode == 0 and "$ fwl" not in finished.stderr
    assert finished.stdout == made.stdout
    (tmp_path / "results/small/tiny-boundary-0.json").unlink()
    assert "| boundary | 0 |" in finished.stdout
    assert "| boundary | 0 |" not in run([*command, "--finished"]).stdout
    published = tmp_path / "results/small/tiny-test-time-0.tune.json"
    tuned = json.loads(published.read_text())
    tuned["result"]["best"] += 1
    published.write_text(json.dumps(tuned))
    repeated = run([*command, "--only", "tiny-test-time-0"])
    assert "difference -1.0000" in repeated.stderr and "fwl train" not in repeated.stderr
    os.utime(tokens)  # other data: tests are made again
    assert "fwl perplexity" in run([*command, "--only", "tiny-static-0"]).stderr
    plan = tmp_path / "small.toml"
    plan.write_text(plan.read_text().replace("optimizer.lr=1e-2", "optimizer.lr=1e-3"))
    older = run([*command, "--finished"]).stderr
    assert "tiny-static-1: was made with optimizer.lr=0.01, the plan has 1e-3" in older and "short" in older
    changed = run([*command, "--only", "tiny-static-0"])
    assert changed.returncode == 1 and "remove the folder" in changed.stderr
    table_file = tmp_path / "results/small/tiny.json"
    table_file.write_text(table_file.read_text().replace('"nll": -', '"nll": null, "was": -'))  # as after a loss of NaN
    plan.write_text(plan.read_text().replace("optimizer.lr=1e-3", "optimizer.lr=1e-2"))
    assert run([*command, "--only", "tiny-static-0"]).returncode == 0


ADAPTER = """
base = "{base}"
text = ["{tokens}"]
valid_text = ["{tokens}"]
cache = "{folder}/cache"
window_tokens = 16
segment_tokens = 64
[layer]
size = 16
chunk_tokens = 8
[run]
steps = 3
"""


def test_adapters_for_a_base_are_compared_with_it_and_share_their_runs(tmp_path, words_model):
    base, _, tokens = words_model
    (tmp_path / "adapter.toml").write_text(ADAPTER.format(base=base, tokens=tokens, folder=tmp_path))
    plan = PLAN.replace("tiny.toml", "adapter.toml").replace('"64"', '"16"').replace('"bytes"', f'"{base}"')
    plan = plan.replace('"bias-only", "test-time"', '"base"').replace("[0, 1]", "[0]")
    first = f'slow_settings = ["layer.segment_tokens=64"]\nruns = "shared"\nbase = "{base}"\n'
    first += 'rates = ["--low", "1e-3", "--high", "1e-2", "--points", "2"]\n'
    plan = plan.replace("config =", first + "config =").format(folder=tmp_path, tokens=tokens)
    (tmp_path / "small.toml").write_text(plan + plan.replace('"tiny"', '"other"'))
    made = run([PROGRAM, "reproduce", "tables", "--scale", "small", "--plans", tmp_path, "--runs", tmp_path / "runs",
                "--results", tmp_path / "results"])
    assert made.returncode == 0, made.stderr
    commands = [line for line in made.stderr.splitlines() if line.startswith("$ fwl ")]
    assert sum("fwl attach" in line for line in commands) == 4  # static, fwl, boundary, short, for both tables
    assert sum("--points 2" in line for line in commands if "fwl tune" in line) == 2  # of the base, once for both
    rows = json.loads((tmp_path / "results/small/other.json").read_text())["rows"]
    losses = {row["result"]["method"]: row["result"]["nll"] for row in rows}
    assert set(losses) == {"static", "fwl", "boundary", "boundary-off", "short", "base", "dynamic-sgd",
                           "dynamic-reset"}
    assert losses["base"] != losses["static"]
    shown = run([PROGRAM, "inspect", tmp_path / "runs/small/shared-boundary-0/best"]).stdout
    assert ": adapter\n" in shown and "layer.gradient_at" in shown and "fast.log_steps" in shown
    assert not any("--adapter" in line for line in commands if "dynamic-sgd" in line and "static" not in line)


def test_a_plan_with_mistakes_is_one_clear_line(tmp_path):
    good = PLAN.format(folder=tmp_path, tokens="text.tokens")
    for text, message in [("x = 1", "[[table]]"), ("[[table]", "TOML"), ("[[table]]\nname = 1", "name"),
                          (good.replace('"boundary"', '"bounday"'), "boundary"), (good.replace("seeds =", "steps = 3\nseeds ="), "steps"),
                          (good + "\nshort-of = []", "short")]:
        (tmp_path / "here.toml").write_text(text)
        result = run([PROGRAM, "reproduce", "tables", "--plans", tmp_path, "--runs", tmp_path, "--results", tmp_path])
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr
        assert message in result.stderr
    assert run([PROGRAM, "reproduce", "chairs"]).returncode == 2
