"""`fwl fewshot` and fwl.few_shot: the same answers, and what is said of wrong files."""

import json

import fwl
import pytest
from test_training_process import PROGRAM, run
from tiny_gguf import write_tiny_gguf

EXAMPLES = [{"prompt": f"Colour of {thing}:", "answer": f" {colour}"}
            for thing, colour in (("grass", "green"), ("blood", "red"), ("leaves", "green"))]
QUESTIONS = [{"prompt": f"Colour of {thing}:", "choices": [" green", " red", " r"], "answer": answer}
             for thing, answer in (("grass", " green"), ("blood", " red"))]


@pytest.fixture
def files(tmp_path):
    for name, lines in (("examples", EXAMPLES), ("questions", QUESTIONS)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def command(files, *flags):
    model = write_tiny_gguf(files / "tiny.gguf")
    return run([PROGRAM, "fewshot", "--model", model, "--examples", files / "examples", "--questions", files / "questions",
                "--threads", "1", *flags])


@pytest.mark.parametrize("by_length", [False, True])
def test_the_command_and_the_function_give_the_same_answers(files, by_length):
    places = ["none", "context", "weights", "both"]
    made = command(files, "--blocks.at", "all", "--passes", "3", "--json", "--examples-in", *places,
                   *(["--by-length"] if by_length else []))
    assert made.returncode == 0, made.stderr
    rows = json.loads(made.stdout)["rows"]
    model = fwl.open_model(str(files / "tiny.gguf"))
    tokenizer = fwl.open_tokenizer(str(files / "tiny.gguf"))
    for place, row in zip(places, rows, strict=True):
        learning = fwl.with_method(model, "blocks", {"at": "all"})
        ours = fwl.few_shot(learning, tokenizer, EXAMPLES, QUESTIONS, examples_in=place, passes=3, by_length=by_length)
        assert ours["chosen"] == row["chosen"] and ours["right"] == row["right"]
        assert ours["examples_in_context"] == row["examples_in_context"] == (3 if place in ("context", "both") else 0)


def test_the_table_has_a_row_for_every_place(files):
    shown = command(files, "--examples-in", "none", "context").stdout.splitlines()
    assert shown[0] == "3 examples, 2 questions"
    assert shown[2].startswith("none") and shown[3].startswith("context") and len(shown) == 4


def test_wrong_files_and_places_are_one_line(files):
    def error(*flags):
        result = command(files, *flags)
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr
        return result.stderr

    assert "expected a model with fast weights, got one without" in error("--examples-in", "weights")
    assert "expected none, context, weights or both, got 'mind'" in error("--examples-in", "mind")
    (files / "questions").write_text(json.dumps(EXAMPLES[0]) + "\n")
    assert "questions: expected choices in every line, got a line without" in error()
    (files / "examples").write_text("{}\n")
    assert "examples:1: expected the field prompt, got none" in error()
