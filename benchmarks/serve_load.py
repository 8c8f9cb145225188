"""Streaming clients against `fwl serve` on this machine: throughput, time to the first token and between tokens, memory.

    python3 benchmarks/serve_load.py --model smollm2.gguf --mixed 600 --out results/serve/load.json [flags of fwl serve …]

Three parts: streaming clients without sessions; what sessions of several lengths cost in memory, on disk and per request;
with --mixed SECONDS sessions, documents and fresh requests at the same time, a server that is killed in the middle (kill -9)
and started again, and a check that no answered request was lost. Standard library only; connects to 127.0.0.1 only.
"""

import argparse
import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "LICENSE").read_text()


class Server:
    def __init__(self, options, folder, port="0"):
        command = [options.program, "serve", "--model", options.model, "--sessions", folder, "--port", str(port),
                   "--address", "http://load", *options.flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def request(self, path, body, session=None, method=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request(method or ("POST" if body is not None else "GET"), path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json", **({"X-Session-Id": session} if session else {})})
        return connection, connection.getresponse()

    def json(self, path, body=None, session=None, method=None):
        connection, response = self.request(path, body, session, method)
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer

    def read(self, session, text):
        """Reads a document into a session; the number of its tokens."""
        connection, response = self.request(f"/v1/sessions/{session}/read", {"text": text})
        events = [json.loads(line[6:]) for line in response if line.startswith(b"data: {")]
        connection.close()
        assert events[-1]["object"] == "session.read.done", events[-1]
        return events[-1]["tokens"]

    def cpu_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024

    def stop(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait()


def stream(server, number, options, times):
    """One streaming request; adds (first token, gaps between tokens, tokens) to `times`."""
    start = number * 97 % 5000
    body = {"prompt": TEXT[start:start + 4 * options.prompt_tokens], "max_tokens": options.tokens, "seed": number, "stream": True,
            "ignore_eos": True, "logprobs": 0}
    begin = time.monotonic()
    connection, response = server.request("/v1/completions", body)
    assert response.status == 200, response.read()
    moments, tokens = [], 0
    while line := response.readline():
        if line.startswith(b"data: {"):
            moments.append(time.monotonic())
            tokens += len(json.loads(line[6:])["choices"][0]["logprobs"]["tokens"])
    connection.close()
    times.append((moments[0] - begin, [b - a for a, b in zip(moments, moments[1:])], tokens))


def percentiles(values):
    cuts = statistics.quantiles(values, n=100) if len(values) > 1 else values * 99
    return {"p50": round(cuts[49], 4), "p99": round(cuts[98], 4)}


def measure(server, clients, options):
    times = []
    threads = [threading.Thread(target=stream, args=(server, number, options, times)) for number in range(clients)]
    begin, cpu = time.monotonic(), server.cpu_seconds()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds, cpu = time.monotonic() - begin, server.cpu_seconds() - cpu
    assert len(times) == clients, "a client failed"
    total = sum(tokens for *_, tokens in times)
    return {"clients": clients, "tokens_per_second": round(total / seconds, 1),
            "cpu_seconds_per_token": round(cpu / total, 5),
            "seconds_to_first_token": percentiles([first for first, *_ in times]),
            "seconds_between_tokens": percentiles([gap for _, gaps, _ in times for gap in gaps]),
            "server_bytes": server.memory()}


def measure_session(server, tokens):
    """A session that has read so much: its size, and the time of a request that reads and generates one token."""
    session = f"length-{tokens}"
    length, text = 0, TEXT
    while length < tokens:
        length += server.read(session, text[:3 * (tokens - length) + 1])
        text = text[100:]
    times = {}
    for name in ("in_the_session", "without"):
        seconds = []
        for _ in range(7):
            begin = time.monotonic()
            server.json("/v1/completions", {"prompt": "a", "max_tokens": 1}, session if name == "in_the_session" else None)
            seconds.append(time.monotonic() - begin)
        times[name] = round(statistics.median(seconds), 4)
    facts = server.json(f"/v1/sessions/{session}")[1]
    return {"tokens": facts["tokens_read"], "memory_bytes": facts["memory_bytes"], "file_bytes": facts["bytes"],
            "seconds_per_request": times}


class MixedLoad:
    """Sessions whose length the clients count, so that a loss would show; they start again before they become long."""

    longest = 500

    def __init__(self, options, folder):
        self.options, self.folder, self.server = options, folder, Server(options, folder)
        self.end = time.monotonic() + options.mixed
        self.expected, self.answered, self.failed, self.lost = {}, 0, 0, []

    def client(self, number):
        chance, session = random.Random(number), f"client-{number}"
        self.expected[session] = 0
        while time.monotonic() < self.end:
            try:
                self.one_request(chance, session)
                self.answered += 1
            except (OSError, http.client.HTTPException, ValueError, IndexError):
                self.failed += 1  # the server is down: the request was not answered, but may have been finished
                time.sleep(0.5)
                self.settle(session)

    def one_request(self, chance, session):
        start = chance.randrange(5000)
        text = TEXT[start:start + chance.randrange(1, 200)]
        if self.expected[session] > self.longest:
            self.expected[session] = 0
            assert self.server.json(f"/v1/sessions/{session}", session=session, method="DELETE")[0] == 200
        elif chance.random() < 0.1:
            self.expected[session] += self.server.read(session, text)
        else:
            is_fresh = chance.random() < 0.3
            body = {"prompt": text, "max_tokens": chance.randrange(1, 20), "ignore_eos": True}
            status, answer = self.server.json("/v1/completions", body, None if is_fresh else session)
            assert status == 200, answer
            if not is_fresh:
                self.expected[session] += answer["usage"]["total_tokens"]

    def settle(self, session):
        """After a failure: nothing that was answered may be missing."""
        while time.monotonic() < self.end + 60:
            try:
                self.expected[session] = self.check(session, lambda read, expected: read >= expected)
                return
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.2)

    def check(self, session, is_right):
        status, facts = self.server.json(f"/v1/sessions/{session}")
        read = facts["tokens_read"] if status == 200 else 0
        if not is_right(read, self.expected[session]):
            self.lost.append({"session": session, "expected": self.expected[session], "read": read})
        return read

    def run(self):
        threads = [threading.Thread(target=self.client, args=(number,)) for number in range(8)]
        memory = {"before the kill": [], "after the restart": []}
        for thread in threads:
            thread.start()
        self.watch(memory["before the kill"], self.end - self.options.mixed / 2)
        port = self.server.port
        self.server.stop(kill=True)
        self.server = Server(self.options, self.folder, port)
        self.watch(memory["after the restart"], self.end)
        for thread in threads:
            thread.join()
        for session in self.expected:
            self.check(session, lambda read, expected: read == expected)
        self.server.stop()
        return {"seconds": self.options.mixed, "answered": self.answered, "failed_at_the_kill": self.failed,
                "lost": self.lost, "server_bytes": memory}

    def watch(self, memory, end):
        while time.monotonic() < end:
            time.sleep(max(0.1, self.options.mixed / 20))
            memory.append(self.server.memory())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--program", default=str(ROOT / "build/release/fwl"))
    parser.add_argument("--clients", default="1,16,128")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--lengths", default="128,1024", help="of the measured sessions, in tokens")
    parser.add_argument("--mixed", type=float, default=0, help="seconds of mixed load; 0: none")
    parser.add_argument("--out")
    options, options.flags = parser.parse_known_args()
    record = {"command": " ".join(["python3", *sys.argv]), "date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(),
              "load": os.getloadavg()[0], "clients": [], "sessions": []}
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options, folder)
        measure(server, 1, options)  # warm
        record["clients"] = [measure(server, int(clients), options) for clients in options.clients.split(",")]
        record["sessions"] = [measure_session(server, int(tokens)) for tokens in options.lengths.split(",") if tokens]
        server.stop()
        if options.mixed:
            record["mixed"] = MixedLoad(options, folder).run()
    if options.out:
        Path(options.out).parent.mkdir(parents=True, exist_ok=True)
        Path(options.out).write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
