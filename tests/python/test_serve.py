"""fwl serve as a server: addresses, errors, limits, keys, streams, and clients that hang up."""

import json
import socket
import time

import pytest

from mutated_requests import attack
from serving import serving
from test_perplexity import trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, ROOT, run


@pytest.fixture(scope="module")
def server(trained, tmp_path_factory):
    with serving(trained[0], tmp_path_factory.mktemp("serve")) as one:
        yield one


def error_of(answer):
    error = answer.json["error"]
    assert set(error) == {"message", "type", "code"} and error["code"] == answer.status
    return error["message"]


def test_it_says_what_it_is(server):
    assert server.get("/health").json == {"status": "ok"}
    for path in ("/v1/models", "/models"):
        models = server.get(path).json
        assert models["object"] == "list" and models["data"][0]["id"] == "model"
        assert models["data"][0]["meta"]["fast_weights"] == "layer"
    props = server.get("/props").json
    assert props["total_slots"] == 16 and "<assistant>" in props["chat_template"]
    assert props["default_generation_settings"]["params"]["temperature"] == 0.8
    assert [slot["is_processing"] for slot in server.get("/slots").json] == [False] * 16


def test_the_page_and_its_parts_are_in_the_program(server):
    page = server.get("/")
    assert page.headers["Content-Type"].startswith("text/html") and "default-src 'self'" in page.headers["Content-Security-Policy"]
    for name in ("style.css", "app.js", "parts.js"):
        assert server.get("/" + name).bytes == (ROOT / "web" / name).read_bytes()


@pytest.mark.parametrize("body, names", [
    (b"{", "request"), (b"[]", "request"), (b"[" * 200, "request"), (b'{"prompt": 5}', "prompt"),
    (b'{"prompt": [1, -2]}', "prompt"), (b'{"prompt": [1, 300]}', "prompt"), (b'{"prompt": []}', "prompt"),
    (b'{"prompt": "a", "max_tokens": -1}', "max_tokens"), (b'{"prompt": "a", "max_tokens": "x"}', "max_tokens"),
    (b'{"prompt": "a", "temperature": 1e9}', "temperature"), (b'{"prompt": "a", "n": 0}', "n"),
    (b'{"prompt": "a", "n": 1000}', "n"), (b'{"prompt": "a", "logit_bias": {"x": 1}}', "logit_bias"),
    (b'{"prompt": "a", "logit_bias": {"999": 1}}', "token ids"), (b'{"prompt": "a", "stop": 3}', "stop"),
    (b'{"prompt": "a", "adapt": "maybe"}', "adapt"), (b'{"prompt": "a", "session_id": "../x"}', "session id"),
    (b'{"prompt": "a", "stream": 1}', "stream"), (b'{"prompt": "a", "logprobs": 1000}', "logprobs")])
def test_a_wrong_request_is_one_line(server, body, names):
    answer = server.post("/v1/completions", body)
    assert answer.status == 400, answer.text
    assert names in error_of(answer) and "\n" not in error_of(answer)


def test_unknown_addresses_and_methods(server):
    head = server.request("HEAD", "/v1/models")
    assert head.status == 200 and int(head.headers["Content-Length"]) > 100 and head.bytes == b""
    assert server.get("/nosuch").status == 404 and "/nosuch" in error_of(server.get("/nosuch"))
    assert server.get("/v1/completions").status == 405
    assert server.request("DELETE", "/v1/models").status == 405


def raw(server, data, seconds=5.0):
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        connection.sendall(data)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


def test_broken_http_is_refused_without_harm(server):
    assert raw(server, b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert raw(server, b"GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert raw(server, b"GET / HTTP/1.1\r\nX: " + b"a" * 100000 + b"\r\n\r\n").startswith(b"HTTP/1.1 431")
    large = b"POST /tokenize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    assert raw(server, large).startswith(b"HTTP/1.1 413")
    assert server.get("/health").status == 200


def test_mutated_requests_do_no_harm(trained, tmp_path):
    with serving(trained[0], tmp_path) as one:
        statuses = attack(one.port, 500, seed=4)
        assert one.process.poll() is None and set(statuses) <= {"100", "200", "204", "400", "403", "404", "405", "409", "413", "431",
                                                                "closed"}
        assert statuses["200"] > 50 and statuses["400"] > 50


def test_one_connection_takes_many_requests_and_http_1_0_ends_streams_by_closing(server):
    connection = server.connect()
    for _ in range(3):
        connection.request("GET", "/health")
        assert connection.getresponse().read() == b'{"status":"ok"}'
    connection.request("POST", "/v1/completions", json.dumps({"prompt": "a", "max_tokens": 3, "stream": True}))
    assert connection.getresponse().read().endswith(b"data: [DONE]\n\n")
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()
    body = json.dumps({"prompt": "a", "max_tokens": 3, "stream": True}).encode()
    old = raw(server, b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert b"chunked" not in old.lower() and old.endswith(b"data: [DONE]\n\n")


def test_a_client_that_hangs_up_stops_its_work(server):
    def generated():
        lines = server.get("/metrics").text.splitlines()
        return {line.split()[0]: float(line.split()[1]) for line in lines if not line.startswith("#")}

    connection = server.connect()
    connection.request("POST", "/v1/completions",
                       json.dumps({"prompt": "a", "max_tokens": 1000000, "stream": True, "ignore_eos": True}))
    response = connection.getresponse()
    assert response.read(50)
    assert generated()["fwl_requests_processing"] == 1
    response.close()
    connection.close()
    deadline = time.monotonic() + 5
    while generated()["fwl_requests_processing"] > 0:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    stopped_at = generated()["fwl_tokens_predicted_total"]
    time.sleep(0.1)
    assert generated()["fwl_tokens_predicted_total"] == stopped_at < 1000000


def test_a_full_queue_says_when_to_come_back(trained, tmp_path):
    with serving(trained[0], tmp_path, "--batch", "1", "--queue", "1") as server:
        connections = []
        for _ in range(2):  # one runs, one waits
            connection = server.connect()
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "a", "max_tokens": 10 ** 6, "stream": True}))
            connections.append(connection)
            time.sleep(0.2)
        refused = server.post("/v1/completions", {"prompt": "a"})
        assert refused.status == 429 and refused.headers["Retry-After"] == "1" and "queue" in error_of(refused)
        assert server.get("/health").status == 200
        for connection in connections:
            connection.close()
        deadline = time.monotonic() + 5
        while server.post("/v1/completions", {"prompt": "a", "max_tokens": 1}).status != 200:
            assert time.monotonic() < deadline


def test_a_request_that_takes_too_long_ends(trained, tmp_path):
    with serving(trained[0], tmp_path, "--max-seconds", "0.3", "--max-prompt-tokens", "50") as server:
        answer = server.post("/v1/completions", {"prompt": "a", "max_tokens": 10 ** 7})
        assert answer.status == 503 and "time limit" in error_of(answer)
        assert "50 tokens" in error_of(server.post("/v1/completions", {"prompt": "a" * 51}))


def test_keys_guard_everything_but_health(trained, tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("# two users\nfirst-secret\nsecond-secret\n")
    with serving(trained[0], tmp_path, "--api-key-file", keys) as server:
        assert server.get("/health").status == 200
        for path in ("/", "/v1/models", "/metrics", "/slots", "/props", "/v1/sessions", "/nosuch"):
            assert server.get(path).status == 401, path
        for key in ("first-secre", "first-secretx", "", "First-secret"):
            assert server.get("/v1/models", headers={"Authorization": f"Bearer {key}"}).status == 401
        assert server.get("/v1/models", headers={"Authorization": "Basic OnNlY29uZC1zZWNyZXQ="}).status == 200
        server.key = "first-secret"
        server.complete("The secret", session="mine", max_tokens=2)
        assert [one["id"] for one in server.get("/v1/sessions").json["data"]] == ["mine"]
        server.key = "second-secret"
        assert server.get("/v1/sessions").json["data"] == []
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/export"), ("POST", "/undo"), ("POST", "/decay")):
            assert server.request(method, "/v1/sessions/mine" + path).status == 404, (method, path)
        assert server.post("/v1/sessions", {"id": "copy", "from": "mine"}).status == 404
        fresh = server.complete("The secret", max_tokens=8, temperature=0)
        assert server.complete("The secret", session="mine", max_tokens=8, temperature=0) == fresh
    wildcard = run([PROGRAM, "serve", "--model", trained[0], "--api-key-file", keys, "--cors-origin", "*", "--port", "0"])
    assert wildcard.returncode == 1 and "--cors-origin" in wildcard.stderr
    keys.write_text("short\n")
    assert run([PROGRAM, "serve", "--model", trained[0], "--api-key-file", keys, "--port", "0"]).returncode == 1


def test_pages_of_other_sites_need_permission(server, trained, tmp_path):
    evil = {"Origin": "https://evil.example"}
    assert server.get("/v1/models", headers=evil).status == 403
    assert server.request("OPTIONS", "/v1/models", headers=evil).status == 403
    assert "Access-Control-Allow-Origin" not in server.get("/health", headers=evil).headers
    assert server.get("/v1/models", headers={"Host": "rebound.example"}).status == 403
    assert server.get("/v1/models", headers={"Origin": server.url}).status == 200
    with serving(trained[0], tmp_path, "--cors-origin", "https://chat.example") as other:
        friend = {"Origin": "https://chat.example"}
        assert other.request("OPTIONS", "/v1/models", headers=friend).status == 204
        assert other.get("/v1/models", headers=friend).headers["Access-Control-Allow-Origin"] == "https://chat.example"
        assert other.get("/v1/models", headers=evil).status == 403
