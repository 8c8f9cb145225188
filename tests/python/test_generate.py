"""Generation: the same text however the prompt came, through sessions on file, and from the command line."""

import json
import subprocess
import sys

import fwl
import pytest
import torch

from test_language_model import NAMES, language_model
from test_perplexity import trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, ROOT, run
from tiny_gguf import write_tiny_gguf

sys.path.insert(0, str(ROOT / "scripts"))
import make_goldens  # noqa: E402

SAMPLED = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.1}


def prompted(model, tokens, lengths, context=None):
    session = model.new_session(**(context or {}))
    for part in tokens.split(lengths, 1):
        model.read(part, session)
    session.seed = 11
    return session


@pytest.mark.parametrize("gradient_at", ["slow", "boundary"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("options", [{"temperature": 0.0, "adapt": "write"}, {**SAMPLED, "adapt": "write"}],
                         ids=["greedy", "sampled"])
def test_the_text_does_not_depend_on_how_the_prompt_came(name, gradient_at, options, tmp_path):
    model, base = language_model(name, gradient_at)
    context = {"context": 16, "long_text": "restart"} if base.context_tokens > 0 else {}
    tokens = torch.randint(0, base.vocabulary_size, (1, 21), generator=torch.Generator().manual_seed(3))
    whole = model.generate(prompted(model, tokens, [21], context), 40, **options)
    assert len(whole) == 40
    for lengths in ([1] * 21, [7, 1, 13]):
        assert model.generate(prompted(model, tokens, lengths, context), 40, **options) == whole
    session = prompted(model, tokens, [21], context)
    text = model.generate(session, 13, **options)
    for part in (1, 26):  # stopped and gone on with twice
        model.save_session(session, str(tmp_path / "a.session"), "model")
        session = model.load_session(str(tmp_path / "a.session"), "model")
        text += model.generate(session, part, **options)
    assert text == whole
    if options["temperature"] > 0:
        other = prompted(model, tokens, [21], context)
        other.seed = 12
        assert model.generate(other, 40, **options) != whole


def test_adaptation_is_used_updated_or_neither():
    model, base = language_model("sparse", "slow")
    tokens = torch.randint(0, base.vocabulary_size, (1, 200), generator=torch.Generator().manual_seed(3))

    def after(reading, writing):
        session = model.new_session()
        model.read(tokens, session, adapt=reading)
        return model.generate(session, 30, adapt=writing, **SAMPLED), session

    off, session = after("write", "off")
    assert off == after("off", "off")[0]
    used, session = after("write", "read")
    assert used != off and session.fast.tokens_read == [199]
    assert after("write", "write")[1].fast.tokens_read == [229]


def test_by_default_a_model_learns_from_the_prompt_and_not_from_its_own_output(trained, tmp_path):
    def fast_tokens(*flags):
        session = tmp_path / "a.session"
        session.unlink(missing_ok=True)
        assert generate(trained[0], "--session", session, "--prompt", "language models", "-n", 40, *flags).returncode == 0
        return json.loads(run([PROGRAM, "session", "show", session, "--json"]).stdout)["fast_tokens"]

    assert fast_tokens() == fast_tokens("--adapt", "prompt") == 14
    assert fast_tokens("--adapt", "write") == 54
    assert fast_tokens("--adapt", "read") == fast_tokens("--adapt", "off") == 0


@pytest.mark.parametrize("name", ["gpt2", "llama-grouped", "llama-tied"])
def test_static_greedy_writing_equals_transformers(name, tmp_path):
    torch.manual_seed(7)
    peer = make_goldens.make_model(*make_goldens.CASES[name])
    peer.save_pretrained(tmp_path)
    model = fwl.LanguageModel(fwl.open_base(str(tmp_path)))
    for seed in range(4):
        prompt = torch.randint(0, peer.config.vocab_size, (1, 9), generator=torch.Generator().manual_seed(seed))
        session = model.new_session()
        model.read(prompt, session)
        expected = peer.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=20, do_sample=False,
                                 eos_token_id=None, pad_token_id=0)
        assert model.generate(session, 20, temperature=0.0) == expected[0, 9:].tolist()


def generate(model, *flags):
    return run([PROGRAM, "generate", "--model", model, "--threads", "1", *map(str, flags)])


def test_a_session_on_file_goes_on_as_if_it_had_never_stopped(trained, tmp_path):
    model, session = trained[0], tmp_path / "a.session"
    exact = ["--session", session, "--session-precision", "fp32"]
    for flags in (["--temperature", "0"], ["--seed", "5"]):
        session.unlink(missing_ok=True)
        whole = generate(model, "--prompt", "language models", "-n", 60, *flags)
        assert whole.returncode == 0, whole.stderr
        parts = generate(model, *exact, "--prompt", "language models", "-n", 25, *flags).stdout[:-1]
        parts += generate(model, *exact, "-n", 35, *flags).stdout[:-1]
        assert parts == whole.stdout[:-1] and len(parts) >= 50


def test_reading_then_writing_equals_one_prompt(trained, tmp_path):
    model, text, _ = trained
    session = tmp_path / "a.session"
    reading = run([PROGRAM, "read", "--model", model, "--threads", "1", "--session", session, "--json",
                   "--session-precision", "fp32", "--save-every", "700", text])
    assert reading.returncode == 0, reading.stderr
    read = json.loads(reading.stdout)
    scored = json.loads(run([PROGRAM, "perplexity", "--model", model, "--threads", "1", "--text", text, "--method", "fwl",
                             "--json"]).stdout)["methods"][0]
    assert read["total"]["tokens"] == scored["tokens"] == read["tokens_read"] - 1
    assert read["total"]["nll"] == pytest.approx(scored["nll"], abs=1e-4)
    after = generate(model, "--session", session, "--temperature", 0, "-n", 50)
    assert after.stdout == generate(model, "--file", text, "--temperature", 0, "-n", 50).stdout


def test_an_empty_text_is_read_as_nothing(trained, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    read = [PROGRAM, "read", "--model", trained[0], "--threads", "1", "--session", tmp_path / "a.session"]
    assert " 0 tokens" in run([*read, empty]).stdout
    assert (tmp_path / "a.session").exists()
    both = run([*read, "--json", empty, trained[1]])
    assert both.returncode == 0, both.stderr
    assert [file["tokens"] > 0 for file in json.loads(both.stdout)["files"]] == [False, True]


def test_flags_of_generate(trained):
    model = trained[0]
    lines = generate(model, "--prompt", "The ", "-n", 20, "--samples", 3, "--json", "--seed", 7).stdout.splitlines()
    samples = [json.loads(line) for line in lines]
    assert [sample["seed"] for sample in samples] == [7, 8, 9]
    assert len({tuple(sample["tokens"]) for sample in samples}) == 3
    assert samples[1]["tokens"] == json.loads(generate(model, "--prompt", "The ", "-n", 20, "--json", "--seed", 8)
                                              .stdout)["tokens"]
    assert samples[0]["finish_reason"] == "length" and samples[0]["prompt_tokens"] == 4
    stop = samples[0]["text"][5:7]
    stopped = json.loads(generate(model, "--prompt", "The ", "-n", 20, "--json", "--seed", 7, "--stop", stop).stdout)
    assert stopped["finish_reason"] == "stop"
    assert stopped["text"] == samples[0]["text"][:samples[0]["text"].index(stop)]
    piped = subprocess.run([PROGRAM, "generate", "--model", model, "--prompt", "-", "-n", "20", "--seed", "7", "--stats",
                            "--show-prompt"], input="The ", capture_output=True, text=True, errors="replace")
    assert piped.stdout == "The " + samples[0]["text"] + "\n" and "tok/s" in piped.stderr
    empty = generate(model, "-n", 5)
    assert empty.returncode == 1 and "a text to continue" in empty.stderr
    assert generate(model, "--prompt", "a", "--file", "b").returncode == 2


def test_session_show_reset_decay_and_copy(trained, tmp_path):
    model, session = trained[0], tmp_path / "a.session"
    generate(model, "--session", session, "--prompt", "language models", "-n", 40, "--adapt", "write")

    def command(*arguments):
        result = run([PROGRAM, "session", *map(str, arguments)])
        assert result.returncode == 0, result.stderr
        return result.stdout

    facts = json.loads(command("show", session, "--json", "--model", model))
    assert facts["tokens_read"] == 55 and facts["fast_tokens"] == 54 and facts["drift"]["W"]["drift"] > 0
    assert "tokens read" in command("show", session) and "drift" in command("show", session, "--model", model)
    command("copy", session, tmp_path / "b.session")
    command("decay", session, "--factor", 0.25)
    decayed = json.loads(command("show", session, "--json"))
    assert decayed["state"]["open.U"] == pytest.approx(0.25 * facts["state"]["open.U"])
    assert json.loads(command("show", tmp_path / "b.session", "--json"))["state"] == facts["state"]
    command("reset", session)
    assert json.loads(command("show", session, "--json"))["state"] == {}
    assert generate(model, "--session", session, "-n", 5).returncode == 0
    assert run([PROGRAM, "session", "shwo", session]).returncode == 2
    assert run([PROGRAM, "session", "copy", session]).returncode == 2


def test_dropping_the_context_keeps_what_was_learned(trained, tmp_path):
    model, text, _ = trained
    session = tmp_path / "a.session"
    reading = run([PROGRAM, "read", "--model", model, "--threads", "1", "--session", session, text])
    assert reading.returncode == 0, reading.stderr
    before = json.loads(run([PROGRAM, "session", "show", session, "--json"]).stdout)
    dropped = run([PROGRAM, "session", "drop-context", session])
    assert dropped.returncode == 0, dropped.stderr
    after = json.loads(run([PROGRAM, "session", "show", session, "--json"]).stdout)
    assert after["state"] == before["state"] and after["fast_tokens"] == before["fast_tokens"] > 0
    assert after["tokens_read"] == after["cached_tokens"] == 0 and after["base_bytes"] < 200 < before["base_bytes"]

    def first_loss(*flags):
        prompt = ["--prompt", text.read_text()[:300], "-n", 1, "--json"]
        return json.loads(generate(model, *prompt, *flags).stdout)["prompt_nll"]

    assert first_loss("--session", session) < first_loss()
    assert run([PROGRAM, "session", "drop-context", text]).returncode == 1


def test_a_session_file_is_smaller_in_bf16_and_q8_and_goes_on_nearly_the_same(tmp_path):
    model = write_tiny_gguf(tmp_path / "tiny.gguf")
    text = (ROOT / "LICENSE").read_text()
    (tmp_path / "text").write_text(text[:3000])

    def read_on(precision):
        session = tmp_path / f"{precision}.session"
        flags = ["--session", session, "--session-precision", precision]
        assert run([PROGRAM, "read", "--model", model, "--threads", "1", *flags, tmp_path / "text"]).returncode == 0
        size = session.stat().st_size
        rest = generate(model, *flags, "--prompt", text[3000:3300], "-n", 1, "--json")
        assert rest.returncode == 0, rest.stderr
        return size, json.loads(rest.stdout)["prompt_nll"]

    (full, exact), (half, near), (quarter, rough) = (read_on(precision) for precision in ("fp32", "bf16", "q8"))
    assert half < 0.55 * full and quarter < 0.32 * full
    whole = json.loads(generate(model, "--prompt", text[:3300], "-n", 1, "--json").stdout)
    assert whole["prompt_tokens"] > 0 and near == pytest.approx(exact, abs=5e-3) and rough == pytest.approx(exact, abs=2e-2)


def damaged(kind, good):
    if kind == "truncated":
        return good[:-20]
    if kind == "a changed number":
        return good[:-8] + bytes([good[-8] ^ 1]) + good[-7:]
    return b"\0" * 100 if kind == "zeros" else b""


@pytest.mark.parametrize("kind", ["truncated", "a changed number", "zeros", "empty"])
def test_a_damaged_session_is_refused_and_left_alone(trained, tmp_path, kind):
    model, session = trained[0], tmp_path / "a.session"
    generate(model, "--session", session, "--prompt", "language models", "-n", 10)
    session.write_bytes(damaged(kind, session.read_bytes()))
    before = session.read_bytes()
    for command in (["generate", "--model", model, "--session", session], ["session", "decay", session],
                    ["session", "show", session]):
        result = run([PROGRAM, *command])
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr
        assert str(session) in result.stderr
    assert session.read_bytes() == before


def test_a_session_of_another_model_is_refused(trained, tmp_path):
    model, session = trained[0], tmp_path / "a.session"
    generate(model, "--session", session, "--prompt", "language models", "-n", 10)
    before = session.read_bytes()
    other = run([PROGRAM, "train", "--data.train", trained[2], "--out", tmp_path / "other", "--threads", "1",
                 "--model.layers", "1", "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32",
                 "--layer.size", "32", "--data.rows", "1", "--data.segment-tokens", "64", "--run.steps", "1"])
    assert other.returncode == 0, other.stderr
    result = generate(tmp_path / "other/model", "--session", session, "-n", 3)
    assert result.returncode == 1 and "made with another model" in result.stderr
    assert session.read_bytes() == before


def test_memory_stays_flat_while_writing(trained):
    def peak(tokens):
        stats = generate(trained[0], "--prompt", "language", "-n", tokens, "--stats", "--ignore-end").stderr
        amount, unit = stats.split("peak memory ")[1].split()
        return float(amount) * {"MB": 1, "GB": 1000}[unit]

    assert peak(4000) < peak(200) + 5


TEMPLATE = """{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""


def chat(model, tmp_path, lines, *flags):
    (tmp_path / "template").write_text(TEMPLATE)
    result = subprocess.run([PROGRAM, "chat", "--model", model, "--template", tmp_path / "template", "-n", "20",
                             "--threads", "1", *map(str, flags)], input="\n".join(lines) + "\n", capture_output=True,
                            text=True, errors="replace", timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout, result.stderr


def test_chat_undoes_saves_and_goes_on(trained, tmp_path):
    model, session = trained[0], tmp_path / "a.session"
    exact = ["--session", session, "--session-precision", "fp32"]
    both, _ = chat(model, tmp_path, ["models", "weights"])
    assert both.count("> ") >= 3
    first, _ = chat(model, tmp_path, ["models"], *exact)
    second, notes = chat(model, tmp_path, ["weights"], *exact)
    assert "Continuing" in notes
    assert first[:-3] + second == both  # each conversation ends with a prompt and a newline
    undone, notes = chat(model, tmp_path, ["models", "/stats", "text", "/undo", "/stats", "weights"])
    assert undone.endswith(both.split("> ", 2)[2]) and "undone" in notes
    before, after = [line for line in notes.splitlines() if "tokens read" in line]
    assert before == after
    forgotten, notes = chat(model, tmp_path, ["models", "/forget", "/undo", "/help", "/save", f"/save {tmp_path}/b"])
    assert "session is cleared" in notes and "no turn" in notes and "/undo" in notes and (tmp_path / "b").exists()
    _, notes = chat(model, tmp_path, ["models", "/stats", "/stat", "/nosuch"])
    assert "tokens read" in notes and "last turn: prompt of " in notes and notes.count("tok/s") == 2 and "drift of the fast weights: U " in notes
    assert "/stat: unknown command; did you mean /stats?" in notes and "/nosuch: unknown command; /help" in notes
    plain = run([PROGRAM, "chat", "--model", model])
    assert plain.returncode == 1 and "a chat template" in plain.stderr
