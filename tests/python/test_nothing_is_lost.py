"""What was said and read is on disk: after every turn, after signals and errors; reading goes on where it stopped."""

import signal
import subprocess
import sys
import time

import pytest
from test_training_process import PROGRAM, ROOT, run

sys.path.insert(0, str(ROOT / "tests/hostile"))
from tiny_model import gguf_bytes  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / "m.gguf"
    path.write_bytes(gguf_bytes())
    return path


def start(*arguments):
    return subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_turn_of_chat_survives_the_end_of_the_program(model, tmp_path, end):
    session = tmp_path / "me.session"
    chat = start("chat", "-m", model, "--session", session, "--threads", "1", "-n", "4", "--temp", "0")
    chat.stdin.write(b"hello\n")
    chat.stdin.flush()
    printed = b""
    while chat.poll() is None and printed.count(b"> ") < 2:  # the prompt after the answer
        printed += chat.stdout.read(1)
    chat.send_signal(end)
    chat.wait(timeout=30)
    whole = tmp_path / "whole.session"
    chat = run([PROGRAM, "chat", "-m", model, "--session", whole, "--threads", "1", "-n", "4", "--temp", "0"], input="hello\n")
    assert chat.returncode == 0, chat.stderr
    assert session.read_bytes() == whole.read_bytes()


def test_an_error_in_chat_does_not_end_the_conversation(model, tmp_path):
    session = tmp_path / "me.session"
    lines = "hello\n/save /no/such/folder/x\nagain\n"
    chat = run([PROGRAM, "chat", "-m", model, "--session", session, "--threads", "1", "-n", "4", "--temp", "0"], input=lines)
    assert chat.returncode == 1 and "/no/such/folder/x" in chat.stderr
    whole = tmp_path / "whole.session"
    run([PROGRAM, "chat", "-m", model, "--session", whole, "--threads", "1", "-n", "4", "--temp", "0"], input="hello\nagain\n")
    assert session.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_reading_goes_on_where_a_signal_stopped_it(model, tmp_path, end):
    text, other = tmp_path / "long.txt", tmp_path / "other.txt"
    text.write_text("".join(f"the number {index} and the other {index * index}\n" for index in range(150)))
    other.write_text("the end\n")
    session, whole = tmp_path / "a.session", tmp_path / "whole.session"
    read = ["read", "-m", str(model), "--threads", "1", "--save-every", "512", "--session-precision", "fp32", "--session"]
    reading = start(*read, session, other, text)
    while reading.poll() is None and not session.exists():
        time.sleep(0.01)
    time.sleep(0.1)
    reading.send_signal(end)
    code = reading.wait(timeout=60)
    assert code in (0, 130, -end), reading.stderr.read()
    again = run([PROGRAM, *read, session, other, text])
    assert again.returncode == 0, again.stderr
    assert code == 0 or "other.txt: read before" in again.stderr
    assert run([PROGRAM, *read, whole, other, text]).returncode == 0
    assert session.read_bytes() == whole.read_bytes()
    assert "read before" in run([PROGRAM, *read, whole, other]).stderr
    assert "read before" not in run([PROGRAM, *read, whole, "--again", other]).stderr
