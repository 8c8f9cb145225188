#include <stdexcept>

#include "fuzz/fuzz_target.h"
#include "tokenizer/bpe_json.h"
#include "tokenizer/bpe_samples.h"

namespace fwl {
namespace {

constexpr std::string_view probe = "I'll say the inn's 1234 \xC3\xA9\xFF\xE4\xBD\xA0  aaaa\n\n<|endoftext|>the<x>  ";

// A vocabulary that says that it loses nothing must give the probe back.
void run(std::string_view bytes) {
  auto vocabulary = parse_tokenizer_json("input.json", bytes);
  find_begin_and_end("input.json", "", vocabulary);
  const BpeTokenizer tokenizer("input.json", std::move(vocabulary));
  for (const auto& text : {MarkedText::plain(std::string(probe)), MarkedText::all_markup(std::string(probe))})
    if (tokenizer.decode(tokenizer.encode(text)) != probe && tokenizer.is_lossless())
      throw std::logic_error("the probe did not come back");
  (void)tokenizer.hash();
}

// Every kind of step and flag.
nlohmann::json richer_sample() {
  auto root = sample_tokenizer_json();
  root["model"]["ignore_merges"] = true;
  root["model"]["merges"][0] = {"t", "h"};
  root["model"]["unk_token"] = "th";
  root["normalizer"] = {{"type", "NFC"}};
  root["added_tokens"].push_back({{"id", 263}, {"content", "<x>"}, {"lstrip", true}, {"single_word", true}});
  root["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       {{{"type", "Digits"}, {"individual_digits", true}},
        {{"type", "Split"}, {"pattern", {{"Regex", R"([^\s\p{L}]+|\s+(?!\S)|\s+)"}}}, {"behavior", "Isolated"}},
        {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}}}};
  return root;
}

}  // namespace

FuzzTarget tokenizer_json_target() {
  return {"tokenizer_json", {sample_tokenizer_json().dump(), richer_sample().dump()}, run};
}

}  // namespace fwl
