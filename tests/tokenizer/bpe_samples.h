// Small byte-level BPE vocabularies, made in code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "tokenizer/byte_alphabet.h"

namespace fwl {

// All bytes in order (ids 0 to 255), then "th", "the", " the", "in", "aa", "aaaa", and <|endoftext|> as 262.
inline nlohmann::json sample_tokenizer_json() {
  nlohmann::json root;
  auto& vocab = root["model"]["vocab"];
  for (int byte = 0; byte < 256; ++byte) vocab[name_of_byte(static_cast<unsigned char>(byte))] = byte;
  int next = 256;
  for (const auto* token : {"th", "the", "Ġthe", "in", "aa", "aaaa"}) vocab[token] = next++;
  root["model"]["type"] = "BPE";
  root["model"]["merges"] = {"t h", "th e", "Ġ the", "i n", "a a", "aa aa"};
  root["added_tokens"] = {{{"id", next},
                           {"content", "<|endoftext|>"},
                           {"special", true},
                           {"single_word", false},
                           {"lstrip", false},
                           {"rstrip", false},
                           {"normalized", false}}};
  root["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  root["normalizer"] = nullptr;
  return root;
}

}  // namespace fwl
