"""Mistakes that used to end in an internal error: each is one clear line."""

import json
import math
import os
import re
import resource
import shutil

import fwl
import pytest
import torch
from safetensors.torch import load_file, save_file
from sealed import BLANK, with_checksum
from test_outputs import one_line
from test_training_process import GOLDENS, PROGRAM, ROOT, TINY, run, tokens, train  # noqa: F401


def as_nobody():
    os.setgid(65534)
    os.setuid(65534)


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="root changes its user")


def commands(base, text, tokens, place):
    """Every command with `place` as one of its files or folders."""
    score = ["perplexity", "--model", base, "--tokens", tokens, "--max-tokens", "16"]
    return [
        ["inspect", place], ["tokenize", "--tokenizer", "bytes", "--out", place, text],
        ["tokenize", "--tokenizer", place, "--out", place.parent / "new", text],
        ["tokenize", "--tokenizer", "bytes", "--out", place.parent / "new", place], ["vocabulary", "--out", place, text],
        ["perplexity", "--model", place, "--tokens", tokens], ["perplexity", "--model", base, "--tokens", place],
        ["perplexity", "--model", base, "--text", place], [*score, "--save-nll", place], [*score, "--adapter", place],
        ["generate", "--model", base, "-p", "w1", "--session", place], ["generate", "--model", base, "--file", place],
        ["read", "--model", base, "--session", place, text],
        ["read", "--model", base, "--session", place.parent / "s", place], ["session", "show", place],
        ["session", "reset", place], ["session", "copy", place, place.parent / "new"],
        ["train", "--config", place, "--out", place.parent / "new"],
        ["train", "--data.train", place, "--out", place.parent / "new"], ["train", "--data.train", tokens, "--out", place],
        ["attach", "--base", base, "--text", place, "--out", place.parent / "new"],
        ["attach", "--base", base, "--text", text, "--out", place],
        ["attach", "--base", base, "--text", text, "--out", place.parent / "run", "--cache", place],
        ["report", place, "--out", place.parent / "new"], ["analyze", place, place],
        ["reproduce", "tables", "--plans", place], ["bench", "--model", place], ["plan", "--data.train", place],
        ["get", "enwik8", "--data-dir", place],
    ]


def judge(command, result):
    lines = result.stderr.splitlines()
    assert result.returncode in (0, 1, 2), (command, result)
    assert "internal error" not in result.stderr, (command, result.stderr)
    errors = [line for line in lines if line.startswith("fwl: ")]  # others are notes
    assert not result.returncode or (len(errors) == 1 and lines[-1] == errors[0]), (command, result.stderr)


@needs_root
def test_permission_denied_is_one_line(words_model, tmp_path):
    base, text, tokens = words_model
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    closed.chmod(0o700)
    for path in [tmp_path, *tmp_path.parents]:
        if path != closed and path.stat().st_uid == 0 and path.name.startswith("pytest"):
            path.chmod(0o755)
    tmp_path.chmod(0o755)
    for command in commands(base, text, tokens, closed / "inner"):
        if command[0] != "get":
            result = run([PROGRAM, *command, *(["--threads", "1"] if command[0] == "train" else [])],
                         preexec_fn=as_nobody)
            judge(command, result)
            assert result.returncode == 1 and "ermission denied" in result.stderr, (command, result.stderr)


def test_names_that_are_too_long_are_one_line(words_model, tmp_path):
    base, text, tokens = words_model
    for command in commands(base, text, tokens, tmp_path / ("x" * 300)):
        result = run([PROGRAM, *command])
        judge(command, result)
        assert result.returncode == 1, (command, result)


def test_a_folder_in_place_of_a_file_and_the_reverse_are_one_line(words_model, tmp_path):
    base, text, tokens = words_model
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("no folder, no model, nothing")
    for place in (folder, file):
        for command in commands(base, text, tokens, place):
            if command[0] in ("train", "attach", "get"):
                continue  # a new run in a folder is no mistake
            judge(command, run([PROGRAM, *command]))
    for command in (["train", "--data.train", tokens, "--out", file], ["train", "--data.train", folder, "--out", folder],
                    ["attach", "--base", base, "--text", text, "--out", file],
                    ["get", "enwik8", "--data-dir", file]):
        judge(command, run([PROGRAM, *command]))


@pytest.mark.parametrize("flags", [
    ["--model.hidden-size", "65536", "--model.heads", "1", "--model.layers", "1000"],
    ["--vocabulary-size", "1073741824"], ["--data.rows", "1048576", "--data.segment-tokens", "16777216"]])
def test_sizes_beyond_all_memory_are_one_line(flags):
    result = run([PROGRAM, "plan", "--vocabulary-size", "256", "--patience", "1", *TINY, *flags])
    judge(["plan"], result)  # what does not matter for the measurement may be large
    assert result.returncode == 0 or "memory" in result.stderr


def test_running_out_of_memory_is_one_line(words_model, tokens, tmp_path):
    def little():
        resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))

    result = run(train(tokens, tmp_path / "run", "--model.hidden-size", "4096", "--model.ffn-size", "16384"),
                 preexec_fn=little)
    one_line(result, "memory")


WRONG = [7, "x", None, True, [], {}, [1], {"a": 1}, -1, 1e300]


def mutations(document):
    """The JSON document with each value, at any depth, replaced by values of other types."""
    def places(node, path=()):
        if path:
            yield path
        if isinstance(node, dict):
            for key in node:
                yield from places(node[key], (*path, key))
        elif isinstance(node, list) and node:
            yield from places(node[0], (*path, 0))

    for path in list(places(document)):
        for wrong in WRONG:
            copy = json.loads(json.dumps(document))
            node = copy
            for step in path[:-1]:
                node = node[step]
            node[path[-1]] = wrong
            yield copy
    yield from WRONG


def quiet(call):
    """Either it works or it is an error of the user's files: never another exception."""
    try:
        call()
    except fwl.UserError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("golden", ["gpt2", "llama-tied", "xl-one-table"])
def test_wrong_types_in_the_config_of_a_published_model_are_one_line(golden, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(GOLDENS / golden, model)
    document = json.loads((model / "config.json").read_text())
    for changed in mutations(document):
        (model / "config.json").write_text(json.dumps(changed))
        quiet(lambda: fwl.open_model(str(model)))
        quiet(lambda: fwl.inspect(str(model)))


def resealed(document):
    return with_checksum(json.dumps({**document, "fwl_checksum": BLANK}, indent=2).encode()).decode()


def test_wrong_types_in_trained_models_are_one_line(tokens, tmp_path):
    assert run(train(tokens, tmp_path / "run", "--run.steps", "1")).returncode == 0
    config = tmp_path / "run/model/config.json"
    document = json.loads(config.read_text())
    for changed in mutations(document):
        config.write_text(resealed(changed) if isinstance(changed, dict) else json.dumps(changed))
        quiet(lambda: fwl.open_model(str(tmp_path / "run/model")))
        quiet(lambda: fwl.inspect(str(tmp_path / "run/model")))


def test_wrong_types_in_adapters_are_one_line(words_model, tmp_path):
    base, text, _ = words_model
    out = tmp_path / "run"
    assert run([PROGRAM, "attach", "--base", base, "--text", text, "--out", out, "--run.steps", "1", "--layer.size", "8",
                "--segment-tokens", "32", "--window-tokens", "32"]).returncode == 0
    description = out / "model/adapter.json"
    document = json.loads(description.read_text())
    for changed in mutations(document):
        description.write_text(resealed(changed) if isinstance(changed, dict) else json.dumps(changed))
        quiet(lambda: fwl.open_model(str(base), str(out / "model")))
        quiet(lambda: fwl.inspect(str(out / "model")))


def test_wrong_types_in_records_are_one_line(tokens, tmp_path):
    folder = tmp_path / "run"
    assert run(train(tokens, folder, "--run.steps", "2", "--run.checkpoint-every", "1")).returncode == 0
    record = folder / "record.jsonl"
    lines = record.read_text().splitlines()
    changes = list(mutations(json.loads(lines[0])))[::29] + list(mutations(json.loads(lines[1])))[::7]
    for changed in changes:
        record.write_text("\n".join([json.dumps(changed), *lines[1:]]) + "\n")
        judge(["report"], run([PROGRAM, "report", folder, "--out", tmp_path / "page.html"]))
    for line in ('{"step": "x"}', "[]", "7", '{"step": [1]}', "{", "null"):
        record.write_text("\n".join([*lines, line]) + "\n")
        resume = run(train(tokens, folder, "--run.steps", "2", "--run.checkpoint-every", "1", "--resume"))
        assert resume.returncode in (0, 1) and "internal" not in resume.stderr, resume.stderr


def test_wrong_types_in_checkpoints_are_one_line(tokens, tmp_path):
    from safetensors import safe_open

    folder = tmp_path / "run"
    flags = ["--run.steps", "2", "--run.checkpoint-every", "2"]
    assert run(train(tokens, folder, *flags)).returncode == 0
    last = folder / "checkpoints/step-0000000002.safetensors"
    with safe_open(last, "pt") as file:
        notes = json.loads(file.metadata()["notes"])
    tensors = load_file(last)
    changes = [change for change in mutations({key: notes[key] for key in notes if key != "config"})]
    for changed in changes[::9]:
        whole = {**notes, **changed} if isinstance(changed, dict) else changed
        save_file(tensors, last, {"format": "fwl-checkpoint-1", "notes": json.dumps(whole), "fwl_checksum": BLANK})
        last.write_bytes(with_checksum(last.read_bytes()))
        result = run(train(tokens, folder, *flags, "--resume"))
        assert result.returncode in (0, 1) and "internal" not in result.stderr, (changed, result.stderr)


def test_bench_of_methods_that_need_gradients(words_model):
    base, *_ = words_model
    weights = {name: tensor.half() for name, tensor in load_file(base / "model.safetensors").items()}
    save_file(weights, base / "model.safetensors")
    bench = [PROGRAM, "bench", "--model", base, "-p", "8", "-n", "0", "-r", "1"]
    for flags in (["--method", "dynamic-sgd"], ["--method", "dynamic-rms"], ["--train", "8"]):
        one_line(run([*bench, *flags]), "--weights fp32")
        assert run([*bench, *flags, "--weights", "fp32"]).returncode == 0, flags
    fresh = [PROGRAM, "bench", "--vocabulary-size", "64", "-p", "8", "-n", "0", "-r", "1", "--model.layers", "1",
             "--model.hidden-size", "16", "--model.heads", "2", "--model.ffn-size", "32", "--layer.size", "32"]
    for flags in (["--method", "dynamic-sgd"], ["--method", "dynamic-rms"], ["--train", "8"]):
        result = run([*fresh, *flags])
        assert result.returncode == 0, (flags, result.stderr)


def test_reproduce_with_a_name_that_is_in_no_plan(tmp_path):
    result = run([PROGRAM, "reproduce", "tables", "--scale", "quick", "--only", "enwik8-sprase", "--runs",
                  tmp_path / "runs", "--results", tmp_path / "results"], cwd=ROOT)
    one_line(result, "--only", "enwik8-sprase", "did you mean")
    assert not list(tmp_path.iterdir())


def tiny_model(seed=0, **sizes):
    settings = dict(layers=1, hidden_size=16, heads=2, ffn_size=32) | sizes
    return fwl.LanguageModel(fwl.new_base("sparse-local", 32, seed, **settings))


@pytest.mark.parametrize("name, value", [
    ("temperature", math.nan), ("temperature", -1.0), ("temperature", math.inf), ("top_p", math.nan), ("min_p", math.nan),
    ("repeat_penalty", math.nan), ("repeat_penalty", 0.0), ("top_k", -1), ("max_tokens", -5)])
def test_python_refuses_impossible_sampling(name, value):
    model = tiny_model()
    session = model.new_session()
    model.read(torch.tensor([[1, 2, 3]]), session)
    with pytest.raises(fwl.UserError, match=name):
        model.generate(session, **{"max_tokens": 2, name: value})


def test_python_refuses_the_session_of_another_model(tmp_path):
    model, wider, deeper = tiny_model(), tiny_model(hidden_size=32), tiny_model(layers=2)
    for other in (wider, deeper):
        session = other.new_session()
        other.read(torch.tensor([[1, 2, 3]]), session)
        for call in (lambda: model.read(torch.tensor([[4]]), session), lambda: model.next_logits(session),
                     lambda: model.generate(session, 2),
                     lambda: model.save_session(session, str(tmp_path / "s"), "model")):
            with pytest.raises(fwl.UserError, match="session of another model"):
                call()


def test_weights_that_are_not_finite_are_refused(tmp_path):
    for value in (math.nan, math.inf):
        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            model = tmp_path / f"{value}-{dtype}"
            shutil.copytree(GOLDENS / "llama-tied", model)
            weights = {name: tensor.to(dtype) for name, tensor in load_file(model / "model.safetensors").items()}
            for name in ("model.norm.weight", "model.layers.0.mlp.up_proj.weight"):
                changed = {key: tensor.clone() for key, tensor in weights.items()}
                changed[name].view(-1)[-1] = value
                save_file(changed, model / "model.safetensors")
                for format in ("quantized", "fp32"):
                    with pytest.raises(fwl.UserError, match=f"{name}: expected finite weights"):
                        fwl.open_base(str(model), format)


def test_no_line_says_cannot_twice():
    """fail_with_errno says "cannot" itself."""
    files = [path for folder in ("src", "cli", "python/bindings") for path in (ROOT / folder).rglob("*.cpp")]
    calls = [call for path in files for call in re.findall(r"fail_with_errno\([^;]*;", path.read_text())]
    assert len(calls) > 20 and not [call for call in calls if '"cannot' in call]
