"""fwl perplexity against plain PyTorch loops over the same tokens."""

import json
import math
import subprocess
from pathlib import Path

import fwl
import pytest
import torch
from safetensors.torch import load_file

from test_training_process import PROGRAM, ROOT, TINY, run

NATS_PER_BIT = math.log(2)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A tiny byte model with a fast weight layer, its text and tokens."""
    folder = tmp_path_factory.mktemp("perplexity")
    text = folder / "text.txt"
    text.write_bytes((ROOT / "LICENSE").read_bytes()[:1501])  # plain letters, and the same for ever
    tokens = folder / "text.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", "bytes", "--out", tokens, text]).returncode == 0
    result = run([PROGRAM, "train", "--data.train", tokens, "--out", folder / "run", *TINY, "--run.steps", "30",
                  "--layer.gradient-at", "boundary", "--layer.chunk-tokens", "16", "--optimizer.lr", "1e-2"])
    assert result.returncode == 0, result.stderr
    return folder / "run/model", text, tokens


def perplexity(model, *flags):
    result = run([PROGRAM, "perplexity", "--model", model, "--json", "--threads", "1", *map(str, flags)])
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def slow_losses(model, ids):
    """Losses of ids[1:] with the fast weights off, from a fresh start."""
    return model.read(ids.unsqueeze(0), model.new_session(), adapt="off")[0]


def test_every_protocol_equals_a_plain_loop(trained):
    path, text, tokens = trained
    model, ids = fwl.open_model(str(path)), torch.tensor(list(text.read_bytes()))
    with torch.no_grad():
        stream = slow_losses(model, ids)
        windows = torch.cat([slow_losses(model, window) for window in ids.split(100) if len(window) > 1])
        halves = torch.cat([slow_losses(model, window)[50:] for window in ids.split(100) if len(window) == 100])
        sliding = torch.cat([slow_losses(model, ids[max(0, end - 100):end])[-min(25, end - 75) if end > 100 else 0:]
                             for end in range(100, 1501, 25)] + [slow_losses(model, ids[1425:])[-1:]])
    expected = {"stream": stream, "windows": windows, "llama": halves, "sliding": sliding}
    for protocol, losses in expected.items():
        flags = ["--protocol", protocol, "--context", 100, "--stride", 25]
        result = perplexity(path, "--tokens", tokens, *flags)["methods"][0]
        assert result["tokens"] == len(losses), protocol
        assert result["nll"] == pytest.approx(losses.mean().item(), abs=1e-5), protocol
        assert result["perplexity"] == pytest.approx(math.exp(losses.mean()), rel=1e-4)
        assert result["nll_error"] == pytest.approx((losses.std() / len(losses) ** 0.5).item(), rel=1e-3)
    assert perplexity(path, "--text", text)["methods"][0]["bits_per_byte"] == pytest.approx(
        stream.mean().item() / NATS_PER_BIT, rel=1e-4)


def test_the_methods_score_the_same_tokens_and_are_compared_in_pairs(trained, tmp_path):
    path, text, tokens = trained
    nll = tmp_path / "losses.nll"
    result = perplexity(path, "--tokens", tokens, "--method", "static", "fwl", "bias-only", "test-time", "dynamic-sgd",
                        "--step", "1e-4", "--save-nll", nll)
    methods = {method["method"]: method for method in result["methods"]}
    assert {method["tokens"] for method in methods.values()} == {1500}
    saved = load_file(nll)
    ids = torch.tensor(list(text.read_bytes()))
    assert torch.equal(saved["ids"], ids[1:]) and torch.equal(saved["targets"], torch.arange(1, 1501))
    for name, method in methods.items():
        losses = saved[f"nll.{name}"].double()
        assert losses.mean().item() == pytest.approx(method["nll"], abs=1e-6)
        if name != "static":
            difference = (losses - saved["nll.static"].double()).mean().item()
            assert method["difference"]["nll"] == pytest.approx(difference, abs=1e-6)
            assert method["difference"]["low"] <= difference <= method["difference"]["high"]
    model = fwl.open_model(str(path))
    with torch.no_grad():
        fast = model.read(ids.unsqueeze(0), model.new_session())[0]
    assert torch.allclose(saved["nll.fwl"], fast, atol=1e-5)
    assert methods["fwl"]["nll"] < methods["static"]["nll"]


def test_both_in_one_reading_are_the_two_readings(trained, tmp_path):
    path, _, tokens = trained
    apart, together = tmp_path / "apart.nll", tmp_path / "together.nll"
    flags = ["--tokens", tokens, "--segment", 100]
    perplexity(path, *flags, "--method", "static", "fwl", "--save-nll", apart)
    perplexity(path, *flags, "--together", "--save-nll", together)
    apart, together = load_file(apart), load_file(together)
    assert apart.keys() == together.keys()
    for name, values in apart.items():
        assert torch.allclose(values.double(), together[name].double(), atol=1e-5), name
    shown = run([PROGRAM, "perplexity", "--model", path, "--together", *map(str, flags)])
    rows = [line.split() for line in shown.stdout.splitlines() if line.endswith("%")]
    assert [int(row[0]) for row in rows] == [*range(100, 1500, 100), 1500]
    stretch, so_far = together["nll.fwl"][1400:].mean().item(), together["nll.fwl"].mean().item()
    assert float(rows[-1][2]) == pytest.approx(math.exp(stretch), abs=2e-3)
    assert float(rows[-1][6]) == pytest.approx(math.exp(so_far), abs=2e-3)


def test_a_text_longer_than_the_training_is_warned_of_where_nothing_decays(trained, tmp_path):
    _, _, tokens = trained
    result = run([PROGRAM, "train", "--data.train", tokens, "--out", tmp_path / "run", *TINY, "--run.steps", "1"])
    assert result.returncode == 0, result.stderr
    command = [PROGRAM, "perplexity", "--model", tmp_path / "run/model", "--tokens", tokens, "--method", "fwl"]
    assert "may diverge" in run(command).stderr
    assert "may diverge" not in run([*command, "--protocol", "windows", "--context", "16"]).stderr
    assert "may diverge" not in run([PROGRAM, "perplexity", "--model", trained[0], *command[4:]]).stderr


def slow_logits(weights, hidden):
    v = torch.relu(hidden @ weights["fast.U"] + weights["fast.a"]) ** 2
    z = v @ weights["fast.W"] + weights["fast.b"]
    y = torch.nn.functional.layer_norm(z, z.shape[-1:], weights["fast.gain"], weights["fast.shift"], 1e-6)
    return y @ weights["embedding.weight"].T + weights["head.bias"]


def test_the_fast_bias_decays_at_the_ends_of_segments_however_it_is_read(trained, tmp_path):
    _, text, tokens = trained
    result = run([PROGRAM, "train", "--data.train", tokens, "--out", tmp_path / "run", *TINY, "--run.steps", "20",
                  "--memory.kind", "bias-only", "--data.order", "lanes", "--layer.decay", "0.6",
                  "--layer.segment-tokens", "16", "--optimizer.lr", "1e-2", "--optimizer.step-lr-factor", "20"])
    assert result.returncode == 0, result.stderr
    model, ids = fwl.open_model(str(tmp_path / "run/model")), torch.tensor(list(text.read_bytes()))[:100]
    weights = model.parameters()
    decay, step = weights["fast.decay_logits"].sigmoid()[3], weights["bias_only.log_step"].exp()
    assert abs(decay.item() - 0.6) > 1e-4  # learned
    with torch.no_grad():
        logits = slow_logits(weights, model.base.read(ids.unsqueeze(0), model.base.new_state())[0])
        total, expected = torch.zeros(256), []
        for index, target in enumerate(ids[1:]):
            if index % 16 == 0:
                total = total * decay
            expected.append(torch.nn.functional.cross_entropy(logits[index] - step * total, target))
            total = total + logits[index].softmax(0) - torch.nn.functional.one_hot(target, 256)
        for lengths in ([100], [1] * 100, [33, 2, 65]):
            session = model.new_session()
            losses = [model.read(part.unsqueeze(0), session)[0] for part in ids.split(lengths)]
            assert torch.allclose(torch.cat(losses), torch.stack(expected), atol=1e-5)
        session = model.new_session()
        model.read(ids[:33].unsqueeze(0), session)  # 32 losses: a segment has just ended
        chosen = model.next_logits(session)[0].log_softmax(0)[ids[33]]
        assert chosen.item() == pytest.approx(-expected[32].item(), abs=1e-5)
        model.save_session(session, str(tmp_path / "a.session"), "m")
        rest = model.read(ids[33:].unsqueeze(0), model.load_session(str(tmp_path / "a.session"), "m"))[0]
        assert torch.allclose(rest, torch.stack(expected[32:]), atol=1e-5)


def dynamic_loop(path, ids, segment, update):
    """Plain PyTorch: score a segment, then move every weight by its gradient."""
    model = fwl.open_model(str(path))
    weights = model.parameters()
    for weight in weights.values():
        weight.requires_grad_()
    base, losses = model.base, []
    state = base.new_state()
    for start in range(0, len(ids) - 1, segment):
        inputs, targets = ids[start:start + segment][:len(ids) - 1 - start], ids[start + 1:start + segment + 1]
        hidden = base.read(inputs.unsqueeze(0), state)[0]
        logits = slow_logits(weights, hidden)
        loss = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
        losses.append(loss.detach())
        names = [name for name in weights if not name.startswith("fast.log")]
        gradients = torch.autograd.grad(loss.mean(), [weights[name] for name in names])
        with torch.no_grad():
            update({name: (weights[name], gradient) for name, gradient in zip(names, gradients)})
    return torch.cat(losses)


def test_dynamic_evaluation_equals_a_pytorch_loop_over_fifty_segments(trained, tmp_path, monkeypatch):
    path, text, tokens = trained
    ids = torch.tensor(list(text.read_bytes()))

    def sgd(weights):
        for weight, gradient in weights.values():
            weight -= 0.05 * gradient

    expected = dynamic_loop(path, ids, 30, sgd)
    nll = tmp_path / "sgd.nll"
    before = (path / "model.safetensors").read_bytes()
    flags = ["--tokens", tokens, "--dynamic.segment", 30, "--context", 1500, "--save-nll", nll]
    result = perplexity(path, "--method", "dynamic-sgd", "--dynamic.eta", 0.05, *flags)
    losses = load_file(nll)["nll.dynamic-sgd"]
    assert len(losses) == 1500 == 50 * 30 and torch.allclose(losses, expected, atol=1e-5)
    assert (path / "model.safetensors").read_bytes() == before

    squares, count = {}, 0

    def collect(weights):
        nonlocal count
        count += 1
        for name, (_, gradient) in weights.items():
            squares[name] = squares.get(name, 0) + gradient ** 2

    dynamic_loop(path, ids[:301], 30, collect)
    roots = {name: (square / count).sqrt() for name, square in squares.items()}
    extra = 6  # the step sizes, whose gradient is zero
    mean_root = sum(root.sum() for root in roots.values()) / (sum(root.numel() for root in roots.values()) + extra)
    starts = {name: weight.clone() for name, weight in fwl.open_model(str(path)).parameters().items()}

    def rms(weights):
        for name, (weight, gradient) in weights.items():
            rate = (roots[name] / mean_root).clamp(max=1 / 0.01)
            pull = 0.01 * rate * (starts[name] - weight)
            weight += pull - 1e-4 * gradient / (roots[name] + 1e-5)

    expected = dynamic_loop(path, ids, 30, rms)
    monkeypatch.setenv("FWL_DATA", str(tmp_path / "data"))
    for damage in (None, None, b"damaged"):  # made, kept, made anew
        if damage:
            next((tmp_path / "data/statistics").iterdir()).write_bytes(damage)
        result = perplexity(path, "--method", "dynamic-rms", "--dynamic.eta", 1e-4, "--dynamic.lambda", 0.01,
                            "--train-tokens", tokens, "--train-segments", 10, *flags)
        assert torch.allclose(load_file(nll)["nll.dynamic-rms"], expected, atol=1e-5)
        assert result["methods"][0]["nll"] == pytest.approx(expected.mean().item(), abs=1e-5)
        assert len(list((tmp_path / "data/statistics").iterdir())) == 1


def test_dynamic_evaluation_that_resets_scores_equal_windows_equally(trained, tmp_path):
    path, text, _ = trained
    (tmp_path / "twice.txt").write_bytes(text.read_bytes()[:100] * 2)
    nll = tmp_path / "twice.nll"
    flags = ["--text", tmp_path / "twice.txt", "--protocol", "windows", "--context", 100, "--method", "dynamic-sgd",
             "--dynamic.eta", 0.05, "--dynamic.segment", 20, "--save-nll", nll]
    perplexity(path, *flags)
    carried = load_file(nll)["nll.dynamic-sgd"]
    perplexity(path, *flags, "--dynamic.reset")
    reset = load_file(nll)["nll.dynamic-sgd"]
    assert torch.equal(carried[:99], reset[:99]) and torch.equal(reset[:99], reset[99:])
    assert carried[99:].mean() < reset[99:].mean()


def test_bad_input_is_one_clear_line(trained, tmp_path):
    path, text, tokens = trained
    empty = tmp_path / "empty.txt"
    empty.write_text("")
    one = tmp_path / "one.txt"
    one.write_text("a")
    words = tmp_path / "words.vocab"
    assert run([PROGRAM, "vocabulary", "--out", words, text]).returncode == 0
    other = tmp_path / "other.tokens"
    assert run([PROGRAM, "tokenize", "--tokenizer", words, "--out", other, text]).returncode == 0
    cases = [(["--text", empty], "", 1), (["--text", one], "at least two tokens", 1),
             (["--tokens", other], "another vocabulary", 1), ([], "neither", 2),
             (["--tokens", tokens, "--method", "magic"], "one of static", 2),
             (["--tokens", tokens, "--together", "--method", "dynamic-sgd"], "--together", 2),
             (["--tokens", tokens, "--method", "dynamic-rms"], "--train-tokens", 1),
             (["--tokens", tokens, "--method", "test-time"], "--step", 1),
             (["--tokens", tokens, "--protocol", "llama", "--context", "5000"], "at least 5000 tokens", 1)]
    for flags, message, code in cases:
        result = run([PROGRAM, "perplexity", "--model", path, *map(str, flags)])
        assert result.returncode == code, (flags, result.stderr)
        assert message in result.stderr.splitlines()[-1]


def test_a_base_without_layer_says_that_it_has_none(words_model):
    base, text, _ = words_model
    result = run([PROGRAM, "perplexity", "--model", base, "--text", text, "--method", "fwl", "--context", "20"])
    assert result.returncode == 1 and "a model with fast weights" in result.stderr
    plain = perplexity(base, "--text", text, "--context", "20", "--protocol", "windows")["methods"][0]
    model = fwl.open_model(str(base))
    ids = torch.tensor(fwl.open_tokenizer(str(base)).encode(text.read_bytes()))
    with torch.no_grad():
        losses = torch.cat([slow_losses(model, window) for window in ids.split(20) if len(window) > 1])
    assert plain["nll"] == pytest.approx(losses.mean().item(), abs=1e-5)


def test_analysis_groups_the_gains_by_position_repetition_and_frequency(trained, tmp_path):
    path, text, tokens = trained
    nll = tmp_path / "losses.nll"
    perplexity(path, "--tokens", tokens, "--method", "static", "fwl", "--save-nll", nll)
    flags = ["--train-tokens", tokens, "--tokens", tokens, "--tokenizer", "bytes"]
    result = run([PROGRAM, "analyze", f"{nll}:static", f"{nll}:fwl", *flags, "--json"])
    assert result.returncode == 0, result.stderr
    groups = json.loads(result.stdout)
    saved, data = load_file(nll), text.read_bytes()
    gains = (saved["nll.static"] - saved["nll.fwl"]).double()
    seen, times, counts = {}, [], {byte: data.count(byte) for byte in set(data)}
    for byte in data[1:]:
        times.append(seen.get(byte, 0))
        seen[byte] = times[-1] + 1
    expected = {("position", "0-63"): [index for index in range(1500) if index < 64],
                ("position", "512-1023"): [index for index in range(1500) if 512 <= index < 1024],
                ("repetition", "0"): [index for index in range(1500) if times[index] == 0],
                ("repetition", "2"): [index for index in range(1500) if times[index] == 2],
                ("repetition", "8-15"): [index for index in range(1500) if 8 <= times[index] < 16],
                ("frequency", "1e1-1e2"): [index for index in range(1500) if 10 <= counts[data[index + 1]] < 100]}
    for (kind, name), places in expected.items():
        group = next(group for group in groups[kind] if group["group"] == name)
        assert group["tokens"] == len(places)
        assert group["gain"] == pytest.approx(gains[places].mean().item(), abs=1e-6)
    for kind in ("position", "repetition", "frequency"):
        assert sum(group["tokens"] for group in groups[kind]) == 1500
    shown = run([PROGRAM, "analyze", f"{nll}:static", f"{nll}:fwl", *flags, "--top", "3"])
    assert shown.returncode == 0 and "gained most" in shown.stdout and "lost most" in shown.stdout
    wrong = run([PROGRAM, "analyze", f"{nll}:static", f"{nll}:none"])
    assert wrong.returncode == 1 and "one of fwl, static" in wrong.stderr


def test_tuning_finds_the_best_step_of_its_table(trained):
    path, _, tokens = trained
    result = run([PROGRAM, "tune", "--model", path, "--tokens", tokens, "--method", "dynamic-sgd", "--low", "1e-4",
                  "--high", "1", "--points", "3", "--rounds", "2", "--threads", "1", "--json"])
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert len(found["tried"]) >= 5
    best = min(found["tried"], key=lambda one: one["nll"])
    assert found["best"] == best["value"] and best["nll"] < found["static"]
    again = perplexity(path, "--tokens", tokens, "--method", "dynamic-sgd", "--dynamic.eta", found["best"])
    assert again["methods"][0]["nll"] == pytest.approx(best["nll"], abs=1e-6)


def test_bench_prints_a_table_of_every_test_and_method(trained):
    path = trained[0]
    result = run([PROGRAM, "bench", "-m", path, "-p", "64", "-n", "8", "--train", "64", "-r", "2", "-o", "json",
                  "--method", "static", "fwl", "dynamic-sgd", "--threads", "1"])
    assert result.returncode == 0, result.stderr
    rows = {(row["test"], row["method"]): row for row in json.loads(result.stdout)}
    assert set(rows) == {("pp64", "static"), ("pp64", "fwl"), ("pp64", "dynamic-sgd"), ("tg8", "static"),
                         ("tg8", "fwl"), ("train64", "static"), ("train64", "fwl")}
    assert all(len(row["tokens_per_second"]) == 2 and row["mean"] > 0 for row in rows.values())
    assert rows["pp64", "fwl"]["flops_per_token"] > rows["pp64", "static"]["flops_per_token"]
