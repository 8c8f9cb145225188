#include "inspect/describe_file.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/token_file.h"
#include "inspect/describe_model.h"
#include "support/error.h"
#include "support/json.h"
#include "support/printable.h"
#include "tokenizer/tokenizer.h"

namespace fwl {
namespace {

using nlohmann::json;

constexpr std::string_view known_formats =
    "a GGUF, safetensors, tokenizer or token file, a Hugging Face folder or an adapter";

json describe_tokenizer(const std::string& path) {
  const auto tokenizer = open_tokenizer(path);
  json metadata = {{"kind", tokenizer->kind()},
                   {"vocabulary_size", tokenizer->vocabulary_size()},
                   {"hash", to_hex(tokenizer->hash())}};
  if (const auto token = tokenizer->begin_token()) metadata["begin_token"] = *token;
  if (const auto token = tokenizer->end_token()) metadata["end_token"] = *token;
  return {{"format", "tokenizer"}, {"metadata", metadata}};
}

json describe_tokens(const std::string& path) {
  const TokenFile file(path);
  int64_t bytes = 0, words = 0, lines = 0;
  for (int64_t i = 0; i < file.document_count(); ++i) {
    const auto document = file.document(i);
    bytes += document.byte_count;
    words += document.word_count;
    lines += document.line_count;
  }
  return {{"format", "token file"},
          {"metadata",
           {{"tokens", file.size()},
            {"documents", file.document_count()},
            {"bytes_per_id", file.bytes_per_id()},
            {"vocabulary_size", file.vocabulary_size()},
            {"tokenizer", file.tokenizer_kind()},
            {"tokenizer_name", file.tokenizer_name()},
            {"tokenizer_hash", to_hex(file.tokenizer_hash())},
            {"ids_hash", to_hex(file.ids_hash())},
            {"text_bytes", bytes},
            {"text_words", words},
            {"text_lines", lines}}}};
}

json describe_json(const std::string& path, std::string_view text) {
  const auto content = parse_json(path, text);
  if (content.contains("model") && content["model"].is_object()) return describe_tokenizer(path);
  if (content.contains("weight_map"))
    fail(path, "the folder of a sharded model", "its index", "give the folder instead");
  fail(path, known_formats, "another JSON file");
}

// An adapter (store/adapter_folder.h): its description with dotted names, and its tensors.
json describe_adapter(const std::string& folder) {
  const auto description_path = folder + "/adapter.json", tensor_path = folder + "/adapter.safetensors";
  auto result = describe(SafetensorsFile(tensor_path));
  result["format"] = "adapter";
  result["metadata"] = json::object();
  const auto content = parse_json(description_path, MemoryMap(description_path).text());
  for (const auto& [key, value] : content.items()) {
    if (!value.is_object()) result["metadata"][key] = value;
    if (value.is_object())
      for (const auto& [inner, setting] : value.items()) result["metadata"][key + "." + inner] = setting;
  }
  return result;
}

json describe_folder(const std::string& path) {
  if (std::filesystem::exists(path + "/adapter.json")) return describe_adapter(path);
  return is_huggingface_folder(path) ? describe(HuggingFaceFolder(path)) : describe_tokenizer(path);
}

bool starts_with_token_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof token_file_magic &&
         std::memcmp(bytes.data(), token_file_magic, sizeof token_file_magic) == 0;
}

bool is_vocabulary_name(const std::string& path) {
  const auto extension = std::filesystem::path(path).extension();
  return extension == ".vocab" || extension == ".model";
}

json describe_content(const std::string& path, const MemoryMap& map, size_t longest_array) {
  const auto bytes = map.bytes();
  if (looks_like_gguf(bytes)) return describe(GgufFile(path, bytes), longest_array);
  if (starts_with_token_magic(bytes)) return describe_tokens(path);
  if (looks_like_safetensors(bytes)) return describe(SafetensorsFile(path, bytes));
  if (is_vocabulary_name(path)) return describe_tokenizer(path);
  const auto first = map.text().find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && map.text()[first] == '{') return describe_json(path, map.text());
  fail(path, known_formats,
       map.size() ? fmt::format("a file that begins with '{}'", printable(map.text().substr(0, 8))) : "an empty file");
}

}  // namespace

json describe_file(const std::string& path, size_t longest_array) {
  const bool is_folder = std::filesystem::is_directory(path);
  json description;
  if (is_folder) {
    description = describe_folder(path);
  } else {
    const MemoryMap map(path);
    description = describe_content(path, map, longest_array);
    description["file_bytes"] = map.size();
  }
  description["path"] = path;
  return description;
}

}  // namespace fwl
