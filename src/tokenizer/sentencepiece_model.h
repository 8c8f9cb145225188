// Writes a SentencePiece model from plain data, for vocabularies that come in other files.
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
  bool falls_back_to_bytes = false;
  bool adds_space = true;                // in front of every text
  std::string normalization_table = {};  // as the library compiles it; empty: text stays as it is
  std::string begin = "<s>", end = "</s>";
};

// The bytes of a .model file: merges by score.
std::string to_bytes(const SentencePieceModel& model);

}  // namespace fwl
