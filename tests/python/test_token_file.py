"""Token files written by the program, read in Python."""

import hashlib
import subprocess
from pathlib import Path

import numpy
import pytest

import fwl

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "release" / "fwl"


@pytest.fixture
def token_file(tmp_path):
    (tmp_path / "text").write_bytes(b" = Fox = \n\nRed.\n\n = Ox \xc3\xa9 = \n\nBig and slow.\n")
    out = tmp_path / "text.tokens"
    command = [PROGRAM, "tokenize", "--tokenizer", "bytes", "--documents", "article", "--out", out, tmp_path / "text"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def test_ids_are_a_read_only_view_that_keeps_the_file_mapped(token_file, tmp_path):
    ids = fwl.TokenFile(str(token_file)).ids
    token_file.unlink()
    assert ids.dtype == numpy.uint16
    assert bytes(ids.astype(numpy.uint8)) == (tmp_path / "text").read_bytes()
    with pytest.raises(ValueError):
        ids[0] = 1


def test_documents_and_hashes_are_those_of_the_text(token_file):
    file = fwl.TokenFile(str(token_file))
    assert [file.document(i).name for i in range(file.document_count)] == ["Fox", "Ox é"]
    last = file.document(-1)
    assert last.first_token + last.token_count == len(file)
    assert (last.byte_count, last.word_count, last.line_count) == (27, 7, 3)
    assert file.document_at(last.first_token) == 1
    assert file.data_hash == hashlib.sha256(file.ids.tobytes()).hexdigest()
    assert file.tokenizer_kind == "byte" and file.vocabulary_size == 256
    file.verify()
    with pytest.raises(IndexError):
        file.document(2)


def test_ids_start_where_torch_can_map_them(token_file):
    import torch

    file = fwl.TokenFile(str(token_file))
    whole = torch.from_file(str(token_file), shared=False, size=128 + len(file), dtype=torch.uint16)
    assert whole[128:].numpy().tolist() == file.ids.tolist()


def test_a_damaged_file_is_a_user_error(token_file):
    damaged = bytearray(token_file.read_bytes())
    damaged[40] ^= 1
    token_file.write_bytes(damaged)
    with pytest.raises(fwl.UserError, match="SHA-256"):
        fwl.TokenFile(str(token_file))
