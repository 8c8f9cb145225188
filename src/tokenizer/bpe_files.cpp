#include "tokenizer/bpe_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/bpe_json.h"
#include "tokenizer/json_field.h"
#include "tokenizer/piece_bpe_tokenizer.h"
#include "tokenizer/unigram_json.h"

namespace fwl {
namespace {

nlohmann::json read_merge_lines(const MemoryMap& map) {
  auto merges = nlohmann::json::array();
  const auto text = map.text();
  for (size_t start = 0; start < text.size();) {
    const auto end = std::min(text.find('\n', start), text.size());
    auto line = text.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool is_heading = start == 0 && line.starts_with("#version");
    if (!line.empty() && !is_heading) merges.push_back(line);
    start = end + 1;
  }
  return merges;
}

// Begin and end are looked up among the added tokens, as for BPE.
std::unique_ptr<Tokenizer> unigram_from_json(const std::string& where, const nlohmann::json& root,
                                             std::string_view config_json) {
  BpeVocabulary ends;
  for (const auto& entry : json_or_null(root, "added_tokens"))
    ends.added.push_back(
        {.id = static_cast<TokenId>(ends.added.size()), .content = json_field<std::string>(where, entry, "content")});
  find_begin_and_end(where, config_json, ends);
  const auto text = [&](std::optional<TokenId> id) {
    return id ? ends.added[static_cast<size_t>(*id)].content : std::string();
  };
  return open_unigram_json(where, root, text(ends.begin), text(ends.end));
}

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(const std::string& where, const nlohmann::json& root,
                                               std::string_view config_json) {
  const auto& model = json_member(where, root, "model");
  if (json_field<std::string>(where, model, "type", "BPE") == "Unigram")
    return unigram_from_json(where, root, config_json);
  const bool is_piecewise = json_field<bool>(where, model, "byte_fallback", false);
  auto vocabulary = is_piecewise ? vocabulary_from_json(where, root) : parse_tokenizer_json(where, root);
  find_begin_and_end(where, config_json, vocabulary);
  if (!is_piecewise) return std::make_unique<BpeTokenizer>(where, std::move(vocabulary));
  return std::make_unique<PieceBpeTokenizer>(where, std::move(vocabulary), parse_space_marks(where, root));
}

std::unique_ptr<Tokenizer> open_tokenizer_json(const std::string& path) {
  const auto root = parse_json_object(path, MemoryMap(path).text());
  const auto config = (std::filesystem::path(path).parent_path() / "tokenizer_config.json").string();
  if (!std::filesystem::exists(config)) return tokenizer_from_json(path, root, "");
  const MemoryMap map(config);
  return tokenizer_from_json(path, root, map.text());
}

std::unique_ptr<BpeTokenizer> open_vocab_and_merges(const std::string& vocab_json, const std::string& merges_txt) {
  const MemoryMap vocab(vocab_json), merges(merges_txt);
  nlohmann::json root;
  root["model"]["vocab"] = parse_json_object(vocab_json, vocab.text());
  root["model"]["merges"] = read_merge_lines(merges);
  constexpr auto end_of_text = "<|endoftext|>";
  const auto& tokens = root["model"]["vocab"];
  if (const auto found = tokens.find(end_of_text); found != tokens.end())
    root["added_tokens"][0] = {{"id", *found}, {"content", end_of_text}, {"special", true}};
  auto vocabulary = vocabulary_from_json(vocab_json, root);
  vocabulary.splits = {gpt2_step()};
  find_begin_and_end(vocab_json, "", vocabulary);
  return std::make_unique<BpeTokenizer>(vocab_json, std::move(vocabulary));
}

}  // namespace fwl
