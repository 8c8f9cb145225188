"""Starts `fwl serve` on a free port of this machine, and talks to it with the standard library."""

import contextlib
import http.client
import json
import os
import signal
import subprocess

from test_training_process import PROGRAM

TEMPLATE = """{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}
{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.bytes = response.status, response.headers, response.read()

    @property
    def text(self):
        return self.bytes.decode()

    @property
    def json(self):
        return json.loads(self.bytes)

    @property
    def events(self):
        """The events of a stream, without the closing [DONE], which must be there."""
        lines = [line[6:] for line in self.text.split("\n\n") if line]
        assert lines[-1] == "[DONE]", lines[-1]
        return [json.loads(line) for line in lines[:-1]]


class Server:
    def __init__(self, process, port):
        self.process, self.port, self.key = process, port, None
        self.url = f"http://127.0.0.1:{port}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method, path, body=None, headers=None):
        """`body`: bytes as they are, anything else as JSON."""
        headers = dict(headers or {})
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        if body is not None and not isinstance(body, bytes):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        connection = self.connect()
        connection.request(method, path, body, headers)
        answer = Answer(connection.getresponse())
        connection.close()
        return answer

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        return self.request("POST", path, body, **options)

    def complete(self, prompt, session=None, **fields):
        headers = {"X-Session-Id": session} if session else {}
        answer = self.post("/v1/completions", {"prompt": prompt, **fields}, headers=headers)
        assert answer.status == 200, answer.text
        return answer.json["choices"][0]

    def chat(self, messages, session=None, **fields):
        headers = {"X-Session-Id": session} if session else {}
        answer = self.post("/v1/chat/completions", {"messages": messages, **fields}, headers=headers)
        assert answer.status == 200, answer.text
        return answer.json

    def kill(self):
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def serving(model, folder, *flags, program=PROGRAM, template=True):
    """`folder` keeps the sessions and the template."""
    folder.mkdir(exist_ok=True)
    (folder / "template").write_text(TEMPLATE)
    given = ["--template", folder / "template"] if template else []
    command = [program, "serve", "--model", model, "--threads", "1", "--port", "0", "--sessions", folder / "sessions",
               *given, *flags]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    line = process.stdout.readline()
    if not line.startswith("listening on "):
        raise AssertionError(process.stderr.read())
    try:
        yield Server(process, int(line.rsplit(":", 1)[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
