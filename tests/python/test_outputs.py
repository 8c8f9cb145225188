"""Outputs: what is replaced, what is kept, and what is never written to; errors of standard output."""

import os
import socket
import stat
import subprocess
import time

import pytest
from test_training_process import PROGRAM, ROOT, run


def tokenize(out, text=ROOT / "README.md", **options):
    return run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", out, text], **options)


def one_line(result, *parts):
    assert result.returncode == 1, result
    lines = result.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("fwl: ") and "internal error" not in lines[0], result.stderr
    for part in parts:
        assert str(part) in lines[0], lines[0]


def make_fifo(path):
    os.mkfifo(path)


def make_socket(path):
    socket.socket(socket.AF_UNIX).bind(str(path))


def make_device(path):
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")


def make_folder(path):
    path.mkdir()


@pytest.mark.parametrize("make, kind", [(make_fifo, "a FIFO"), (make_socket, "a socket"), (make_device, "a device"),
                                        (make_folder, "a folder")])
@pytest.mark.parametrize("through_link", [False, True])
def test_only_regular_files_are_replaced(tmp_path, make, kind, through_link):
    target = out = tmp_path / "out"
    make(target)
    if through_link:
        out = tmp_path / "link"
        out.symlink_to("out")
    before = target.lstat().st_mode
    one_line(tokenize(out), out, "expected a regular file or a new name", kind)
    assert target.lstat().st_mode == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"out", out.name})


def test_a_link_is_followed_to_its_target(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "here").symlink_to("middle")
    (tmp_path / "middle").symlink_to("real/target.tokens")
    for _ in range(2):  # the target is new, then there
        assert tokenize(tmp_path / "here").returncode == 0
        assert (tmp_path / "here").is_symlink() and (tmp_path / "middle").is_symlink()
        assert (tmp_path / "real/target.tokens").read_bytes().startswith(b"FWLTOKEN")
    (tmp_path / "loop").symlink_to("loop")
    one_line(tokenize(tmp_path / "loop"), tmp_path / "loop")


def test_mode_and_owner_are_kept(tmp_path):
    out = tmp_path / "out"
    for mode in (0o600, 0o664):
        out.write_text("old")
        out.chmod(mode)
        if os.geteuid() == 0:
            os.chown(out, 1234, 5678)
        assert tokenize(out).returncode == 0
        assert stat.S_IMODE(out.stat().st_mode) == mode
        if os.geteuid() == 0:
            assert (out.stat().st_uid, out.stat().st_gid) == (1234, 5678)
    assert tokenize(tmp_path / "new", preexec_fn=lambda: os.umask(0o027)).returncode == 0
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_partial_files_of_killed_runs_are_removed(tmp_path):
    for name in ("out.partial.1", "out.partial.4194304", "out.partial.abc123"):
        (tmp_path / name).write_text("half")
    (tmp_path / "other.partial.1").write_text("of another file")
    assert tokenize(tmp_path / "out").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.partial.1", "out"]


def test_a_killed_run_leaves_nothing(words_model, tmp_path):
    base, text, _ = words_model
    folder, long_text = tmp_path / "temporary", tmp_path / "long.txt"
    folder.mkdir()
    long_text.write_text(text.read_text() * 400)
    process = subprocess.Popen([PROGRAM, "perplexity", "--model", base, "--text", long_text, "--threads", "1"],
                               env=os.environ | {"TMPDIR": str(folder)}, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    assert process.stdout.read(1)  # the text is tokenized, its tokens are read
    seen = list(folder.iterdir())
    process.kill()
    process.wait()
    assert not seen and not list(folder.iterdir())


def test_outputs_are_never_inputs(words_model, tmp_path):
    base, text, tokens = words_model
    nll, link, hard = tmp_path / "text.nll", tmp_path / "link", tmp_path / "hard"
    score = [PROGRAM, "perplexity", "--model", base, "--tokens", tokens, "--max-tokens", "64"]
    assert run([*score, "--save-nll", nll]).returncode == 0
    link.symlink_to(text)
    os.link(text, hard)
    page = [PROGRAM, "report", nll, "--out"]
    commands = [
        ([PROGRAM, "vocabulary", text, "--out", text], text),
        ([PROGRAM, "vocabulary", text, "--out", link], text),
        ([PROGRAM, "vocabulary", tmp_path, "--extension", ".txt", "--out", hard], text),
        ([PROGRAM, "tokenize", "--tokenizer", base / "words.vocab", text, "--out", base / "words.vocab"],
         base / "words.vocab"),
        ([PROGRAM, "tokenize", "--tokenizer", base / "words.vocab", text, "--out", text], text),
        ([*score, "--save-nll", tokens], tokens),
        ([*score, "--save-nll", base / "model.safetensors"], base / "model.safetensors"),
        ([*page, nll], nll),
        ([*page, tmp_path / "a.html", "--picture", nll], nll),
        ([*page, tmp_path / "a.html", "--picture", tmp_path / "a.html"], None),
        ([PROGRAM, "read", "--model", base, "--session", text, text], text),
        ([PROGRAM, "generate", "--model", base, "--session", base / "model.safetensors", "-p", "w1"],
         base / "model.safetensors"),
    ]
    for command, victim in commands:
        before = victim and victim.read_bytes()
        result = run(command)
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, (command, result.stderr)
        assert "an output" in result.stderr, (command, result.stderr)
        assert victim is None or victim.read_bytes() == before, command


COMMANDS = [["help"], ["version"], ["train", "--help"], ["train", "--out", "{out}", "--print-config"], ["inspect", "{base}"],
            ["inspect", "{tokens}", "--json"],
            ["perplexity", "--model", "{base}", "--tokens", "{tokens}", "--max-tokens", "64"],
            ["generate", "--model", "{base}", "-p", "w1", "-n", "4"],
            ["tokenize", "--tokenizer", "bytes", "--out", "{out}", "{text}"], ["man"], ["completion", "bash"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_errors_of_standard_output_are_noticed(words_model, tmp_path, command):
    base, text, tokens = words_model
    places = {"base": base, "text": text, "tokens": tokens, "out": tmp_path / "out.tokens"}
    arguments = [PROGRAM, *(part.format(**places) for part in command)]
    with open("/dev/full", "w") as full:
        result = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    one_line(result, "standard output: cannot write: No space left on device")
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = subprocess.run(arguments, stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write_end)
    one_line(result, "standard output: cannot write: Broken pipe")


def test_a_long_run_ends_soon_after_its_reader(words_model, tmp_path):
    base, *_ = words_model
    process = subprocess.Popen([PROGRAM, "generate", "--model", base, "-p", "w1", "-n", "1000000", "--ignore-end"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)
    process.stdout.close()
    started = time.monotonic()
    assert process.wait(timeout=30) == 1 and time.monotonic() - started < 10
    assert b"Broken pipe" in process.stderr.read()


def test_a_fifo_as_input_does_not_block(words_model, tmp_path):
    base, text, tokens = words_model
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for command in (["inspect", fifo], ["tokenize", "--tokenizer", fifo, "--out", tmp_path / "o", text],
                    ["perplexity", "--model", base, "--tokens", fifo], ["perplexity", "--model", base, "--text", fifo],
                    ["generate", "--model", base, "--file", fifo], ["generate", "--model", fifo, "-p", "w"],
                    ["generate", "--model", base, "--session", fifo, "-p", "w"], ["train", "--config", fifo],
                    ["session", "show", fifo], ["report", fifo, "--out", tmp_path / "r.html"]):
        result = subprocess.run([PROGRAM, *command], capture_output=True, text=True, timeout=20)
        one_line(result, fifo)
