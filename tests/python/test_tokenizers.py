"""Ids equal those of PyPI's tokenizers, and every byte string comes back."""

import random

import numpy as np
import pytest
from mixed_text import MixedText, every_code_point
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre

import fwl

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")


def pattern(text):
    return pre.Sequence([pre.Split(Regex(text), "isolated"), pre.ByteLevel(add_prefix_space=False, use_regex=False)])


STYLES = {
    "gpt2": pre.ByteLevel(add_prefix_space=False),
    "smollm": pre.Sequence([pre.Digits(individual_digits=True), pre.ByteLevel(add_prefix_space=False)]),
    "llama3": pattern(LLAMA3),
    "qwen2": pattern(LLAMA3.replace("{1,3}", "")),
}


def train(style, folder):
    tokenizer = Tokenizer(models.BPE(ignore_merges=style == "llama3"))
    tokenizer.pre_tokenizer = STYLES[style]
    tokenizer.decoder = decoders.ByteLevel()
    if style == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=pre.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<|endoftext|>", "<|im_start|>"])
    tokenizer.train_from_iterator([MixedText(7).make(300_000)], trainer)
    tokenizer.add_tokens([AddedToken("unconer", single_word=True), AddedToken("::", normalized=True)])
    path = folder / style / "tokenizer.json"
    path.parent.mkdir()
    tokenizer.save(str(path))
    return tokenizer, path


@pytest.fixture(scope="module", params=list(STYLES))
def pair(request, tmp_path_factory):
    peer, path = train(request.param, tmp_path_factory.mktemp("tokenizers"))
    return peer, fwl.open_tokenizer(str(path))


def first_difference(peer, ours, texts):
    for text, encoding in zip(texts, peer.encode_batch_fast(texts)):
        if not np.array_equal(ours.encode(text, special=True), encoding.ids):
            return text
    return None


def shorten(peer, ours, text):
    """The shortest failing half of a half …, for a message that a reader can use."""
    while text:
        middle = len(text) // 2
        half = first_difference(peer, ours, [text[:middle], text[middle:]])
        if half is None:
            break
        text = half
    return text


def assert_equal_ids(peer, ours, texts):
    text = first_difference(peer, ours, texts)
    if text is not None:
        text = shorten(peer, ours, text)
        assert ours.encode(text, special=True).tolist() == peer.encode(text).ids, ascii(text[:200])


def test_ids_equal_the_peers_on_mixed_text(pair):
    source = MixedText(11)
    assert_equal_ids(*pair, [source.make(20_000) for _ in range(100)])


def test_ids_equal_the_peers_around_every_code_point(pair):
    text = every_code_point()
    assert_equal_ids(*pair, [text[i : i + 50_000] for i in range(0, len(text), 50_000)])


def test_plain_text_holds_no_control_tokens(pair):
    peer, ours = pair
    peer = type(peer).from_str(peer.to_str())
    peer.encode_special_tokens = True
    for text in [MixedText(17).make(20_000) for _ in range(10)]:
        assert ours.encode(text).tolist() == peer.encode(text).ids


def test_every_byte_string_comes_back(pair):
    _, ours = pair
    source = random.Random(3)
    texts = [source.randbytes(source.randrange(3000)) for _ in range(100)]
    texts.append(MixedText(5).make(50_000).encode() + b"\xff\xc3\x28\xf0\x9f\x98")
    keeps_text = ours.decode(ours.encode("e\u0301")) == "e\u0301".encode()
    for text in texts if keeps_text else []:
        assert ours.decode(ours.encode(text)) == text


def test_the_older_pair_of_files_gives_the_same_ids(tmp_path):
    peer, path = train("gpt2", tmp_path)
    peer.model.save(str(tmp_path))
    text = MixedText(13).make(100_000).replace("unconer", "").replace("::", "").replace("<|im_start|>", "")
    assert np.array_equal(fwl.open_tokenizer(str(tmp_path)).encode(text), fwl.open_tokenizer(str(path)).encode(text))


def test_errors_are_one_line_and_python_exceptions(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "WordPiece"}}')
    with pytest.raises(fwl.UserError, match="expected BPE or Unigram, got WordPiece"):
        fwl.open_tokenizer(str(tmp_path))
    with pytest.raises(fwl.UserError, match="no such file"):
        fwl.open_tokenizer(str(tmp_path / "nothing"))


def test_bytes_are_a_vocabulary_too():
    ours = fwl.open_tokenizer("bytes")
    assert ours.encode(b"\x00\xff").tolist() == [0, 255]
    assert ours.decode(ours.encode("é")) == "é".encode()
    assert (ours.kind, ours.vocabulary_size, ours.end_token) == ("byte", 256, None)
