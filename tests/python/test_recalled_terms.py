"""Names and terms from before the window, as fwl analyze and the report count them, against a count by definition."""

import json
import math
import re

import pytest
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from test_clear_errors import with_checksum
from test_training_process import PROGRAM, ROOT, run
from tiny_gguf import attach_tiny_adapter, write_tiny_gguf

WINDOW = 256
TEXT = ("The kingdom of Zambrovia lies behind the mountains, and nobody there had ever seen the ocean. "
        + "Meanwhile other people told other stories about trains, bread, rivers and winter evenings. " * 50) * 3


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    """A text of bytes in windows of 256; some losses are made small by hand, so that words count as predicted."""
    folder = tmp_path_factory.mktemp("terms")
    (folder / "text.txt").write_text(TEXT)
    model = write_tiny_gguf(folder / "tiny.gguf", context=WINDOW)
    adapter = attach_tiny_adapter(PROGRAM, model, ROOT / "CHANGELOG.md", folder / "adapter")
    assert run([PROGRAM, "tokenize", "--tokenizer", model, "--out", folder / "text.tokens", folder / "text.txt"]).returncode == 0
    scored = run([PROGRAM, "perplexity", "--model", model, "--adapter", adapter, "--tokens", folder / "text.tokens",
                  "--together", "--save-nll", folder / "plain.nll", "--json", "--threads", "1"])
    assert scored.returncode == 0, scored.stderr
    return folder, model, json.loads(scored.stdout)


def with_predicted(folder, words_of_static, words_of_fwl):
    """The losses, with a loss of nearly nothing for every token of these words."""
    tensors = load_file(folder / "plain.nll")
    spans = token_spans()
    for method, words in (("static", words_of_static), ("fwl", words_of_fwl)):
        nll = tensors[f"nll.{method}"]
        nll.fill_(2.0)
        for word in words:
            for match in re.finditer(rf"\b{word}\b", TEXT):
                for token, (start, end) in enumerate(spans):
                    if start < match.end() and end > match.start() and token > 0:
                        nll[token - 1] = 0.001
    with safe_open(folder / "plain.nll", framework="pt") as file:
        metadata = {**file.metadata(), "fwl_checksum": "0" * 64}
    made = folder / "made.nll"
    save_file(tensors, made, metadata=metadata)
    made.write_bytes(with_checksum(made.read_bytes()))
    return made


def token_spans():
    """Bytes of each token: every byte is one, but "th" is one too."""
    spans, place = [], 0
    while place < len(TEXT):
        size = 2 if TEXT[place:place + 2] == "th" else 1
        spans.append((place, place + size))
        place += size
    return spans


def terms_by_definition(predicted_before, predicted_after):
    spans = token_spans()
    token_at = {place: token for token, (start, end) in enumerate(spans) for place in range(start, end)}
    last, times, counts = {}, {}, {"terms": 0, "before_predicts": 0, "after_predicts": 0, "gained": 0, "lost": 0}
    for words, match in enumerate(re.finditer(r"\w+", TEXT)):
        word, first, final = match.group(), token_at[match.start()], token_at[match.end() - 1]
        window = max(0, first - 1) // WINDOW * WINDOW
        if word in last and last[word] < window and len(word) >= 4 and times[word] * 500 < words:
            before, after = word in predicted_before, word in predicted_after
            counts["terms"] += 1
            counts["before_predicts"] += before
            counts["after_predicts"] += after
            counts["gained"] += after and not before
            counts["lost"] += before and not after
        last[word], times[word] = final, times.get(word, 0) + 1
    return counts


def analyze(losses, model, folder, *flags):
    result = run([PROGRAM, "analyze", f"{losses}:static", f"{losses}:fwl", "--tokens", folder / "text.tokens", "--tokenizer",
                  model, *flags])
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_terms_are_counted_as_defined(losses):
    folder, model, result = losses
    assert result["context"] == WINDOW
    made = with_predicted(folder, {"mountains"}, {"Zambrovia", "kingdom"})
    terms = json.loads(analyze(made, model, folder, "--terms", "--json"))["terms"]
    expected = terms_by_definition({"mountains"}, {"Zambrovia", "kingdom"})
    assert expected["gained"] > 0 and expected["lost"] > 0
    assert {key: len(value) if isinstance(value, list) else value for key, value in terms.items()} == expected
    assert {term["word"] for term in terms["gained"]} == {"Zambrovia", "kingdom"}
    assert terms["gained"][0]["after"] == pytest.approx(math.exp(-0.009), abs=5e-3)


def test_examples_are_shown_and_are_in_the_report(losses):
    folder, model, _ = losses
    made = with_predicted(folder, {"mountains"}, {"Zambrovia"})
    shown = analyze(made, model, folder, "--terms")
    assert "[Zambrovia]" in shown and "predicted by static alone" in shown and "gained most" not in shown
    assert "gained most" in analyze(made, model, folder)
    page = run([PROGRAM, "report", made, "--tokens", folder / "text.tokens", "--tokenizer", model, "--out",
                folder / "page.html"])
    assert page.returncode == 0, page.stderr
    html = (folder / "page.html").read_text()
    assert "<h2>Names and terms from before the window</h2>" in html and "<mark>Zambrovia</mark>" in html


def test_one_pass_for_both_methods_has_no_times(losses):
    folder, model, result = losses
    assert all(method[key] is None for method in result["methods"] for key in ("seconds", "tokens_per_second", "peak_bytes"))
    assert result["methods"][1]["difference"]["nll"] != 0
    page = run([PROGRAM, "report", folder / "plain.nll", "--out", folder / "plain.html"])
    assert page.returncode == 0 and "times the time" not in (folder / "plain.html").read_text()
    adapter = folder / "adapter/model"
    command = [PROGRAM, "perplexity", "--model", model, "--adapter", adapter, "--tokens", folder / "text.tokens", "--max-tokens",
               "200"]
    together = run([*command, "--together"]).stdout.splitlines()
    assert together[-2].split()[8:11] == ["-", "-", "-"], together
    apart = json.loads(run([*command, "--method", "static", "fwl", "--json"]).stdout)["methods"]
    assert all(method["tokens_per_second"] > 0 for method in apart)
