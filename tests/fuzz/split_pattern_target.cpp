#include "fuzz/fuzz_target.h"
#include "tokenizer/encode_budget.h"
#include "tokenizer/split_pattern.h"

namespace fwl {
namespace {

constexpr std::string_view text = "I'll say 1234 \u00e9\u4f60  aaaaaaaaaaaaaaaaaaaaaaaa!\r\n\n\t x";

// A pattern as it stands in a tokenizer.json, on a text that makes it go back and forth.
void run(std::string_view bytes) {
  const SplitPattern pattern("input.json", bytes);
  const std::string where = "input.json";
  EncodeBudget budget(where, text.size());
  SplitPattern::Workspace workspace;
  workspace.budget = &budget;
  SplitPattern::Match match;
  for (size_t from = 0; pattern.find(text, from, match, workspace); from = match.end)
    if (match.end <= from || match.end > text.size()) throw std::logic_error("a match that does not go on");
}

}  // namespace

FuzzTarget split_pattern_target() {
  return {"split_pattern",
          {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
           R"((?i:'s|'t|'re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+)",
           R"([\p{Han}\x{3040}-\x{30ff}]+|(?<=a)b|(a+)+$|\bx\b|\d)"},
          run};
}

}  // namespace fwl
