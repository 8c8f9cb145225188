"""fwl serve as a server: addresses, errors, limits, keys, streams, and clients that hang up."""

import json
import socket
import threading
import time

import pytest

from serving import serving
from test_perplexity import perplexity, trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, ROOT, run

PROMPT = "language models are"


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


def test_text_becomes_tokens_and_back(server):
    for field in ("content", "prompt"):
        assert server.post("/tokenize", {field: "abc"}).json["tokens"] == [97, 98, 99]
    pieces = server.post("/tokenize", {"content": "ab", "with_pieces": True}).json["tokens"]
    assert pieces == [{"id": 97, "piece": "a"}, {"id": 98, "piece": "b"}]
    answer = server.post("/detokenize", {"tokens": [97, 98, 99]}).json
    assert answer["content"] == answer["prompt"] == "abc"
    prompt = server.post("/apply-template", {"messages": [{"role": "user", "content": "Hi"}]}).json["prompt"]
    assert prompt == "<user>Hi\n<assistant>"
    info = server.get("/tokenizer_info").json
    assert info["vocab_size"] == 256 and "eos_token" in info


def test_a_completion_is_that_of_fwl_generate(server, trained):
    expected = json.loads(run([PROGRAM, "generate", "--model", trained[0], "--threads", "1", "--prompt", PROMPT, "-n", "24",
                               "--seed", "7", "--json"]).stdout)
    answer = server.post("/v1/completions", {"prompt": PROMPT, "max_tokens": 24, "seed": 7}).json
    assert answer["object"] == "text_completion" and answer["choices"][0]["text"] == expected["text"]
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["prompt_tokens"] == len(PROMPT) and answer["usage"]["completion_tokens"] == 24
    ids = server.complete(list(PROMPT.encode()), max_tokens=24, seed=7)
    assert ids["text"] == expected["text"]
    stop = expected["text"][5:8]
    assert server.complete(PROMPT, max_tokens=24, seed=7, stop=stop) == {
        **answer["choices"][0], "text": expected["text"][:expected["text"].index(stop)], "finish_reason": "stop"}


def test_lists_of_prompts_and_several_choices(server):
    one, two = (server.complete(prompt, max_tokens=8, seed=3)["text"] for prompt in ("The ", "model"))
    answer = server.post("/v1/completions", {"prompt": ["The ", "model"], "max_tokens": 8, "seed": 3}).json
    assert [(choice["index"], choice["text"]) for choice in answer["choices"]] == [(0, one), (1, two)]
    assert answer["usage"]["completion_tokens"] == 16
    several = server.post("/v1/completions", {"prompt": "The ", "max_tokens": 8, "seed": 3, "n": 3}).json["choices"]
    assert several[0]["text"] == one and len({choice["text"] for choice in several}) == 3


def test_a_stream_has_the_text_of_the_whole_answer(server):
    whole = server.complete(PROMPT, max_tokens=24, seed=7, echo=True)
    fields = {"prompt": PROMPT, "max_tokens": 24, "seed": 7, "echo": True, "stream": True,
              "stream_options": {"include_usage": True}}
    answer = server.post("/v1/completions", fields)
    assert answer.headers["Content-Type"] == "text/event-stream"
    *pieces, last, usage = answer.events
    assert "".join(piece["choices"][0]["text"] for piece in pieces) == whole["text"]
    assert last["choices"][0]["finish_reason"] == "length" and usage["usage"]["completion_tokens"] == 24
    assert usage["choices"] == []


def test_chat_answers_in_the_models_template(server):
    messages = [{"role": "user", "content": "Hello"}]
    rendered = server.post("/apply-template", {"messages": messages}).json["prompt"]
    expected = server.complete(rendered, max_tokens=12, seed=2)["text"]
    answer = server.chat(messages, max_tokens=12, seed=2)
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": expected}
    events = server.post("/chat/completions", {"messages": messages, "max_completion_tokens": 12, "seed": 2,
                                               "stream": True}).events
    assert events[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == expected
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}]
    assert server.chat(parts, max_tokens=12, seed=2)["choices"] == answer["choices"]
    refused = server.post("/v1/chat/completions", {"messages": messages, "tools": [{"type": "function"}]})
    assert refused.status == 400 and '"tools"' in error_of(refused)


def test_log_probabilities_are_those_of_fwl_perplexity(server, trained):
    text = trained[1].read_text()[:700]
    part = trained[1].parent / "part.txt"
    part.write_text(text)
    for adapt, method in (("write", "fwl"), ("off", "static")):
        choice = server.complete(text, max_tokens=1, temperature=0, logprobs=1, echo=True, adapt=adapt)
        logprobs = choice["logprobs"]
        assert logprobs["token_logprobs"][0] is None and logprobs["top_logprobs"][0] is None
        assert len(logprobs["token_logprobs"]) == len(text) + 1 == len(logprobs["tokens"])
        own = perplexity(trained[0], "--text", part, "--method", method)["methods"][0]
        scored = logprobs["token_logprobs"][1:-1]
        assert len(scored) == own["tokens"]
        assert -sum(scored) / len(scored) == pytest.approx(own["nll"], abs=1e-5)
        # greedy tokens have exactly the largest of the numbers beside them
        largest = [max(top.values()) for top in logprobs["top_logprobs"][1:]]
        assert all(one <= most for one, most in zip(logprobs["token_logprobs"][1:], largest))
        assert sum(one == most for one, most in zip(logprobs["token_logprobs"][1:], largest)) > 20
        assert logprobs["token_logprobs"][-1] == largest[-1]


def test_log_probabilities_of_chat_and_biased_logits(server):
    messages = [{"role": "user", "content": "Hello"}]
    content = server.chat(messages, max_tokens=3, temperature=0, logprobs=True, top_logprobs=4)["choices"][0]["logprobs"]
    for entry in content["content"]:
        assert len(entry["top_logprobs"]) == 4 and entry["logprob"] == entry["top_logprobs"][0]["logprob"]
        assert bytes(entry["bytes"]).decode() == entry["token"]
    assert server.complete("The", max_tokens=4, logit_bias={"90": 100})["text"] == "ZZZZ"


def test_fast_scores_compare_with_the_fast_weights_off(server):
    choice = server.complete(PROMPT * 4, max_tokens=4, temperature=0, fast_scores=True)
    assert len(choice["fast_scores"]) == 4
    assert any(abs(score["logprob"] - score["slow_logprob"]) > 1e-4 for score in choice["fast_scores"])
    off = server.complete(PROMPT * 4, max_tokens=4, temperature=0, fast_scores=True, adapt="off")["fast_scores"]
    assert all(score["logprob"] == pytest.approx(score["slow_logprob"], abs=1e-6) for score in off)


def test_embeddings_are_the_mean_of_hidden_states(server, trained):
    import base64
    import struct

    answer = server.post("/v1/embeddings", {"input": ["abc", "models"]}).json
    vectors = [entry["embedding"] for entry in answer["data"]]
    assert len(vectors) == 2 and len(vectors[0]) == 16 and answer["usage"]["prompt_tokens"] == 9
    packed = server.post("/v1/embeddings", {"input": [97, 98, 99], "encoding_format": "base64"}).json["data"][0]
    assert list(struct.unpack("<16f", base64.b64decode(packed["embedding"]))) == pytest.approx(vectors[0], abs=1e-6)


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


def test_the_same_request_has_the_same_answer_whatever_else_runs(trained, tmp_path):
    text = trained[1].read_text()
    fields = {"max_tokens": 30, "temperature": 0.8, "seed": 5, "logprobs": 2, "echo": True}
    with serving(trained[0], tmp_path, "--batch", "32") as server:
        alone = server.complete(text[:200], **fields)
        others = [threading.Thread(target=server.complete, args=(text[start:start + 90],),
                                   kwargs={"max_tokens": 60, "seed": start}) for start in range(16)]
        for other in others:
            other.start()
        beside = server.complete(text[:200], **fields)
        for other in others:
            other.join()
    assert beside["text"] == alone["text"]
    ours, theirs = (choice["logprobs"]["token_logprobs"] for choice in (alone, beside))
    assert ours[:200] == theirs[:200]  # a prompt is read on its own: the same bits
    assert ours[200:] == pytest.approx(theirs[200:], abs=1e-5)


def test_a_prompt_is_read_between_the_tokens_of_others(trained, tmp_path):
    text = trained[1].read_text() * 40
    with serving(trained[0], tmp_path, "--prefill-tokens", "64") as server:
        done = []
        long = threading.Thread(target=lambda: done.append(("long", server.complete(text, max_tokens=1))))
        long.start()
        deadline = time.monotonic() + 10
        while not any(slot["is_processing"] for slot in server.get("/slots").json):
            assert time.monotonic() < deadline
        server.complete("a", max_tokens=20)
        done.append(("short", None))
        long.join()
        assert [name for name, _ in done] == ["short", "long"]
