"""What fwl serve answers: completions, chats, log-probabilities and embeddings are those of the command line."""

import base64
import json
import struct
import threading
import time

import pytest

from serving import serving
from test_perplexity import perplexity, trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, run

PROMPT = "language models are"


@pytest.fixture(scope="module")
def server(trained, tmp_path_factory):
    with serving(trained[0], tmp_path_factory.mktemp("serve")) as one:
        yield one


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
    assert refused.status == 400 and '"tools"' in refused.json["error"]["message"]


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


@pytest.mark.parametrize("method, flags", [("static", []), ("fwl", []), ("blocks", ["--blocks.chunk-tokens", "16"])])
def test_the_method_says_what_learns(trained, tmp_path, method, flags):
    text = trained[1].read_text()[:300]
    (tmp_path / "part.txt").write_text(text)
    own = perplexity(trained[0], "--text", tmp_path / "part.txt", "--method", method, *flags)["methods"][0]
    with serving(trained[0], tmp_path, "--method", method, *flags) as server:
        scored = server.complete(text, max_tokens=0, logprobs=0, echo=True)["logprobs"]["token_logprobs"][1:]
        assert -sum(scored) / len(scored) == pytest.approx(own["nll"], abs=1e-5)
        read = server.post("/v1/sessions/a/read", text.encode()).events[-1]
        assert read["perplexity"] == pytest.approx(own["perplexity"], rel=1e-4)


def test_memories_in_the_blocks_are_compared_with_the_base_alone(trained, tmp_path):
    text, flags = trained[1].read_text()[:300], ["--blocks", "all", "--blocks.chunk-tokens", "16"]
    (tmp_path / "part.txt").write_text(text)
    static = perplexity(trained[0], "--text", tmp_path / "part.txt", "--method", "static")["methods"][0]
    with serving(trained[0], tmp_path, *flags) as server:
        answer = server.complete(text, "a", max_tokens=24, temperature=0, fast_scores=True)
        assert any(abs(score["logprob"] - score["slow_logprob"]) > 1e-4 for score in answer["fast_scores"])
        read = server.post("/v1/sessions/b/read", text.encode()).events[-1]  # beside the base alone
        assert read["slow_perplexity"] == pytest.approx(static["perplexity"], rel=1e-4) != read["perplexity"]
        echo = server.complete(text, max_tokens=0, logprobs=0, echo=True, fast_scores=True)["fast_scores"][1:]
        assert -sum(score["slow_logprob"] for score in echo) / len(echo) == pytest.approx(static["nll"], abs=1e-5)


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
    answer = server.post("/v1/embeddings", {"input": ["abc", "models"]}).json
    vectors = [entry["embedding"] for entry in answer["data"]]
    assert len(vectors) == 2 and len(vectors[0]) == 16 and answer["usage"]["prompt_tokens"] == 9
    packed = server.post("/v1/embeddings", {"input": [97, 98, 99], "encoding_format": "base64"}).json["data"][0]
    assert list(struct.unpack("<16f", base64.b64decode(packed["embedding"]))) == pytest.approx(vectors[0], abs=1e-6)


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
    assert beside == alone  # to the last bit of every log-probability


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
