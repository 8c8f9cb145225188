// Finds where text may be cut without changing the ids of byte-level BPE with a published split pattern.
#pragma once

#include <cstddef>
#include <string_view>

namespace fwl {

// The length of the longest prefix of `text` that ends at a safe cut, or 0. Two kinds of cuts are safe:
//  1. before a space that follows a character other than whitespace;
//  2. after a single newline between two characters other than whitespace, the second of which is not a slash.
// Why this is safe for the split patterns of GPT-2, SmolLM, Llama 3 and similar ones: a piece consists of characters of
// one kind (letters, digits, others), optionally with one space before and line ends (and slashes) after it, or of
// whitespace only. So no piece crosses a cut, however the text continues. The only look-ahead, `\s+(?!\S)`, applies
// within runs of whitespace: cut 1 has none before it, and cut 2 has a run of one, which is one piece either way.
// After a cut of kind 1 the rest starts with a space. Vocabularies that add a space to their text must use only this
// kind.
size_t last_split_cut(std::string_view text, bool only_before_spaces = false);

}  // namespace fwl
