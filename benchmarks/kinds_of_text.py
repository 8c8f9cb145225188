"""What memories in the blocks do to texts of many kinds: static and blocks, document by document.

python benchmarks/kinds_of_text.py OUT.json [FILE...] [--model smollm2 --bytes 9500 --method blocks --adapter A]

Without files: prose, code, markup and data that any Debian machine and this project have. Every text is cut to its first
bytes and starts anew; one with fewer than 2,000 tokens is left out. Prints a table, and writes what was measured to OUT.json.
"""

import argparse
import hashlib
import json
import math
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from pathlib import Path

from safetensors import safe_open

ROOT = Path(__file__).resolve().parents[1]
STANDARD = Path(sysconfig.get_path("stdlib"))
LICENSES = Path("/usr/share/common-licenses")
LEAST_TOKENS = 2000


def usual_files():
    own = [ROOT / name for name in ("docs/fast-weights.md", "docs/training.md", "docs/generation.md", "docs/serving.md",
                                    "docs/models.md", "CMakeLists.txt", "src/base/decoder.cpp", "src/model/language_model.cpp",
                                    "web/app.js", "tests/python/test_reproduce.py", "results/here/enwik8-sparse-fwl-0.jsonl",
                                    "results/here/enwik8-sparse.svg", "results/README.md")]
    library = [STANDARD / name for name in ("argparse.py", "turtle.py", "datetime.py", "html/entities.py",
                                            "json/decoder.py", "pydoc_data/topics.py", "encodings/cp037.py", "idlelib/help.html",
                                            "idlelib/CREDITS.txt", "idlelib/News3.txt")]
    debian = [LICENSES / name for name in ("GPL-3", "GFDL-1.3", "MPL-2.0", "Artistic")]
    system = [Path("/usr/include/stdio.h"), Path("/usr/include/math.h"), Path("/etc/mime.types"), Path("/etc/services"),
              Path("/usr/share/perl/5.36/CPAN.pm"), Path("/usr/share/zoneinfo/tzdata.zi")]
    return [path for path in own + library + debian + system if path.is_file()]


def shown(path):
    for folder, name in ((ROOT, ""), (STANDARD, "python/")):
        if path.is_relative_to(folder):
            return name + str(path.relative_to(folder))
    return str(path)


def scored(program, options, folder):
    losses = folder / "losses.nll"
    command = [program, "perplexity", "--model", options.model, "--text", *sorted(map(str, folder.glob("*.txt"))), "--protocol",
               "stream", "--context", str(options.context), "--reset", "document", "--method", "static", options.method,
               "--save-nll", str(losses), "--json"]
    if options.adapter:
        command += ["--adapter", options.adapter]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with safe_open(losses, "pt") as file:
        documents = file.get_tensor("documents").tolist()
        both = [file.get_tensor(f"nll.{method}").tolist() for method in ("static", options.method)]
    sums = defaultdict(lambda: [0, 0.0, 0.0])
    for document, static, adapted in zip(documents, *both, strict=True):
        sums[document][0] += 1
        sums[document][1] += static
        sums[document][2] += adapted
    return [sums[document] for document in sorted(sums)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--adapter")
    parser.add_argument("--method", default="blocks")
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--bytes", type=int, default=9500, help="of each text")
    parser.add_argument("--program", default=str(ROOT / "build/release/fwl"))
    options = parser.parse_args()
    texts = options.files or usual_files()
    with tempfile.TemporaryDirectory() as name:
        for number, path in enumerate(texts):
            text = path.read_bytes()[: options.bytes].decode("utf-8", "ignore")
            Path(name, f"{number:03}.txt").write_text(text)
        results = scored(options.program, options, Path(name))
    assert len(results) == len(texts), "every text is one document"
    rows = []
    for path, (tokens, static, adapted) in zip(texts, results, strict=True):
        if tokens >= LEAST_TOKENS:
            rows.append({"text": shown(path), "tokens": tokens, "static": math.exp(static / tokens),
                         "adapted": math.exp(adapted / tokens), "change": math.exp((adapted - static) / tokens) - 1,
                         "sha256": hashlib.sha256(path.read_bytes()[: options.bytes]).hexdigest()})
    rows.sort(key=lambda row: row["change"])
    print("| text | tokens | static | with fast weights | change |\n|---|---:|---:|---:|---:|")
    for row in rows:
        print(f"| {row['text']} | {row['tokens']:,} | {row['static']:.2f} | {row['adapted']:.2f} | {100 * row['change']:+.1f} % |")
    settings = {name: str(value) for name, value in vars(options).items() if name not in ("out", "files", "program")}
    options.out.write_text(json.dumps({"command": " ".join(["python", *sys.argv]), "settings": settings, "texts": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
