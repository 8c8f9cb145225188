"""What a new user stumbles over: names instead of paths, the wrong kind of file, commands far from home."""

import json
import os
import pty
import re
import subprocess

import pytest
from test_generate import TEMPLATE, trained  # noqa: F401: a fixture
from test_training_process import PROGRAM, ROOT, run
from tiny_gguf import attach_tiny_adapter, write_tiny_gguf

ADAPTER = ROOT / "adapters/smollm2-135m"


def error(*arguments, code=1, **options):
    result = run([PROGRAM, *arguments], **options)
    assert result.returncode == code, result.stderr
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


def test_a_run_is_opened_where_a_model_is_asked_for(trained):
    model = trained[0]
    folder = model.parent
    result = run([PROGRAM, "generate", "--model", folder, "--prompt", "a", "-n", "3", "--temp", "0"])
    assert result.returncode == 0 and f"{folder}: a run; opening {model}" in result.stderr
    assert result.stdout == run([PROGRAM, "generate", "-m", model, "-p", "a", "-n", "3", "--temp", "0"]).stdout


def test_the_wrong_kind_of_model_is_named_for_what_it_is(trained, tmp_path):
    model = trained[0]
    assert "an adapter" in error("generate", "--model", ADAPTER, "--prompt", "a")
    assert "--adapter" in error("generate", "--model", ADAPTER, "--prompt", "a")
    assert "pass a model as --model" in error("generate", "-m", model, "--adapter", model, "--prompt", "a")
    assert "did you mean smollm2?" in error("generate", "--model", "smolm2", "--prompt", "a")
    assert "did you mean smollm2-135m?" in error("generate", "-m", model, "--adapter", "smollm2-135", "--prompt", "a")
    (tmp_path / "record.jsonl").write_text("")
    assert "--resume" in error("generate", "--model", tmp_path, "--prompt", "a")


def test_an_adapter_is_found_by_its_name_from_anywhere(trained, tmp_path):
    result = run([PROGRAM, "generate", "-m", trained[0], "--adapter", "smollm2-135m", "--prompt", "a"], cwd=tmp_path)
    assert result.returncode == 1 and result.stderr.startswith("smollm2-135m: /")
    assert "has its own layer" in result.stderr


def test_every_command_has_the_context_of_the_model_and_says_so(tmp_path):
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    adapter = attach_tiny_adapter(PROGRAM, model, ROOT / "CHANGELOG.md", tmp_path / "run")  # in windows of 64
    (tmp_path / "text").write_text("the whole story " * 20)
    opened = ["--model", model, "--adapter", adapter, "--threads", "1"]

    def result(*arguments):
        made = run([PROGRAM, *arguments, *opened, "--json"])
        assert made.returncode == 0, made.stderr
        return json.loads(made.stdout)

    assert result("perplexity", "--text", tmp_path / "text")["context"] == 4096
    assert result("tune", "--text", tmp_path / "text", "--method", "test-time", "--points", "2", "--rounds", "1")["context"] == 4096
    assert result("read", "--session", tmp_path / "a.session", tmp_path / "text")["context"] == 4096
    assert result("generate", "--prompt", "a", "-n", "2")["context"] == 4096
    assert result("generate", "--prompt", "a", "-n", "2", "--context", "64")["context"] == 64
    bench = run([PROGRAM, "bench", *opened, "-p", "8", "-n", "2", "-r", "1", "-o", "json"])
    assert {row["context"] for row in json.loads(bench.stdout)} == {4096}
    shown = run([PROGRAM, "perplexity", *opened, "--text", tmp_path / "text"]).stdout
    assert "context: 4096 tokens, the model's own" in shown
    chat = run([PROGRAM, "chat", *opened], input="")
    assert "with a context of 4096 tokens" in chat.stderr


def test_a_known_model_that_cannot_be_fetched_says_how_to_place_it(tmp_path):
    environment = {**os.environ, "FWL_DATA": str(tmp_path), "FWL_PYTHON": "/bin/false"}
    result = run([PROGRAM, "generate", "--model", "smollm2", "--prompt", "a"], env=environment)
    assert result.returncode == 1 and str(tmp_path / "smollm2") in result.stderr


def test_text_where_tokens_are_expected_is_recognised(trained):
    line = error("perplexity", "--model", trained[0], "--tokens", trained[1])
    assert "expected a token file, got text" in line and "fwl tokenize" in line and "--text" in line


def test_the_last_line_of_perplexity_names_every_method(trained):
    command = [PROGRAM, "perplexity", "--model", trained[0], "--text", trained[1], "--max-tokens", "200"]
    last = run([*command, "--method", "static", "fwl"]).stdout.splitlines()[-1]
    assert re.fullmatch(r"Final estimate: PPL static = [\d.]+ \+/- [\d.]+, PPL fwl = [\d.]+ \+/- [\d.]+", last)
    assert re.fullmatch(r"Final estimate: PPL = [\d.]+ \+/- [\d.]+", run(command).stdout.splitlines()[-1])


def test_a_perplexity_per_word_that_says_nothing_is_not_shown(tmp_path):
    text = tmp_path / "text"
    text.write_text("incomprehensibilities " * 100)
    tokens = tmp_path / "text.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", tokens, text]).returncode == 0
    trained = run([PROGRAM, "train", "--data.train", tokens, "--data.tokenizer", "bytes", "--out", tmp_path / "run",
                   "--model.layers", "1", "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32",
                   "--layer.size", "16", "--data.rows", "1", "--data.segment-tokens", "32", "--run.steps", "1"])
    assert trained.returncode == 0, trained.stderr
    command = [PROGRAM, "perplexity", "--model", tmp_path / "run/model", "--tokens", tokens]
    assert json.loads(run([*command, "--json"]).stdout)["methods"][0]["word_perplexity"] is None
    header, row = run(command).stdout.splitlines()[-3:-1]
    assert "per word" in header and " - " in row


def test_reproduce_elsewhere_and_read_without_a_session_say_what_is_missing(trained, tmp_path):
    assert "the project's folder, or pass --plans" in error("reproduce", "tables", cwd=tmp_path)
    assert not any(tmp_path.iterdir())
    assert "did you mean quick?" in error("reproduce", "tables", "--scale", "quik", cwd=ROOT)
    assert "--session FILE is required" in error("read", "--model", trained[0], trained[1], code=2)


def instructed(model, folder):
    """The model with a chat template beside it."""
    copy = folder / "instruct"
    copy.mkdir()
    for file in model.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    (copy / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE, "eos_token": "<end>"}))
    return copy


def test_generate_tells_once_that_a_model_wants_its_template(trained, tmp_path):
    model = instructed(trained[0], tmp_path)
    command = [PROGRAM, "generate", "--model", model, "--prompt", "models", "-n", "5", "--json"]
    plain, chat = run([*command, "--samples", "2"]), run([*command, "--chat"])
    assert plain.stderr.count("--chat applies its template") == 1
    assert chat.returncode == 0 and "template" not in chat.stderr
    assert json.loads(chat.stdout)["prompt_tokens"] == len("<user>models\n<assistant>")
    assert "a chat template" in error("generate", "--model", trained[0], "--prompt", "a", "--chat")


def test_chat_in_a_terminal_edits_lines_and_keeps_them(trained, tmp_path):
    (tmp_path / "template").write_text(TEMPLATE)
    main, other = pty.openpty()
    process = subprocess.Popen([PROGRAM, "chat", "--model", trained[0], "--template", tmp_path / "template", "-n", "3"],
                               stdin=other, stdout=other, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "FWL_DATA": str(tmp_path), "TERM": "xterm"})
    os.close(other)
    os.write(main, b"/nosucX\x7fh\n/exit\n")  # X is taken back
    shown = b""
    try:
        while part := os.read(main, 4096):
            shown += part
    except OSError:  # the other end is closed
        pass
    notes = process.communicate(timeout=60)[1]
    assert process.returncode == 0 and "/nosuch: unknown command" in notes, (notes, shown)
    assert "/nosuch" in (tmp_path / "chat_history").read_text()
