// Where text may be cut so that byte-level BPE with a published split pattern gives the ids of the whole.
#pragma once

#include <cstddef>
#include <string_view>

namespace fwl {

// The length of the longest prefix of `text` that ends at such a place, or 0. Two kinds of places are used:
//  1. before a space that follows a character that is no whitespace;
//  2. after a single newline between two characters that are no whitespace, the second being no slash.
// Why they are safe for the split patterns of GPT-2, SmolLM, Llama-3 and their kin: a piece is one kind of characters
// (letters, digits, others), perhaps with one space in front, perhaps with line ends (and slashes) behind, or it is all
// whitespace. So no piece goes on over 1 or 2, however the text continues. The only look-ahead, `\s+(?!\S)`, is asked
// inside runs of whitespace: 1 has none before it, and 2 has a run of one, which is one piece with and without it.
// A cut of kind 1 leaves a rest that starts with a space, as needed where a vocabulary puts a space before its text;
// such vocabularies must ask for that kind alone.
size_t last_split_cut(std::string_view text, bool only_before_spaces = false);

}  // namespace fwl
