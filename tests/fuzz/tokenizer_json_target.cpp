#include <stdexcept>

#include "fuzz/fuzz_target.h"
#include "tokenizer/bpe_files.h"
#include "tokenizer/bpe_samples.h"
#include "tokenizer/json_field.h"

namespace fwl {
namespace {

constexpr std::string_view probe = "I'll say the inn's 1234 \xC3\xA9\xFF\xE4\xBD\xA0  aaaa\n\n<|endoftext|>the<x>  ";

// A vocabulary that says that it loses nothing must give the probe back.
void run(std::string_view bytes) {
  const auto tokenizer = tokenizer_from_json("input.json", parse_json_object("input.json", bytes), "");
  const auto* byte_level = dynamic_cast<const BpeTokenizer*>(tokenizer.get());
  for (const auto& text : {MarkedText::plain(std::string(probe)), MarkedText::all_markup(std::string(probe))}) {
    const auto decoded = tokenizer->decode(tokenizer->encode(text));
    if (byte_level && byte_level->is_lossless() && decoded != probe)
      throw std::logic_error("the probe did not come back");
  }
  (void)tokenizer->hash();
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

// BPE over characters with spaces as marks, as in Llama 2.
nlohmann::json piece_sample() {
  return {{"model",
           {{"type", "BPE"},
            {"byte_fallback", true},
            {"unk_token", "<unk>"},
            {"fuse_unk", true},
            {"vocab",
             {{"<unk>", 0}, {"<0x41>", 1}, {"\u2581", 2}, {"t", 3}, {"h", 4}, {"th", 5}, {"\u2581th", 6}, {"a", 7}}},
            {"merges", {"t h", "\u2581 th"}}}},
          {"normalizer",
           {{"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}}},
          {"decoder", {{"type", "Strip"}, {"content", " "}, {"start", 1}}},
          {"added_tokens", {{{"id", 8}, {"content", "<|endoftext|>"}, {"special", true}}}}};
}

nlohmann::json unigram_sample() {
  auto vocabulary = nlohmann::json::array();
  const char* pieces[] = {"<unk>", "\u2581", "t", "h", "\u2581th", "e", "a"};
  for (size_t index = 0; index < std::size(pieces); ++index)
    vocabulary.push_back({pieces[index], -1.5 * static_cast<double>(index)});
  return {{"model", {{"type", "Unigram"}, {"unk_id", 0}, {"vocab", vocabulary}}},
          {"pre_tokenizer", {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}}},
          {"added_tokens", {{{"id", 7}, {"content", "<|endoftext|>"}, {"special", true}}}}};
}

}  // namespace

FuzzTarget tokenizer_json_target() {
  return {"tokenizer_json",
          {sample_tokenizer_json().dump(), richer_sample().dump(), piece_sample().dump(), unigram_sample().dump()},
          run};
}

}  // namespace fwl
