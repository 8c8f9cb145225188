#include "tokenizer/bpe_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "support/error.h"
#include "tokenizer/json_field.h"
#include "tokenizer/pre_tokenizer_json.h"

namespace fwl {
namespace {

using Json = nlohmann::json;

void refuse_settings(const std::string& where, const Json& model) {
  for (const auto* name : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (!json_field<std::string>(where, model, name, "").empty())
      fail(where + ": " + name, "none", "one", "only byte-level BPE is supported");
  if (json_field<double>(where, model, "dropout", 0.0) != 0.0)
    fail(where + ": dropout", "none", "some", "dropout would make ids random");
}

// Ids may have gaps. The limit keeps one wrong id from allocating gigabytes.
void place_token(const std::string& where, std::string name, const Json& id, size_t limit, BpeVocabulary& vocabulary) {
  if (!id.is_number_integer() || id < 0 || id >= limit)
    fail(fmt::format("{}: token '{}'", where, name), fmt::format("an id below {}", limit), json_number_or_kind(id));
  const auto index = id.get<size_t>();
  if (index >= vocabulary.tokens.size()) vocabulary.tokens.resize(index + 1);
  auto& slot = vocabulary.tokens[index];
  if (!slot.empty() && slot != name)
    fail(fmt::format("{}: token '{}'", where, name), "an id of its own", fmt::format("{}, which is '{}'", index, slot));
  slot = std::move(name);
}

void read_merges(const std::string& where, const Json& merges, BpeVocabulary& vocabulary) {
  if (!merges.is_array()) fail(where + ": merges", "a list", merges.type_name());
  vocabulary.merges.reserve(merges.size());
  for (const auto& merge : merges) {
    const auto label = fmt::format("{}: merge {}", where, vocabulary.merges.size() + 1);
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      vocabulary.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
    } else if (merge.is_string()) {
      vocabulary.merges.push_back(split_merge(label, merge.get_ref<const std::string&>()));
    } else {
      fail(label, "two tokens", merge.type_name());
    }
  }
}

AddedToken read_added_token(const std::string& where, const Json& entry) {
  AddedToken token;
  token.content = json_field<std::string>(where, entry, "content");
  token.is_special = json_field<bool>(where, entry, "special", false);
  token.is_single_word = json_field<bool>(where, entry, "single_word", false);
  token.takes_space_before = json_field<bool>(where, entry, "lstrip", false);
  token.takes_space_behind = json_field<bool>(where, entry, "rstrip", false);
  token.is_normalized = json_field<bool>(where, entry, "normalized", !token.is_special);
  return token;
}

}  // namespace

BpeVocabulary vocabulary_from_json(const std::string& where, const Json& root) {
  BpeVocabulary vocabulary;
  const auto& model = json_member(where, root, "model");
  const auto type = json_field<std::string>(where, model, "type", "BPE");
  if (type != "BPE") fail(where + ": model", "BPE or Unigram", type, "other kinds of vocabularies are not supported");
  refuse_settings(where, model);
  const auto& tokens = json_member(where, model, "vocab");
  if (!tokens.is_object()) fail(where + ": vocab", "tokens with their ids", tokens.type_name());
  const auto& added = json_or_null(root, "added_tokens");
  if (!added.is_array() && !added.is_null()) fail(where + ": added_tokens", "a list", added.type_name());
  const size_t limit = 2 * (tokens.size() + added.size()) + 65536;
  for (const auto& [name, id] : tokens.items()) place_token(where, name, id, limit, vocabulary);
  for (const auto& entry : added) {
    auto token = read_added_token(where, entry);
    if (token.content.empty()) fail(where + ": added_tokens", "a token with content", "an empty one");
    const auto known = tokens.find(token.content);
    const auto& id = json_member(where, entry, "id");
    if (known != tokens.end() && *known != id)
      fail(fmt::format("{}: added token '{}'", where, token.content), "the id of the vocabulary",
           json_number_or_kind(id));
    place_token(where, token.content, id, limit, vocabulary);
    token.id = id.get<TokenId>();
    vocabulary.added.push_back(std::move(token));
  }
  read_merges(where, json_member(where, model, "merges"), vocabulary);
  vocabulary.ignores_merges = json_field<bool>(where, model, "ignore_merges", false);
  vocabulary.fuses_unknown = json_field<bool>(where, model, "fuse_unk", false);
  const auto unknown = json_field<std::string>(where, model, "unk_token", "");
  if (unknown.empty()) return vocabulary;
  const auto found = tokens.find(unknown);
  if (found == tokens.end()) fail(where + ": unk_token", "a token of the vocabulary", fmt::format("'{}'", unknown));
  vocabulary.unknown = found->get<TokenId>();
  return vocabulary;
}

BpeVocabulary parse_tokenizer_json(const std::string& where, std::string_view json) {
  return parse_tokenizer_json(where, parse_json_object(where, json));
}

BpeVocabulary parse_tokenizer_json(const std::string& where, const Json& root) {
  auto vocabulary = vocabulary_from_json(where, root);
  vocabulary.splits = parse_pre_tokenizer(where + ": pre_tokenizer", json_or_null(root, "pre_tokenizer"));
  vocabulary.is_nfc = asks_for_nfc(where + ": normalizer", json_or_null(root, "normalizer"));
  return vocabulary;
}

void find_begin_and_end(const std::string& where, std::string_view config_json, BpeVocabulary& vocabulary) {
  const auto find = [&](std::string_view name) -> std::optional<TokenId> {
    for (const auto& token : vocabulary.added)
      if (token.content == name) return token.id;
    return std::nullopt;
  };
  const auto choose = [&](std::optional<TokenId>& id, std::initializer_list<const char*> names) {
    for (const auto* name : names)
      if (!id) id = find(name);
  };
  if (config_json.empty()) {
    choose(vocabulary.begin, {"<|begin_of_text|>", "<s>", "<|im_start|>"});
    choose(vocabulary.end, {"<|end_of_text|>", "</s>", "<|im_end|>", "<|endoftext|>"});
    return;
  }
  const auto config = parse_json_object(where, config_json);
  const auto named = [&](const char* key) -> std::optional<TokenId> {
    const auto& entry = json_or_null(config, key);
    if (entry.is_string()) return find(entry.get_ref<const std::string&>());
    if (entry.is_object()) return find(json_field<std::string>(where, entry, "content"));
    return std::nullopt;
  };
  vocabulary.begin = named("bos_token");
  vocabulary.end = named("eos_token");
}

}  // namespace fwl
