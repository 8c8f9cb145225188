"""Sessions of fwl serve: they last, survive kills with the same bits, and never leak into each other."""

import contextlib
import fcntl
import json
import struct
import threading
import time

import pytest

from serving import serving
from test_perplexity import trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, run

SECRET = "The code of the safe is 7351-XQ."


@pytest.fixture(scope="module")
def server(trained, tmp_path_factory):
    with serving(trained[0], tmp_path_factory.mktemp("sessions")) as one:
        yield one


def read(server, session, text, **options):
    answer = server.post(f"/v1/sessions/{session}/read", text.encode(), headers={"Content-Type": "text/plain"}, **options)
    assert answer.status == 200, answer.text
    return answer.events


def scored(server, text, session=None):
    choice = server.complete(text, session, max_tokens=0, logprobs=0, echo=True, adapt="read")
    return choice["logprobs"]["token_logprobs"]


@contextlib.contextmanager
def locked(path):
    """Holds the lock as another process of fwl does (src/files/file_lock.h)."""
    lock = path.with_name(path.name + ".lock")
    with open(lock, "w") as file:
        file.write("process 1 on here: python secret")
        file.flush()
        fcntl.fcntl(file, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))  # F_OFD_SETLK
        yield
        lock.unlink()


def show(server, session):
    answer = server.get(f"/v1/sessions/{session}")
    assert answer.status == 200, answer.text
    return answer.json


def test_a_session_goes_on_as_if_it_had_never_stopped(server):
    whole = server.complete("language models", "whole", max_tokens=40, seed=5)["text"]
    parts = server.complete("language models", "parts", max_tokens=15, seed=5)["text"]
    parts += server.complete("", "parts", max_tokens=25)["text"]
    assert parts == whole
    assert server.complete("language models", max_tokens=40, seed=5)["text"] == whole


def test_a_text_is_read_with_two_perplexities(server, trained):
    text = trained[1].read_text()
    events = read(server, "reader", text)
    assert [event["object"] for event in events[:-1]] == ["session.read.progress"] * (len(events) - 1)
    last = events[-1]
    assert last["object"] == "session.read.done" and last["tokens"] == last["total"] == len(text)
    own = json.loads(run([PROGRAM, "perplexity", "--model", trained[0], "--threads", "1", "--text", trained[1], "--method",
                          "fwl", "--json"]).stdout)["methods"][0]
    assert last["perplexity"] == pytest.approx(own["perplexity"], rel=1e-4) and last["slow_perplexity"] > last["perplexity"]
    facts = show(server, "reader")
    assert facts["tokens_read"] == len(text) and facts["fast_tokens"] == len(text) - 1 and facts["drift"]["W"] > 0
    assert server.post("/v1/sessions/reader/read", {"text": "more"}).status == 200
    assert show(server, "reader")["tokens_read"] == len(text) + 4


def test_adapt_says_what_is_learned(server):
    for adapt, learned in (("off", 0), ("read", 0), ("prompt", 3), ("write", 7)):
        server.complete("abcd", f"adapt-{adapt}", max_tokens=4, adapt=adapt, ignore_eos=True)
        facts = show(server, f"adapt-{adapt}")
        assert (facts["tokens_read"], facts["fast_tokens"]) == (8, learned)


def test_forks_go_their_own_ways(server):
    read(server, "origin", "language models learn. " * 5)
    assert server.post("/v1/sessions", {"id": "fork", "from": "origin"}).json["tokens_read"] == 115
    assert server.post("/v1/sessions", {"id": "fork", "from": "origin"}).status == 409
    before = show(server, "origin")
    answers = [server.complete("They", session, max_tokens=12, temperature=0)["text"] for session in ("fork", "origin")]
    assert answers[0] == answers[1] and show(server, "origin")["tokens_read"] == before["tokens_read"] + 16
    assert server.post("/v1/sessions", {"from": "nosuch"}).status == 404
    assert server.post("/v1/sessions").json["tokens_read"] == 0


def test_undo_takes_back_the_last_request_exactly(server):
    read(server, "undo", "language models learn. " * 5)
    before = server.get("/v1/sessions/undo/export").bytes
    first = server.complete("They", "undo", max_tokens=12, seed=1)["text"]
    assert server.get("/v1/sessions/undo/export").bytes != before
    assert server.post("/v1/sessions/undo/undo").status == 200
    assert server.get("/v1/sessions/undo/export").bytes == before
    assert server.complete("They", "undo", max_tokens=12, seed=1)["text"] == first
    server.post("/v1/sessions/undo/undo")
    assert server.post("/v1/sessions/undo/undo").status == 400


def test_decay_reset_save_and_delete(server):
    read(server, "fade", "language models learn. " * 5)
    drift = show(server, "fade")["drift"]["W"]
    assert server.post("/v1/sessions/fade/decay", {"factor": 0.5}).json["drift"]["W"] == pytest.approx(drift / 2, rel=1e-4)
    assert server.post("/v1/sessions/fade/decay", {"factor": 2}).status == 400
    assert server.post("/v1/sessions/fade/save").status == 200
    assert server.post("/v1/sessions/fade/reset").json["drift"] == {}
    assert server.post("/v1/sessions/fade/undo").json["drift"]["W"] == pytest.approx(drift / 2, rel=1e-4)
    assert server.request("DELETE", "/v1/sessions/fade").json["deleted"]
    assert server.get("/v1/sessions/fade").status == 404 == server.request("DELETE", "/v1/sessions/fade").status


def test_export_and_import_move_a_session_between_servers(server, trained, tmp_path):
    read(server, "moving", "language models learn. " * 5)
    file = server.get("/v1/sessions/moving/export").bytes
    with serving(trained[0], tmp_path) as other:
        assert other.post("/v1/sessions/arrived/import", file).json["tokens_read"] == 115
        assert other.post("/v1/sessions/arrived/import", file).status == 409
        for damaged in (b"", file[:-9], file[:-9] + b"x" + file[-8:], b"\0" * 100):
            assert other.post("/v1/sessions/damaged/import", damaged).status == 400
        assert [one["id"] for one in other.get("/v1/sessions").json["data"]] == ["arrived"]
        answers = [one.complete("They", name, max_tokens=12, temperature=0)["text"]
                   for one, name in ((server, "moving"), (other, "arrived"))]
        assert answers[0] == answers[1]
    (tmp_path / "file.session").write_bytes(file)  # an ordinary session file
    facts = json.loads(run([PROGRAM, "session", "show", tmp_path / "file.session", "--json"]).stdout)
    assert facts["tokens_read"] == 115


def test_a_conversation_is_read_once(server):
    messages = [{"role": "user", "content": "Hello"}]
    first = server.chat(messages, "talk", max_tokens=12, seed=1)
    messages.append(first["choices"][0]["message"])
    messages.append({"role": "user", "content": "And?"})
    second = server.chat(messages, "talk", max_tokens=12, seed=1)
    assert second["usage"]["prompt_tokens"] == len("\n<user>And?\n<assistant>")
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == show(server, "talk")["tokens_read"] - 12 - 23
    assert show(server, "talk")["messages"] == messages + [second["choices"][0]["message"]]
    # another conversation starts with an empty context, and with what was learned
    learned = show(server, "talk")["fast_tokens"]
    other = server.chat([{"role": "user", "content": "New"}], "talk", max_tokens=4)
    assert other["usage"]["prompt_tokens"] == len("<user>New\n<assistant>")
    facts = show(server, "talk")
    assert facts["tokens_read"] == len("<user>New\n<assistant>") + 4 and facts["fast_tokens"] > learned


@pytest.mark.parametrize("bad", ["..", "../x", "a%2Fb", ".hidden", "a%00b", "x" * 65, "%2e%2e%2fx", "a%20b", "a\\b"])
def test_ids_cannot_leave_their_folder(server, bad):
    for method, path in (("GET", ""), ("POST", "/read"), ("GET", "/export"), ("POST", "/import"), ("DELETE", "")):
        assert server.request(method, f"/v1/sessions/{bad}{path}", b"text" if method == "POST" else None).status in (400, 404)
    assert server.post("/v1/sessions", {"id": bad}).status == 400


def test_idle_sessions_go_to_disk_and_come_back(trained, tmp_path):
    with serving(trained[0], tmp_path / "a", "--max-sessions", "2") as small, serving(trained[0], tmp_path / "b") as large:
        for server in (small, large):
            for index in range(6):
                read(server, f"s{index}", f"session number {index} reads this. " * 3)
        assert "fwl_sessions_in_memory 2" in small.get("/metrics").text
        for index in range(6):
            assert scored(small, "session number", f"s{index}") == scored(large, "session number", f"s{index}")


def test_a_killed_server_loses_nothing_that_was_answered(trained, tmp_path):
    text, address = trained[1].read_text(), ["--address", "http://same"]
    with serving(trained[0], tmp_path, *address) as server:
        read(server, "a", text[:300])
        first = server.complete("The ", "a", max_tokens=20, seed=3)["text"]
        server.post("/v1/sessions", {"id": "twin", "from": "a"})
        unbroken = server.complete(" and", "twin", max_tokens=20, logprobs=3, echo=True)
        stuck = server.connect()  # a request that is not answered when the server dies
        stuck.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 10 ** 6, "session_id": "a"}))
        time.sleep(0.2)
        server.kill()
    with serving(trained[0], tmp_path, *address) as server:
        assert show(server, "a")["tokens_read"] == 300 + 4 + 20 and first
        assert server.complete(" and", "a", max_tokens=20, logprobs=3, echo=True) == unbroken  # the same bits


def test_a_request_that_is_given_up_leaves_the_session_as_it_was(server):
    read(server, "stopped", "language models learn. " * 5)
    before = server.get("/v1/sessions/stopped/export").bytes
    connection = server.connect()
    connection.request("POST", "/v1/completions",
                       json.dumps({"prompt": "x", "max_tokens": 10 ** 6, "session_id": "stopped", "stream": True}))
    connection.getresponse().read(10)
    connection.close()
    assert show(server, "stopped")["tokens_read"] == 115  # waits for the session to be free
    assert server.get("/v1/sessions/stopped/export").bytes == before


def test_requests_of_one_session_wait_for_each_other(server):
    threads = [threading.Thread(target=server.complete, args=("ab", "shared"), kwargs={"max_tokens": 3, "ignore_eos": True})
               for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert show(server, "shared")["tokens_read"] == 40


def test_a_secret_of_one_session_changes_no_bit_of_the_others(server, trained):
    text = trained[1].read_text()
    for index in range(3):
        read(server, f"other{index}", text[100 * index:100 * index + 150])

    def everywhere():
        return [scored(server, SECRET)] + [scored_in_fork(server, f"other{index}") for index in range(3)]

    def scored_in_fork(one, session):
        fork = one.post("/v1/sessions", {"from": session}).json["id"]
        result = scored(one, SECRET, fork)
        one.request("DELETE", f"/v1/sessions/{fork}")
        return result

    before = everywhere()
    noise = [threading.Thread(target=read, args=(server, "vault", SECRET * 10)),
             threading.Thread(target=server.complete, args=(SECRET, "vault2"), kwargs={"max_tokens": 30})]
    for thread in noise:
        thread.start()
    during = everywhere()
    for thread in noise:
        thread.join()
    assert before == during == everywhere()
    learned = scored_in_fork(server, "vault")
    assert sum(learned[5:]) > sum(before[0][5:]) + 1  # the session that read it does know it


def test_replicas_share_a_folder_and_one_at_a_time_has_a_session(trained, tmp_path):
    with serving(trained[0], tmp_path) as one, serving(trained[0], tmp_path) as two:
        whole = one.complete("language", "whole", max_tokens=24, temperature=0)["text"]
        parts = ""
        for index, server in enumerate((one, two, one, two)):
            parts += server.complete("" if index else "language", "parts", max_tokens=6, temperature=0)["text"]
        assert parts == whole
        busy = one.connect()
        busy.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 10 ** 6, "stream": True,
                                                            "session_id": "parts"}))
        busy.getresponse().read(10)
        refused = two.post("/v1/completions", {"prompt": "x", "session_id": "parts"})
        assert refused.status == 409 and refused.headers["X-Session-Holder"] == one.url and one.url in refused.text
        assert two.complete("x", "elsewhere", max_tokens=1)
        busy.close()
        deadline = time.monotonic() + 5
        while two.post("/v1/completions", {"prompt": "x", "session_id": "parts", "max_tokens": 1}).status != 200:
            assert time.monotonic() < deadline


def test_the_sessions_of_a_dead_replica_are_taken_over(trained, tmp_path):
    with serving(trained[0], tmp_path) as one, serving(trained[0], tmp_path) as two:
        one.complete("language", "a", max_tokens=4)
        busy = one.connect()
        busy.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 10 ** 6, "stream": True,
                                                            "session_id": "a"}))
        busy.getresponse().read(10)
        assert two.post("/v1/completions", {"prompt": "x", "session_id": "a"}).status == 409
        one.kill()
        assert two.post("/v1/completions", {"prompt": "x", "session_id": "a", "max_tokens": 1}).status == 200
        assert show(two, "a")["tokens_read"] == 8 + 4 + 2


def test_a_command_and_a_server_never_use_a_session_at_once(trained, tmp_path):
    with serving(trained[0], tmp_path) as server:
        server.complete("language", "a", max_tokens=4)
        [path] = (tmp_path / "sessions").rglob("a.session")
        busy = server.connect()
        busy.request("POST", "/v1/completions", json.dumps({"prompt": "x", "max_tokens": 10 ** 6, "stream": True,
                                                            "session_id": "a"}))
        busy.getresponse().read(10)
        refused = run([PROGRAM, "session", "reset", path])
        assert refused.returncode == 1 and f"in use by {server.url}" in refused.stderr, refused.stderr
        busy.close()
        deadline = time.monotonic() + 10
        while run([PROGRAM, "session", "decay", path]).returncode:
            assert time.monotonic() < deadline
        with locked(path):
            answer = server.post("/v1/completions", {"prompt": "x", "session_id": "a", "max_tokens": 1})
            assert answer.status == 409 and "X-Session-Holder" not in answer.headers and "python" not in answer.text
        assert server.post("/v1/completions", {"prompt": "x", "session_id": "a", "max_tokens": 1}).status == 200
        assert {file.suffix for file in path.parent.iterdir()} <= {".session", ".before"}
