#include "tokenizer/prompt_conventions.h"

#include <filesystem>
#include <vector>

#include "files/gguf.h"
#include "files/memory_map.h"
#include "tokenizer/json_field.h"
#include "tokenizer/pre_tokenizer.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

PromptConventions gguf_conventions(const GgufFile& file) {
  PromptConventions conventions;
  const bool is_sentencepiece = file.get_or<std::string_view>("tokenizer.ggml.model", "") == "llama";
  const bool is_llama3 = takes_whole_pieces(file.get_or<std::string_view>("tokenizer.ggml.pre", ""));
  conventions.adds_begin = file.get_or("tokenizer.ggml.add_bos_token", is_sentencepiece || is_llama3);
  conventions.chat_template = file.get_or<std::string_view>("tokenizer.chat_template", "");
  const auto tokens = file.get<std::vector<std::string_view>>("tokenizer.ggml.tokens");
  const auto text_of = [&](const char* key) {
    const auto id = file.get_or<int64_t>(key, -1);
    return id >= 0 && id < static_cast<int64_t>(tokens.size()) ? std::string(tokens[static_cast<size_t>(id)]) : "";
  };
  conventions.begin_text = text_of("tokenizer.ggml.bos_token_id");
  conventions.end_text = text_of("tokenizer.ggml.eos_token_id");
  return conventions;
}

// "<s>" or {"content": "<s>", …}
std::string token_text(const std::string& where, const nlohmann::json& entry) {
  if (entry.is_string()) return entry.get<std::string>();
  return entry.is_object() ? json_field<std::string>(where, entry, "content") : "";
}

// A template, or the one named "default" in a list.
std::string template_text(const std::string& where, const nlohmann::json& entry) {
  if (entry.is_string()) return entry.get<std::string>();
  if (!entry.is_array()) return {};
  for (const auto& one : entry)
    if (one.is_object() && json_field<std::string>(where, one, "name", "") == "default")
      return json_field<std::string>(where, one, "template");
  return {};
}

// tokenizer.json: {"post_processor": {"single": [{"SpecialToken": …}, …]}}, alone or one of several "processors".
bool begins_with_special(const nlohmann::json& processor) {
  if (!processor.is_object()) return false;
  for (const auto& inner : json_or_null(processor, "processors"))
    if (begins_with_special(inner)) return true;
  const auto& single = json_or_null(processor, "single");
  return single.is_array() && !single.empty() && single.front().is_object() && single.front().contains("SpecialToken");
}

PromptConventions folder_conventions(const fs::path& folder) {
  PromptConventions conventions;
  const auto config_path = (folder / "tokenizer_config.json").string();
  if (!fs::exists(config_path)) return conventions;
  const auto config = parse_json_object(config_path, MemoryMap(config_path).text());
  conventions.chat_template = template_text(config_path, json_or_null(config, "chat_template"));
  conventions.begin_text = token_text(config_path, json_or_null(config, "bos_token"));
  conventions.end_text = token_text(config_path, json_or_null(config, "eos_token"));
  if (const auto apart = (folder / "chat_template.jinja").string(); fs::exists(apart))
    conventions.chat_template = MemoryMap(apart).text();
  const auto vocabulary = (folder / "tokenizer.json").string();
  conventions.adds_begin = json_field(config_path, config, "add_bos_token", false);
  if (!config.contains("add_bos_token") && fs::exists(vocabulary))
    conventions.adds_begin = begins_with_special(
        json_or_null(parse_json_object(vocabulary, MemoryMap(vocabulary).text()), "post_processor"));
  return conventions;
}

}  // namespace

PromptConventions read_prompt_conventions(const std::string& path) {
  if (fs::is_directory(path)) return folder_conventions(path);
  if (fs::path(path).extension() == ".gguf") return gguf_conventions(GgufFile(path));
  return {};
}

}  // namespace fwl
