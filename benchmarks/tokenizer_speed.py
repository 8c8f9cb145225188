"""Speed of byte-level BPE, ours and PyPI's tokenizers, on one thread each, in the same run.

Usage: python benchmarks/tokenizer_speed.py [text file] [tokenizer.json]
Without arguments: 8 MB of generated text whose words follow Zipf's law, and vocabularies trained on the spot.
Documents of about 10 kB are encoded one after the other. The first pass starts with empty caches.
Processor time is counted, so that other programs on the machine do not matter much.
"""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"

import random
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, models, trainers
from tokenizers import pre_tokenizers as pre

import fwl

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
STYLES = {
    "gpt2": pre.ByteLevel(add_prefix_space=False),
    "smollm": pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]),
    "llama3": pre.Sequence([pre.Split(Regex(LLAMA3), "isolated"),
                            pre.ByteLevel(add_prefix_space=False, use_regex=False)]),
}


def generated_text(size):
    """Sentences of 200,000 made-up words with Zipf's frequencies, a tenth of them not in Latin script, and numbers."""
    source = random.Random(1)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    weights = [1 / (i + 2) for i in range(len(letters))]
    words = []
    for _ in range(200_000):
        length = source.randint(1, 5) + source.randint(0, 6)
        word = "".join(source.choices(letters, weights, k=length))
        if source.random() < 0.1:
            start = source.choice([0x3B1, 0x430, 0x5D0, 0x4E00, 0xAC00])
            word = "".join(chr(start + ord(letter) - 97) for letter in word)
        words.append(word if source.random() < 0.9 else word.capitalize())
    ranks = np.random.default_rng(1).zipf(1.2, size // 5) % len(words)
    parts, length = [], 0
    for i, rank in enumerate(ranks):
        part = str(int(rank)) if i % 40 == 7 else words[rank]
        part += ".\n\n" if i % 97 == 0 else ", " if i % 11 == 0 else " "
        parts.append(part)
        length += len(part.encode())
        if length >= size:
            break
    return "".join(parts)


def documents_of(text, size=10_000):
    return [text[i : i + size] for i in range(0, len(text), size)]


def train(style, documents, folder):
    tokenizer = Tokenizer(models.BPE(ignore_merges=style == "llama3"))
    tokenizer.pre_tokenizer = STYLES[style]
    trainer = trainers.BpeTrainer(vocab_size=16000, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<|endoftext|>"])
    tokenizer.train_from_iterator(documents, trainer)
    path = str(Path(folder) / f"{style}.json")
    tokenizer.save(path)
    return path


def speed(encode, documents):
    """MB/s of two passes, and the ids of the second."""
    size = sum(len(document.encode()) for document in documents) / 1e6
    speeds = []
    for _ in range(2):
        start = time.process_time()
        ids = [encode(document) for document in documents]
        speeds.append(size / (time.process_time() - start))
    return speeds, ids


def measure(name, path, documents):
    ours, peer = fwl.open_tokenizer(path), Tokenizer.from_file(path)
    our_speeds, our_ids = speed(ours.encode, documents)
    peer_speeds, encodings = speed(lambda text: peer.encode_batch_fast([text])[0], documents)
    is_equal = all(np.array_equal(a, b.ids) for a, b in zip(our_ids, encodings))
    for row, our, other in zip(("first pass", "second pass"), our_speeds, peer_speeds):
        print(f"| {name} | {row} | {our:.1f} | {other:.1f} | {our / other:.1f}x | {'equal' if is_equal else 'DIFFERENT'} |")


def main(arguments=()):
    text = Path(arguments[0]).read_text(errors="replace") if arguments else generated_text(8_000_000)
    documents = documents_of(text)
    print(f"Byte-level BPE, one thread, {len(text.encode()) / 1e6:.1f} MB, MB/s")
    print("| vocabulary | pass | fwl | tokenizers | ratio | ids |\n|---|---|---|---|---|---|")
    if len(arguments) > 1:
        return measure(Path(arguments[1]).parent.name, arguments[1], documents)
    with tempfile.TemporaryDirectory() as folder:
        for style in STYLES:
            measure(style, train(style, documents[:100], folder), documents)


if __name__ == "__main__":
    main(sys.argv[1:])
