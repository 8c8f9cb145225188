"""Vocabularies in the style of SentencePiece: ids equal those of PyPI's tokenizers, from tokenizer.json and GGUF."""

import json

import fwl
import gguf
import pytest
from mixed_text import MixedText
from tokenizers import Tokenizer, decoders, models, normalizers, trainers
from tokenizers import pre_tokenizers as pre

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SPECIAL = ["<unk>", "<s>", "</s>", "<start_of_turn>", "<end_of_turn>"]
MARK = "▁"


@pytest.fixture(scope="module")
def texts():
    text = MixedText(11).make(120_000)
    lines = [text[start:start + 400] for start in range(0, len(text), 400)]
    return ["", " ", "  two  spaces ", "a\n\n\nb\t\tc", "😀 café", "\u2581 marked"] + lines


@pytest.fixture(scope="module")
def scored():
    """Pieces with scores, as in a SentencePiece model: bytes and characters first, then merges in order."""
    trained = Tokenizer(models.BPE(unk_token="<unk>"))
    trained.pre_tokenizer = pre.Metaspace(replacement=MARK, prepend_scheme="always")
    trainer = trainers.BpeTrainer(vocab_size=2500, special_tokens=SPECIAL + BYTES, show_progress=False, limit_alphabet=300)
    trained.train_from_iterator([MixedText(7).make(200_000)], trainer)
    pieces = sorted(trained.get_vocab().items(), key=lambda item: item[1])
    return {piece: -float(index) for piece, index in pieces}


def peer_of(scored, normalizer, pre_tokenizer, folder):
    """A tokenizer whose merges follow from the scores: every way to make a piece, best piece first."""
    ids = {piece: index for index, piece in enumerate(scored)}
    merges = []
    for piece in sorted((piece for piece in scored if piece not in SPECIAL + BYTES), key=scored.get, reverse=True):
        merges += [(piece[:cut], piece[cut:]) for cut in range(1, len(piece)) if piece[:cut] in ids and piece[cut:] in ids]
    peer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        peer.normalizer = normalizer
    if pre_tokenizer:
        peer.pre_tokenizer = pre_tokenizer
    peer.decoder = decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse()])
    peer.add_special_tokens(SPECIAL)
    folder.mkdir(exist_ok=True)
    peer.save(str(folder / "tokenizer.json"))
    return peer


def marks(*steps):
    return normalizers.Sequence([*steps, normalizers.Replace(" ", MARK)])


STYLES = {
    "llama2": (marks(normalizers.Prepend(MARK)), None),
    "gemma": (normalizers.Replace(" ", MARK), pre.Split(" ", "merged_with_previous")),
    "mistral": (None, pre.Metaspace(replacement=MARK, prepend_scheme="first", split=False)),
    "split": (None, pre.Metaspace(replacement=MARK, prepend_scheme="always", split=True)),
}


@pytest.mark.parametrize("style", STYLES)
def test_bpe_that_falls_back_to_bytes_equals_tokenizers(style, scored, texts, tmp_path):
    peer = peer_of(scored, *STYLES[style], tmp_path)
    ours = fwl.open_tokenizer(str(tmp_path))
    chat = "<start_of_turn>user\nhello  there<end_of_turn>\n<start_of_turn>model\n"
    for text in texts + [chat, " " + chat]:
        assert list(ours.encode(text, special=True)) == peer.encode(text, add_special_tokens=False).ids, text[:60]
    assert ours.decode(ours.encode("a café 😀\n")).decode().lstrip(" ") == "a café 😀\n"


@pytest.mark.parametrize("adds_space", (True, False))
def test_sentencepiece_with_scores_inside_gguf_equals_tokenizers(adds_space, scored, texts, tmp_path):
    normalizer = marks(normalizers.Prepend(MARK)) if adds_space else normalizers.Replace(" ", MARK)
    peer = peer_of(scored, normalizer, None, tmp_path)
    ours = fwl.open_tokenizer(write_vocabulary(tmp_path / "model.gguf", scored, adds_space))
    chat = "<start_of_turn>user\nhello  there<end_of_turn>\n<start_of_turn>model\n"
    for text in texts + [chat]:
        if MARK not in text:
            assert list(ours.encode(text, special=True)) == peer.encode(text, add_special_tokens=False).ids, text[:60]
    plain = ours.encode("<end_of_turn>")
    assert list(scored).index("<end_of_turn>") not in plain  # only markup makes control tokens
    assert ours.decode(ours.encode("a café 😀\n")).decode() == "a café 😀\n"


def write_vocabulary(path, scored, adds_space, architecture="gemma3"):
    kinds = gguf.TokenType
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(scored))
    writer.add_token_scores(list(scored.values()))
    writer.add_token_types([kinds.UNKNOWN if piece == "<unk>" else kinds.CONTROL if piece in SPECIAL
                            else kinds.BYTE if piece in BYTES else kinds.NORMAL for piece in scored])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(adds_space)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return str(path)


def test_unigram_equals_tokenizers(texts, tmp_path):
    peer = Tokenizer(models.Unigram())
    peer.pre_tokenizer = pre.Metaspace(replacement=MARK, prepend_scheme="always")
    peer.decoder = decoders.Metaspace(replacement=MARK, prepend_scheme="always")
    trainer = trainers.UnigramTrainer(vocab_size=2000, special_tokens=["<unk>", "<s>", "</s>"], unk_token="<unk>",
                                      show_progress=False)
    peer.train_from_iterator([MixedText(7).make(100_000)], trainer)
    peer.save(str(tmp_path / "tokenizer.json"))
    ours = fwl.open_tokenizer(str(tmp_path))
    scores = [score for _, score in json.loads((tmp_path / "tokenizer.json").read_text())["model"]["vocab"]]
    scores[0] = min(scores) - 10  # the unknown token
    for text in (text.replace("\0", "") for text in texts if MARK not in text):  # the library has no piece for zeros
        got, expected = list(ours.encode(text)), peer.encode(text, add_special_tokens=False).ids
        if got != expected:  # cuts of equal score are equally good
            assert sum(scores[id] for id in got) == pytest.approx(sum(scores[id] for id in expected), abs=1e-3), text


@pytest.mark.parametrize("change, message", [
    ({"model": {"type": "WordPiece", "vocab": {}}}, "model: expected BPE or Unigram, got WordPiece"),
    ({"normalizer": {"type": "Lowercase"}}, "normalizer: expected steps that mark spaces"),
    ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer: expected Metaspace, got Whitespace"),
])
def test_what_is_not_supported_is_one_clear_error(change, message, scored, tmp_path):
    peer_of(scored, *STYLES["llama2"], tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(fwl.UserError, match=message):
        fwl.open_tokenizer(str(path))


def test_an_unknown_split_pattern_names_the_known_ones(tmp_path):
    writer = gguf.GGUFWriter(str(tmp_path / "model.gguf"), "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("bloom")
    writer.add_token_list([*(chr(letter) for letter in range(33, 127)), "ab"])
    writer.add_token_merges(["a b"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(fwl.UserError, match="tokenizer.ggml.pre: expected one of .*llama-bpe.*qwen2.*smollm.*, got 'bloom'"):
        fwl.open_tokenizer(str(tmp_path / "model.gguf"))
