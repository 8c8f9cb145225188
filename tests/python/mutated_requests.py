"""Sends mutated HTTP requests and JSON bodies to a server, which must answer or close every one and stay alive.

Usage: mutated_requests.py [--program build/asan/fwl_server] [--requests 100000] [--seed 1] [--out FILE]

Starts a server over a tiny model of its own; `make fuzz-server` does it under the sanitizers.
"""

import argparse
import json
import random
import re
import socket
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from serving import serving
from test_training_process import PROGRAM, ROOT, TINY, run

BODIES = {
    "/v1/completions": {"prompt": "ab", "max_tokens": 2, "temperature": 0.5, "stop": ["x"], "logprobs": 2, "echo": True,
                        "logit_bias": {"97": 1}, "n": 2, "seed": 3, "stream": False, "adapt": "read"},
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "stream": True,
                             "logprobs": True, "top_logprobs": 2, "session_id": "fuzz"},
    "/v1/embeddings": {"input": ["ab", "c"], "encoding_format": "base64"},
    "/tokenize": {"content": "abc", "with_pieces": True},
    "/detokenize": {"tokens": [97, 98]},
    "/apply-template": {"messages": [{"role": "system", "content": "x"}]},
    "/v1/sessions": {"id": "fuzz2", "from": "fuzz"},
    "/v1/sessions/fuzz/decay": {"factor": 0.5},
    "/v1/sessions/fuzz/read": {"text": "some text"},
    "/v1/sessions/fuzz2/import": {"not": "a session"},
    "/v1/sessions/fuzz/undo": {},
}
VALUES = [None, True, -1, 0, 1e308, -1e308, 2 ** 63, 2 ** 64, 1.5, "", "x" * 300, "\x00", "\ud800", [], {}, [[]], [None], {"a": []},
          "../../x", [1, "a"], [-5], [10 ** 12], "NaN", [[1], "b"], 129, "prompt"]
HEADERS = [b"Transfer-Encoding: chunked", b"Content-Length: -1", b"Content-Length: 5", b"Expect: 100-continue", b"X-Session-Id: ..",
           b"Authorization: Basic !!!", b"Authorization: Bearer " + b"x" * 5000, b"Connection: close", b"Origin: null",
           b"Host:", b"X-Session-Id: fuzz", b"Content-Type: text/plain", b"Upgrade: h2c", b": x", b"A" * 300 + b": b"]


def mutated_json(value, chance):
    """The value with something in it replaced, removed or added."""
    if chance.random() < 0.15:
        return chance.choice(VALUES)
    if isinstance(value, dict):
        changed = dict(value)
        if changed:
            key = chance.choice(list(changed))
            changed[key] = mutated_json(changed[key], chance)
        if chance.random() < 0.2:
            changed[chance.choice(["prompt", "messages", "tools", "seed", "session_id", "text", "stop", "best_of"])] = \
                chance.choice(VALUES)
        return changed
    if isinstance(value, list):
        return [mutated_json(one, chance) if chance.random() < 0.5 else one for one in value] * chance.choice([0, 1, 1, 2])
    return chance.choice(VALUES) if chance.random() < 0.5 else value


def mutated_bytes(data, chance):
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(changed) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            del changed[at:at + chance.randrange(1, 20)]
        elif kind == 1:
            changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 8)))
        elif kind == 2 and at < len(changed):
            changed[at] ^= 1 << chance.randrange(8)
        else:
            changed[at:at] = changed[at // 2:at]
    return bytes(changed)


def request(chance):
    """Its bytes, and whether its HTTP may be broken, so that the server may wait for the rest of it."""
    path = chance.choice(list(BODIES))
    body = json.dumps(mutated_json(BODIES[path], chance)).encode()
    method = chance.choice([b"POST"] * 8 + [b"GET", b"DELETE", b"OPTIONS", b"PUT"])
    if chance.random() < 0.3:
        body = mutated_bytes(body, chance)
    lines = [method + b" " + path.encode() + b" HTTP/1." + chance.choice([b"1", b"1", b"1", b"0", b"2"]), b"Host: localhost",
             b"Content-Type: application/json", b"Content-Length: %d" % len(body)]
    is_odd = chance.random() < 0.2
    if is_odd:
        lines.insert(chance.randrange(1, len(lines) + 1), chance.choice(HEADERS))
    data = b"\r\n".join(lines) + b"\r\n\r\n" + body
    return (mutated_bytes(data, chance), True) if chance.random() < 0.2 else (data, is_odd)


def is_healthy(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return connection.recv(15) == b"HTTP/1.1 200 OK"


def attack(port, requests, seed):
    """Returns how many requests had which status; "closed": half a request, or given up by the client."""
    chance, statuses = random.Random(seed), {}
    for index in range(requests):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            try:
                data, is_broken = request(chance)
                connection.sendall(data)
                if is_broken:
                    connection.shutdown(socket.SHUT_WR)
                start = connection.recv(12)
                status = start[9:12].decode() if start.startswith(b"HTTP/1.") else "closed"
            except ConnectionError:
                status = "closed"
            statuses[status] = statuses.get(status, 0) + 1
        if index % 500 == 499:
            assert is_healthy(port)
    assert is_healthy(port)
    return statuses


def tiny_model(folder):
    tokens = folder / "text.tokens"
    for command in (["tokenize", "--tokenizer", "bytes", "--out", tokens, ROOT / "LICENSE"],
                    ["train", "--data.train", tokens, "--out", folder / "run", *TINY, "--run.steps", "1"]):
        result = run([PROGRAM, *command])
        assert result.returncode == 0, result.stderr
    return folder / "run/model"


def peak_bytes(process):
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=PROGRAM)
    parser.add_argument("--requests", type=int, default=100000)
    parser.add_argument("--clients", type=int, default=8, help="that attack at the same time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", help="JSON file for the record")
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with serving(tiny_model(folder), folder, program=options.program) as server:
            shares = [options.requests // options.clients] * options.clients
            with ThreadPoolExecutor(options.clients) as pool:
                parts = pool.map(lambda client: attack(server.port, shares[client], options.seed + client), range(options.clients))
                statuses = sum((Counter(part) for part in parts), Counter())
            memory = peak_bytes(server.process)
    assert server.process.returncode == 0, "the server did not end well"
    record = {"command": " ".join(["python", *sys.argv]), "date": time.strftime("%Y-%m-%d"), "requests": sum(statuses.values()),
              "seconds": round(time.monotonic() - start, 1), "peak_bytes": memory,
              "statuses": dict(sorted(statuses.items()))}
    if options.out:
        Path(options.out).write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
