"""Fast weights that diverge are rolled back with a warning, in every stream: perplexity, read, generate, chat and serve."""

import json
import math

import pytest
from serving import serving
from test_perplexity import trained  # noqa: F401  (a tiny model with a fast weight layer)
from test_training_process import PROGRAM, TINY, run

WARNING = "the fast weights diverged"


@pytest.fixture(scope="module")
def wild(trained, tmp_path_factory):
    """A layer without decay, whose steps are far too large, and a long text."""
    folder = tmp_path_factory.mktemp("wild")
    result = run([PROGRAM, "train", "--data.train", trained[2], "--out", folder / "run", *TINY, "--run.steps", "1",
                  "--layer.step-scale", "100000"])
    assert result.returncode == 0, result.stderr
    text = folder / "long.txt"
    text.write_text(trained[1].read_text() * 2)
    return folder / "run/model", text


def test_perplexity_rolls_back(wild, trained):
    for model, flags in ((wild[0], ["--method", "fwl"]), (trained[0], ["--method", "test-time", "--step", "1000"]),
                         (wild[0], ["--together"])):
        result = run([PROGRAM, "perplexity", "--model", model, "--text", wild[1], "--segment", "100", "--json", *flags])
        assert result.returncode == 0 and WARNING in result.stderr, (flags, result)
        assert json.loads(result.stdout)["methods"][-1]["rollbacks"] > 0
    calm = run([PROGRAM, "perplexity", "--model", trained[0], "--text", wild[1], "--segment", "100", "--json"])
    assert WARNING not in calm.stderr and json.loads(calm.stdout)["methods"][-1]["rollbacks"] == 0


def test_sessions_roll_back_and_stay_of_use(wild, tmp_path):
    session = tmp_path / "a.session"
    common = ["--model", wild[0], "--session", session]
    result = run([PROGRAM, "read", *common, wild[1]])
    assert result.returncode == 0 and WARNING in result.stderr, result
    state = json.loads(run([PROGRAM, "session", "show", "--json", session]).stdout)["state"]
    assert all(math.isfinite(norm) for norm in state.values()), state
    again = run([PROGRAM, "generate", *common, "--file", wild[1], "-n", "8", "--adapt", "write"])
    assert again.returncode == 0 and WARNING in again.stderr, again


def test_a_server_rolls_back(wild, tmp_path):
    with serving(wild[0], tmp_path) as server:
        answer = server.post("/v1/sessions/a/read", wild[1].read_bytes(), headers={"Content-Type": "text/plain"})
        assert answer.status == 200 and answer.events[-1]["rollbacks"] > 0
        assert server.complete("more", "a", max_tokens=3)
        scored = server.complete(wild[1].read_text()[:1000], "b", max_tokens=0, logprobs=0, echo=True, adapt="write")
        assert all(number is None or math.isfinite(number) for number in scored["logprobs"]["token_logprobs"])
