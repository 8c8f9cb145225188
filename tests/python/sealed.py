"""Checksums as fwl writes them, for tests that change its files."""

import hashlib

BLANK = "0" * 64


def with_checksum(content):
    """The SHA-256 of the bytes in place of its zeros."""
    return content.replace(BLANK.encode(), hashlib.sha256(content).hexdigest().encode())
