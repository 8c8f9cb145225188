"""Streaming clients against `fwl serve` on this machine: throughput, time to the first token and between tokens, memory.

Usage: serve_load.py --model MODEL [--clients 1,16,128] [--tokens 32] [--prompt-tokens 64] [--mixed SECONDS] [flags of fwl serve …]

Prints one JSON line per number of clients. --mixed runs sessions, documents and fresh requests at the same time for so long,
kills the server in the middle (kill -9), starts it again, and checks that no answered request was lost.
Standard library only; connects to 127.0.0.1 only.
"""

import argparse
import http.client
import json
import random
import statistics
import subprocess
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

    def request(self, path, body, session=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        connection.request("POST" if body is not None else "GET", path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json", **({"X-Session-Id": session} if session else {})})
        return connection, connection.getresponse()

    def json(self, path, body=None, session=None):
        connection, response = self.request(path, body, session)
        answer = json.loads(response.read())
        connection.close()
        return response.status, answer

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
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    assert len(times) == clients, "a client failed"
    return {"clients": clients, "tokens_per_second": round(sum(tokens for *_, tokens in times) / seconds, 1),
            "seconds_to_first_token": percentiles([first for first, *_ in times]),
            "seconds_between_tokens": percentiles([gap for _, gaps, _ in times for gap in gaps]),
            "server_bytes": server.memory()}


class MixedLoad:
    """Sessions whose length the clients count, so that a loss would show."""

    def __init__(self, options, folder):
        self.options, self.folder, self.server = options, folder, Server(options, folder)
        self.end = time.monotonic() + options.mixed
        self.expected, self.answered, self.failed, self.lost = {}, 0, 0, []
        self.lock = threading.Lock()

    def client(self, number):
        chance, session = random.Random(number), f"client-{number}"
        self.expected[session] = 0
        while time.monotonic() < self.end:
            start = chance.randrange(5000)
            is_fresh = chance.random() < 0.3
            body = {"prompt": TEXT[start:start + chance.randrange(1, 200)], "max_tokens": chance.randrange(1, 20),
                    "ignore_eos": True}
            try:
                status, answer = self.server.json("/v1/completions", body, None if is_fresh else session)
                assert status == 200, answer
                self.answered += 1
                if not is_fresh:
                    self.expected[session] += answer["usage"]["total_tokens"]
            except (OSError, http.client.HTTPException, ValueError):
                self.failed += 1  # the server is down: the request was not answered, but may have been finished
                time.sleep(0.5)
                self.settle(session)

    def settle(self, session):
        """After a failure: nothing that was answered may be missing."""
        while time.monotonic() < self.end + 60:
            try:
                status, facts = self.server.json(f"/v1/sessions/{session}")
                read = facts["tokens_read"] if status == 200 else 0
                if read < self.expected[session]:
                    self.lost.append((session, self.expected[session], read))
                self.expected[session] = read
                return
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.2)

    def run(self):
        threads = [threading.Thread(target=self.client, args=(number,)) for number in range(8)]
        memory = []
        for thread in threads:
            thread.start()
        time.sleep(self.options.mixed / 2)
        memory.append(self.server.memory())
        port = self.server.port
        self.server.stop(kill=True)
        self.server = Server(self.options, self.folder, port)
        while time.monotonic() < self.end:
            time.sleep(max(0.1, self.options.mixed / 20))
            memory.append(self.server.memory())
        for thread in threads:
            thread.join()
        for session, expected in self.expected.items():
            status, facts = self.server.json(f"/v1/sessions/{session}")
            if expected and facts["tokens_read"] != expected:
                self.lost.append((session, expected, facts["tokens_read"]))
        self.server.stop()
        return {"mixed_seconds": self.options.mixed, "answered": self.answered, "failed_at_the_kill": self.failed,
                "lost": self.lost, "server_bytes": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--program", default=str(ROOT / "build/release/fwl"))
    parser.add_argument("--clients", default="1,16,128")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt-tokens", type=int, default=64)
    parser.add_argument("--mixed", type=float, default=0)
    options, options.flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.mixed:
            print(json.dumps(MixedLoad(options, folder).run()), flush=True)
            return
        server = Server(options, folder)
        measure(server, 1, options)  # warm
        for clients in map(int, options.clients.split(",")):
            print(json.dumps(measure(server, clients, options)), flush=True)
        server.stop()


if __name__ == "__main__":
    main()
