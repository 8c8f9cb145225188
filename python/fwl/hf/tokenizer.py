"""The vocabularies of models trained by `fwl train` as fast tokenizers."""

import json
import os

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from fwl import _C
from fwl.hf.sentencepiece import sentencepiece_tokenizer

END_OF_LINE, UNKNOWN = "<eos>", "<unk>"


class FwlTokenizerFast(PreTrainedTokenizerFast):
    """Gives the ids that fwl's own tokenizers give."""

    model_input_names = ["input_ids", "attention_mask"]

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path, *arguments, **options):
        path = os.fspath(pretrained_model_name_or_path)
        if os.path.exists(os.path.join(path, "tokenizer_config.json")):
            return super().from_pretrained(path, *arguments, **options)
        with open(os.path.join(path, "config.json"), encoding="utf-8") as file:
            vocabulary = json.load(file).get("tokenizer", {}).get("file", "")
        own = _C.open_tokenizer(vocabulary if vocabulary == "bytes" else os.path.join(path, vocabulary))
        tokenizer = fast_tokenizer(vocabulary, os.path.join(path, vocabulary))
        special = {name: tokenizer.id_to_token(token) for name, token in
                   (("bos_token", own.begin_token), ("eos_token", own.end_token)) if token is not None}
        if tokenizer.token_to_id(UNKNOWN) is not None:
            special["unk_token"] = UNKNOWN
        return cls(tokenizer_object=tokenizer, clean_up_tokenization_spaces=False, name_or_path=path, **special)


def fast_tokenizer(vocabulary: str, path: str) -> Tokenizer:
    """The tokenizer of a vocabulary by the name that a model's config has."""
    if vocabulary == "bytes":
        return byte_tokenizer()
    if vocabulary.endswith(".json"):
        return Tokenizer.from_file(path)
    if vocabulary.endswith(".vocab"):
        return word_tokenizer(path)
    if vocabulary.endswith(".model"):
        return sentencepiece_tokenizer(path)
    raise _C.UserError(f"{path}: expected bytes, a tokenizer.json, .model or .vocab file as the vocabulary, got "
                       f"{vocabulary or 'none'}; fwl.open_tokenizer opens more kinds")


def byte_tokenizer() -> Tokenizer:
    """Every byte is its own token."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    tokenizer = Tokenizer(models.BPE({letters[byte]: byte for byte in range(256)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def word_tokenizer(path: str) -> Tokenizer:
    """Words between white space; the end of a line is a token of its own."""
    with open(path, encoding="utf-8", newline="\n") as file:
        words = [line.split("\t")[0] for line in file]
    tokenizer = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Replace("\n", f" {END_OF_LINE} ")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[ \t\x0b\x0c\r]+"), "removed")
    tokenizer.decoder = decoders.Sequence([
        decoders.Replace(Regex(f"^(?!{END_OF_LINE}$)"), " "), decoders.Replace(END_OF_LINE, "\n"), decoders.Fuse(),
        decoders.Replace("\n ", "\n"), decoders.Strip(" ", 1, 0)])
    return tokenizer
