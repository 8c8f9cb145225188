#include <cstring>

#include "fuzz/fuzz_target.h"
#include "tokenizer/sentencepiece_model.h"
#include "tokenizer/sentencepiece_tokenizer.h"

namespace fwl {
namespace {

void run(std::string_view bytes) {
  const SentencePieceTokenizer tokenizer("input.model", bytes);
  (void)tokenizer.decode(tokenizer.encode("Abc  ab\xC3\xA9\n\xFF A"));
}

// A table that turns "A" into "a": a trie of two blocks, whose second holds the children of the root and their values.
std::string lower_case_table() {
  std::vector<uint32_t> units(512);
  units[0] = 256U << 10;
  units[256 ^ 'A'] = (256U ^ 'A' ^ 511U) << 10 | 1U << 8 | 'A';
  units[511] = 1U << 31;
  const auto trie_bytes = static_cast<uint32_t>(units.size() * sizeof units[0]);
  std::string table(sizeof trie_bytes + trie_bytes, '\0');
  std::memcpy(table.data(), &trie_bytes, sizeof trie_bytes);
  std::memcpy(table.data() + sizeof trie_bytes, units.data(), trie_bytes);
  return table + std::string("a\0", 2);
}

SentencePieceModel sample() {
  SentencePieceModel model;
  model.pieces = {{"<unk>", 0, 2}, {"<s>", 0, 3}, {"</s>", 0, 3}, {"ab", -1, 1},
                  {"a", -2, 1},    {"b", -3, 1},  {"c", -4, 1},   {"\u2581", -5, 1}};
  return model;
}

}  // namespace

FuzzTarget sentencepiece_target() {
  auto normalizing = sample();
  normalizing.normalization_table = lower_case_table();
  return {"sentencepiece", {to_bytes(sample()), to_bytes(normalizing)}, run};
}

}  // namespace fwl
