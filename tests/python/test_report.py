"""fwl report: the page is whole, safe and self-contained, and its numbers are those of the files."""

import json
import re
import shlex
import tomllib
from html.parser import HTMLParser

import pytest
from safetensors import safe_open

from test_perplexity import perplexity
from test_training_process import PROGRAM, ROOT, TINY, run

VOID = {"meta", "br", "link", "img", "hr", "input"}
MARKUP = '<script>alert("1")</script> & <b>bold</b> '


class Page(HTMLParser):
    """Checks that tags balance; keeps the rows of tables, the texts of some elements, and every attribute."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.attributes, self.tags, self.texts = [], [], [], [], {}
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append((tag, dict(attributes).get("class")))

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        tags = [tag for tag, _ in self.open]
        if "td" in tags or "th" in tags:
            self.rows[-1][-1] += data
        for key in self.open:
            self.texts[key] = self.texts.get(key, "") + data


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A tiny run, and what two methods make of a text that is full of markup and broken UTF-8."""
    folder = tmp_path_factory.mktemp("report")
    text, tokens = folder / "text.txt", folder / "text.tokens"
    text.write_bytes((MARKUP * 30).encode() + b"\xff\xfe caf\xc3\xa9 \x00" + (ROOT / "README.md").read_bytes()[:600])
    assert run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", tokens, text]).returncode == 0
    trained = run([PROGRAM, "train", "--data.train", tokens, "--data.valid", tokens, "--out", folder / "a<run>", *TINY,
                   "--run.steps", "30", "--run.valid-every", "10", "--run.log-every", "1", "--optimizer.lr", "1e-2"])
    assert trained.returncode == 0, trained.stderr
    result = perplexity(folder / "a<run>/model", "--tokens", tokens, "--method", "static", "fwl", "--save-nll",
                        folder / "losses.nll")
    (folder / "result.json").write_text(json.dumps(result))
    return folder, result


def report(*flags, out):
    made = run([PROGRAM, "report", *map(str, flags), "--out", out])
    assert made.returncode == 0, made.stderr
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(study):
    folder, _ = study
    tokens = folder / "text.tokens"
    return report(folder / "a<run>", folder / "result.json", folder / "losses.nll", "--train-tokens", tokens,
                  "--tokens", tokens, "--tokenizer", "bytes", "--title", "A <b> title", out=folder / "report.html")


def number(text):
    return float(text.split()[0].replace(",", "").replace("−", "-"))


def test_the_page_is_balanced_and_asks_for_nothing(page):
    parsed = Page(page)
    assert not re.search(r"https?:|url\(|@import|//", page.split("<section>")[0] + page.split("</main>")[1])
    assert not {"src", "href", "srcset", "action"} & {name for name, _ in parsed.attributes}
    assert parsed.tags.count("script") == 1 and not {"link", "img", "iframe"} & set(parsed.tags)
    assert ("name", "viewport") in parsed.attributes and "prefers-color-scheme: dark" in page and "@media print" in page


def test_the_table_has_the_numbers_of_the_result(page, study):
    folder, result = study
    rows = {row[0]: row for row in Page(page).rows if len(row) == 10}
    assert set(rows) == {"method", "static", "fwl"}  # once, though given as JSON and with its losses
    for method in result["methods"]:
        row = rows[method["method"]]
        assert number(row[1]) == method["tokens"]
        assert number(row[2]) == pytest.approx(method["nll"], abs=5.1e-5)
        assert number(row[3]) == pytest.approx(method["perplexity"], abs=5.1e-5)
        assert float(row[3].split("±")[1]) == pytest.approx(method["perplexity_error"], abs=5.1e-4)
        assert number(row[4]) == pytest.approx(method["bits_per_byte"], abs=5.1e-5)
        assert number(row[7]) == pytest.approx(method["tokens_per_second"], abs=0.51)
    difference = result["methods"][1]["difference"]
    shown = [number(part) for part in re.findall(r"[+−][\d.]+", rows["fwl"][5])]
    assert shown == pytest.approx([difference["nll"], difference["low"], difference["high"]], abs=5.1e-5)
    assert rows["static"][5] == "–"


def test_the_curves_and_the_three_plots_are_there(page):
    labels = [value for name, value in Page(page).attributes if name == "aria-label"]
    assert labels == ["training and validation loss by step", "step sizes by step", "gain by position in the document or window",
                      "gain by occurrences in training", "gain by occurrences before in it"]
    assert "whisker" in page.split("</style>")[1] and not re.search(r"\b(nan|inf)\b", page.split("</style>")[1])


def test_text_from_files_is_escaped(page, study):
    parsed = Page(page)
    passage = parsed.texts["div", "passage"]
    assert "<script>" in passage or "<b>" in passage
    assert "<b>bold" not in page and "alert(&quot;1&quot;)" in re.sub(r"</?span[^>]*>", "", page)
    assert "a&lt;run&gt;" in page and "<title>A &lt;b&gt; title</title>" in page
    folder, _ = study
    start = (folder / "text.txt").read_bytes().index(b"\xff")
    broken = report(folder / "losses.nll", "--tokens", folder / "text.tokens", "--tokenizer", "bytes",
                    "--passage-start", start, "--passage-tokens", 60, out=folder / "broken.html")
    assert Page(broken).texts["div", "passage"].startswith("�� café �")


def test_the_settings_and_the_command_make_the_run_again(page, study, tmp_path):
    folder, _ = study
    parsed = Page(page)
    settings, command = parsed.texts["pre", "settings"], shlex.split(parsed.texts["pre", "command"])
    record = folder / "a<run>/record.jsonl"
    before = [json.loads(line) for line in record.read_text().splitlines()]
    assert tomllib.loads(settings) == {key: value for key, value in before[0]["config"].items()}
    for fact in (before[0]["data"]["train"]["hash"], before[0]["environment"]["torch"]):
        assert fact in page
    assert command[0] == "fwl" and command[-2:] == ["--out", str(folder / "a<run>")]
    (tmp_path / "a<run>.toml").write_text(settings)
    again = run([PROGRAM, *command[1:-1], tmp_path / "again"], cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    after = [json.loads(line) for line in (tmp_path / "again/record.jsonl").read_text().splitlines()]
    assert [line.get("loss") for line in after] == [line.get("loss") for line in before]


def test_methods_of_several_files_are_compared_with_the_first_in_pairs(study, tmp_path):
    folder, result = study
    model, tokens = folder / "a<run>/model", folder / "text.tokens"
    for method in ("static", "fwl"):
        perplexity(model, "--tokens", tokens, "--method", method, "--save-nll", tmp_path / f"{method}.nll")
    flags = ["--before", f"{tmp_path}/static.nll:static", "--after", f"{tmp_path}/fwl.nll:fwl"]
    page = report(tmp_path / "static.nll", tmp_path / "fwl.nll", *flags, out=tmp_path / "two.html")
    row = next(row for row in Page(page).rows if row[0] == "fwl")
    difference = result["methods"][1]["difference"]
    shown = [number(part) for part in re.findall(r"[+−][\d.]+", row[5])]
    assert shown == pytest.approx([difference["nll"], difference["low"], difference["high"]], abs=5.1e-5)
    assert page.count("<svg viewBox=\"0 0 440") == 2  # without training data there is no plot by frequency


def test_losses_carry_the_result_that_was_printed(study):
    folder, result = study
    with safe_open(folder / "losses.nll", framework="pt") as losses:
        assert json.loads(losses.metadata()["result"]) == result


def test_what_is_no_run_is_one_clear_line(study, tmp_path):
    folder, _ = study
    garbage, wrong = tmp_path / "garbage", tmp_path / "wrong.json"
    garbage.write_bytes(bytes(range(256)))
    wrong.write_text('{"model": "m", "data_hash": "0", "methods": [{"method": 3}]}')
    tensors = folder / "a<run>/model/model.safetensors"
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    (run_folder / "record.jsonl").write_text('{"event": "step", "loss": 1}\n')
    cases = [([garbage], "something else"), ([tmp_path / "missing"], "No such file"), ([tmp_path], "record.jsonl"),
             ([wrong], "other fields"), ([tensors], "--save-nll"), ([run_folder], "record.jsonl:1"),
             ([folder / "result.json", "--tokens", "x", "--tokenizer", "bytes"], "nothing to compare"),
             ([folder / "losses.nll", "--tokens", folder / "text.tokens"], "--tokenizer"),
             ([folder / "losses.nll", "--after", f"{folder}/losses.nll:none"], "one of fwl, static")]
    for flags, message in cases:
        result = run([PROGRAM, "report", *map(str, flags), "--out", tmp_path / "no.html"])
        assert result.returncode == 1, (flags, result.stderr)
        assert message in result.stderr and len(result.stderr.strip().splitlines()) == 1, result.stderr
        assert not (tmp_path / "no.html").exists()


def test_samples_of_writing_have_their_table(study, tmp_path):
    folder, _ = study
    for adapt in ("write", "off"):
        made = run([PROGRAM, "generate", "--model", folder / "a<run>/model", "--prompt", "weights", "-n", "40", "--samples",
                    "3", "--json", "--adapt", adapt, "--threads", "1"])
        assert made.returncode == 0, made.stderr
        (tmp_path / f"{adapt}.jsonl").write_text(made.stdout)
    lines = [json.loads(line) for line in (tmp_path / "write.jsonl").read_text().splitlines()]
    page = Page(report(tmp_path / "write.jsonl", tmp_path / "off.jsonl", out=tmp_path / "page.html"))
    row = next(row for row in page.rows if row[1:2] == ["write"])
    assert row[2:4] == ["3", "120"]
    assert float(row[5]) == pytest.approx(sum(line["distinct"][1] for line in lines) / 3, abs=6e-4)
    (tmp_path / "bad.jsonl").write_text('{"finish_reason": 1}')
    bad = run([PROGRAM, "report", tmp_path / "bad.jsonl", "--out", tmp_path / "page.html"])
    assert bad.returncode == 1 and len(bad.stderr.splitlines()) == 1
