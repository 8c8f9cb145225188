#include "tokenizer/bpe_files.h"

#include <fmt/format.h>

#include <filesystem>

#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/bpe_json.h"
#include "tokenizer/json_field.h"

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

}  // namespace

std::unique_ptr<BpeTokenizer> open_tokenizer_json(const std::string& path) {
  auto vocabulary = parse_tokenizer_json(path, MemoryMap(path).text());
  const auto config = (std::filesystem::path(path).parent_path() / "tokenizer_config.json").string();
  if (std::filesystem::exists(config)) {
    const MemoryMap map(config);
    find_begin_and_end(config, map.text(), vocabulary);
  } else {
    find_begin_and_end(path, "", vocabulary);
  }
  return std::make_unique<BpeTokenizer>(path, std::move(vocabulary));
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
