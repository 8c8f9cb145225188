"""SentencePiece models as fast tokenizers, read without the library that wrote them."""

import struct
from typing import Iterator, Union

from tokenizers import Regex, Tokenizer, decoders, models, normalizers

SPACE = "\u2581"
UNKNOWN_PIECE = 2


def fields(message: bytes) -> Iterator[tuple[int, Union[int, float, bytes]]]:
    """The numbers and values of a protocol buffer's fields."""
    place = 0

    def varint() -> int:
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
            continue
        size = {1: 8, 5: 4}[kind] if kind != 2 else varint()
        value = message[place:place + size]
        place += size
        yield tag >> 3, struct.unpack("<f", value)[0] if kind == 5 else value


def byte_pair_merges(pieces: list[tuple[str, float]]) -> list[tuple[str, str]]:
    """The merges that lead to the pieces, the best first."""
    ranks = {piece: index for index, (piece, _) in enumerate(pieces)}
    merges = []
    for piece, score in pieces:
        splits = [(piece[:cut], piece[cut:]) for cut in range(1, len(piece))]
        known = [split for split in splits if split[0] in ranks and split[1] in ranks]
        merges += [(score, left, right) for left, right in sorted(known, key=lambda s: (ranks[s[0]], ranks[s[1]]))]
    merges.sort(key=lambda merge: (merge[0], len(merge[1]), len(merge[2])), reverse=True)
    return [(left, right) for _, left, right in merges]


def sentencepiece_tokenizer(path: str) -> Tokenizer:
    """The tokenizer of a .model file that fwl.open_tokenizer has accepted."""
    with open(path, "rb") as file:
        parts = list(fields(file.read()))
    entries = [dict(fields(value)) for number, value in parts if number == 1]
    trainer, rules = ({key: value for part, message in parts if part == number for key, value in fields(message)}
                      for number in (2, 3))
    pieces = [(entry[1].decode(), entry.get(2, 0.0)) for entry in entries]
    unknown = next((index for index, entry in enumerate(entries) if entry.get(3, 1) == UNKNOWN_PIECE), None)
    has_bytes = bool(trainer.get(35, 0))
    if trainer.get(3, 1) == 2:
        tokenizer = Tokenizer(models.BPE({piece: index for index, (piece, _) in enumerate(pieces)},
                                         byte_pair_merges(pieces), unk_token=None if unknown is None else pieces[unknown][0],
                                         fuse_unk=True, byte_fallback=has_bytes))
    else:
        tokenizer = Tokenizer(models.Unigram(pieces, unknown, has_bytes))
    steps = [normalizers.Precompiled(rules[2])] if rules.get(2) else []
    if rules.get(4, 1):
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    if rules.get(3, 1):
        steps.append(normalizers.Prepend(" "))
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", SPACE)])
    ends = [decoders.Strip(" ", 1, 0)] if rules.get(3, 1) else []
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse(), *ends])
    return tokenizer
