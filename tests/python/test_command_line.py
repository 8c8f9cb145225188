"""The command line people expect: aliases, booleans, help, configs that print and read back, completion, the manual."""

import re
import shutil
import subprocess
import tomllib

import pytest
from test_training_process import PROGRAM, run

COMMANDS = ["get", "tokenize", "train", "attach", "perplexity", "generate", "chat", "read", "session", "reproduce"]


def config_of(*arguments):
    result = run([PROGRAM, *arguments, "--print-config"])
    assert result.returncode == 0, result.stderr
    return tomllib.loads(result.stdout)


def test_short_flags_and_aliases_are_those_of_llama_cpp():
    config = config_of("generate", "-m", "a.gguf", "-c", "512", "-t", "2", "-f", "prompt.txt", "--temp", "0.5", "-s", "7",
                       "-n", "9", "--ignore-eos", "--samples", "3")
    assert config["context"] == 512 and config["threads"] == 2 and config["file"] == "prompt.txt"
    assert config["temperature"] == 0.5 and config["seed"] == 7 and config["max_tokens"] == 9
    assert config["ignore_end"] is True and config["samples"] == 3
    long = config_of("generate", "--model", "a.gguf", "--ctx-size", "512", "--n-predict", "9")
    assert long["context"] == 512 and long["max_tokens"] == 9
    assert config_of("perplexity", "-m", "a", "-f", "b.txt", "-c", "64")["text"] == ["b.txt"]


def test_precision_and_skipped_probabilities_are_flags_of_every_command_with_a_model():
    for command in ("perplexity", "generate", "chat"):
        config = config_of(command, "-m", "a.gguf", "--precision", "bf16", "--skip-probability-below", "0.001")
        assert config["precision"] == "bf16" and config["skip_probability_below"] == 0.001
    trained = config_of("train", "--out", "run", "--precision", "bf16", "--objective.skip-probability-below", "0.001")
    assert trained["precision"] == "bf16" and trained["objective"]["skip_probability_below"] == 0.001
    wrong = run([PROGRAM, "perplexity", "-m", "a.gguf", "--precision", "fp8"])
    assert wrong.returncode == 1 and "fp32, bf16" in wrong.stderr


def test_booleans_take_no_and_values_and_show_their_default():
    def packed(*flags):
        return config_of("train", "--out", "run", *flags)["data"]["packed"]

    assert packed() and packed("--data.packed") and packed("--data.packed", "true")
    assert not packed("--no-data.packed") and not packed("--data.packed", "false") and not packed("--data.packed=false")
    help_text = run([PROGRAM, "train", "--help"]).stdout
    assert "(default: true; --no-data.packed" in " ".join(help_text.split())
    assert "(default: false)" in run([PROGRAM, "generate", "--help"]).stdout


def test_a_printed_config_reads_back_to_the_same_config(tmp_path):
    flags = ["--layer.size", "96", "--optimizer.lr", "3e-4", "--no-data.packed", "--data.train", 'a "quoted" file',
             "--out", "run"]
    (tmp_path / "a.toml").write_text(run([PROGRAM, "train", *flags, "--print-config"]).stdout)
    again = config_of("train", "--config", tmp_path / "a.toml")
    assert again == tomllib.loads((tmp_path / "a.toml").read_text())
    assert again["optimizer"]["lr"] == 3e-4 and again["data"]["train"] == 'a "quoted" file'


def test_help_and_version_are_commands_too():
    for name in COMMANDS:
        assert run([PROGRAM, "help", name]).stdout == run([PROGRAM, name, "--help"]).stdout
    version, flag = (run([PROGRAM, word]).stdout.splitlines() for word in ("version", "--version"))
    assert version[0] == flag[0] and version[0].startswith("fwl ")  # other lines are measured
    unknown = run([PROGRAM, "help", "generat"])
    assert unknown.returncode == 2 and "did you mean generate?" in unknown.stderr


def test_an_unknown_flag_is_answered_with_a_near_one_or_with_none():
    def error(*arguments):
        result = run([PROGRAM, *arguments])
        assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
        return result.stderr

    assert "did you mean --temperature?" in error("generate", "-m", "a", "--temprature", "1")
    assert "did you mean --context?" in error("generate", "-m", "a", "-context", "1")
    assert "did you mean" not in error("generate", "-m", "a", "-z", "5")
    assert "fwl generate --help" in error("generate", "-m", "a", "-z", "5")


def bash_completions(*words):
    script = subprocess.run([PROGRAM, "completion", "bash"], capture_output=True, text=True, check=True).stdout
    quoted = " ".join(f"'{word}'" for word in ["fwl", *words])
    script += f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _fwl; printf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr, result.stderr
    return result.stdout.split()


def test_bash_completes_commands_flags_and_choices():
    assert bash_completions("gen") == ["generate"]
    assert bash_completions("help", "tok") == ["tokenize"]
    assert bash_completions("generate", "--temp") == ["--temperature", "--temp"]
    assert bash_completions("generate", "--adapt", "o") == ["off"]
    assert bash_completions("get", "smo") == ["smollm2"]
    assert "--no-data.packed" in bash_completions("train", "--no-")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_every_command_and_flag(shell):
    text = subprocess.run([PROGRAM, "completion", shell], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  (\S+)", run([PROGRAM, "--help"]).stdout, re.M)
    assert len(listed) > 15 and all(name in text for name in listed)
    flag = "-l ctx-size" if shell == "fish" else "--ctx-size["
    assert flag in text and ("-s c " if shell == "fish" else "*-c[") in text
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", "/dev/stdin"], input=text, text=True).returncode == 0


def test_the_manual_page_has_every_command_and_no_warnings():
    page = run([PROGRAM, "man"]).stdout
    assert page.startswith(".TH FWL 1") and all(f".SS fwl {name}\n" in page for name in COMMANDS)
    assert "\\-\\-temperature" in page and "\\-\\-temp" in page
    if shutil.which("man"):
        shown = subprocess.run(["man", "--warnings", "-l", "-"], input=page, capture_output=True, text=True,
                               env={"LC_ALL": "C.UTF-8", "MANWIDTH": "100", "PATH": "/usr/bin:/bin"})
        assert "--ctx-size" in shown.stdout and not shown.stderr, shown.stderr
