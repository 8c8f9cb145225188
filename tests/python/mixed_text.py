"""Deterministic text of many kinds, for comparing tokenizers: scripts, code, emoji, spaces, numbers, contractions."""

import random

SCRIPTS = {
    "latin": [(0x41, 0x5B), (0x61, 0x7B), (0xC0, 0x250)],
    "greek": [(0x370, 0x400)],
    "cyrillic": [(0x400, 0x530)],
    "hebrew": [(0x591, 0x5F5)],
    "arabic": [(0x600, 0x700)],
    "devanagari": [(0x900, 0x980)],
    "thai": [(0xE00, 0xE5C)],
    "cjk": [(0x3041, 0x30FF), (0x4E00, 0x9FFF)],
    "hangul": [(0xAC00, 0xD7A4), (0x1100, 0x1200)],
    "marks": [(0x61, 0x7B), (0x300, 0x370)],
}
SYLLABLES = "the an in re to of con ing er ly tion ed st qu o a i mp ar ble ch ea un ss th wh y l d".split()
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'M", "'LL", "'D", "’s", "'\u017f", "'x"]
SPACES = [" ", "  ", "   ", "\t", "\t\t", "\n", "\n\n", " \n", "\r\n", "\u00a0", "\u2028", "\u3000", "\u0085", "\u200b",
          "\u180e", "\u2003 ", " \u3000 ", "\x0b", "\x0c", "\x1c", "\ufeff", " " * 17, "\n" * 5]
EMOJI = ["😀", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "🧑‍🚀"]
CODE = ["def f(x):\n    return x**2  # square\n", "for (int i = 0; i < n; ++i) {\n\t\ta[i] += b[i];\n}\n",
        "SELECT * FROM t WHERE id='42';\n", "<a href=\"x\">y</a>", "#include <vector>\n", "x=1;y=2.5e-10;z=0xFF\n"]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|endoftext", "<<|endoftext|>>", "<|im_start|><|im_start|>"]


class MixedText:
    def __init__(self, seed):
        self.random = random.Random(seed)
        weights = [1 / (rank + 3) for rank in range(6000)]
        self.words = self.random.choices([self.word() for _ in range(6000)], weights, k=40000)

    def word(self):
        word = "".join(self.random.choices(SYLLABLES, k=self.random.randint(1, 5)))
        return self.random.choice([word, word, word, word.capitalize(), word.upper()])

    def english(self):
        words = [self.random.choice(self.words) for _ in range(self.random.randint(3, 30))]
        if self.random.random() < 0.4:
            words[-1] += self.random.choice(CONTRACTIONS)
        return " ".join(words) + self.random.choice([".", ",", "!", "?\n", "...", "; ", ".\n\n", " (", ") ", "—", '"'])

    def foreign(self):
        ranges = self.random.choice(list(SCRIPTS.values()))
        points = [self.random.randrange(*self.random.choice(ranges)) for _ in range(self.random.randint(1, 12))]
        return "".join(map(chr, points)) + self.random.choice(["", " ", " "])

    def number(self):
        return self.random.choice([str(self.random.randrange(10 ** self.random.randint(1, 12))),
                                   f"{self.random.random():.4f}", "1,234,567.89", "٣٤٥", "Ⅷ", "½²", "3rd"])

    def broken(self):
        return bytes(self.random.randrange(256) for _ in range(self.random.randint(1, 9))).decode("utf-8", "replace")

    def make(self, size):
        kinds = [self.english] * 8 + [self.foreign] * 6 + [self.number] * 2 + [self.broken]
        lists = [CODE, EMOJI, SPACES, SPACES, SPECIAL, CONTRACTIONS]
        parts, length = [], 0
        while length < size:
            make = self.random.choice(kinds + lists)
            parts.append(self.random.choice(make) if isinstance(make, list) else make())
            length += len(parts[-1].encode())
        return "".join(parts)


# Where one code point is like the next, some will do.
LARGE_BLOCKS = [(0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0xE000, 0xF900), (0x12000, 0x12540),
                (0x13000, 0x14400), (0x17000, 0x18D00), (0x1B170, 0x1B2FC), (0x20000, 0x33480), (0x33480, 0x110000)]


def every_code_point():
    """Each code point between letters, digits and spaces; of large blocks the first, the last and a sample."""
    points = set(range(0x20000)) - set(range(0xD800, 0xE000))
    for first, end in LARGE_BLOCKS:
        points -= set(range(first + 1, end - 1))
        points |= set(range(first, end, 1 + (end - first) // 100)) | {end - 1}
    return "".join(f"a{chr(p)}b1{chr(p)} {chr(p)}{chr(p)} " for p in sorted(points))
