// How vocabularies in the style of SentencePiece write spaces: as the mark U+2581, with one before the text or not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace fwl {

inline constexpr std::string_view space_mark = "\xE2\x96\x81";

struct SpaceMarks {
  // A mark before the text: none, at the start of the whole text unless it has one, the same for every part between
  // added tokens, or before every such part whatever it starts with.
  enum class Before { nothing, text, part, every_part };

  bool replaces_spaces = false;
  Before before = Before::nothing;
  bool splits = false;          // pieces never cross a mark
  bool removes_runs = false;    // runs of spaces become one
  bool strips_decoded = false;  // decoding drops the first space
  std::string character_table;  // SentencePiece's compiled normalization; empty: none

  std::string marked(std::string_view part, bool is_first) const;
};

// From the normalizer, pre_tokenizer and decoder of a tokenizer.json. Throws UserError for kinds that are not known.
SpaceMarks parse_space_marks(const std::string& where, const nlohmann::json& root);

}  // namespace fwl
