// Serialises a SentencePiece model, for vocabularies that come in other file formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fwl {

struct SentencePieceModel {
  struct Piece {
    std::string text;
    float score = 0;
    int64_t type = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  };
  std::vector<Piece> pieces;  // by id
  bool is_unigram = false;    // or BPE
  bool falls_back_to_bytes = false;
  bool adds_space = true;                // before every text
  bool removes_extra_spaces = false;     // runs become one, and none at the ends
  std::string normalization_table = {};  // as compiled by the library; empty: no normalization
  std::string begin = "<s>", end = "</s>";
};

// The library needs pieces that are unique, not empty and without zeros, and all bytes or none: replaces others by
// unused ones, and falls back to bytes if all are there.
void replace_unusable(SentencePieceModel& model);

// The bytes of a .model file.
std::string to_bytes(const SentencePieceModel& model);

}  // namespace fwl
