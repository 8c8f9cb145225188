// Recognises the kind of vocabulary at a path, and opens it.
#include <algorithm>
#include <filesystem>

#include "files/memory_map.h"
#include "support/error.h"
#include "tokenizer/bpe_files.h"
#include "tokenizer/byte_tokenizer.h"
#include "tokenizer/gguf_tokenizer.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/word_tokenizer.h"

namespace fwl {
namespace {

namespace fs = std::filesystem;

constexpr auto expectation =
    "a vocabulary: bytes, a tokenizer.json, .gguf, .model or .vocab file, or a folder that holds one";

std::unique_ptr<Tokenizer> open_folder(const fs::path& folder) {
  const auto inside = [&](const char* name) { return (folder / name).string(); };
  if (fs::exists(inside("tokenizer.json"))) return open_tokenizer(inside("tokenizer.json"));
  if (fs::exists(inside("vocab.json")) && fs::exists(inside("merges.txt")))
    return open_vocab_and_merges(inside("vocab.json"), inside("merges.txt"));
  for (const auto* extension : {".model", ".vocab", ".gguf"})
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == extension) return open_tokenizer(entry.path().string());
  fail(folder.string(), expectation, "a folder without any");
}

}  // namespace

std::vector<TokenId> Tokenizer::end_tokens() const {
  const auto end = end_token();
  return end ? std::vector<TokenId>{*end} : std::vector<TokenId>{};
}

bool Tokenizer::ends_answer(TokenId id) const {
  const auto ends = end_tokens();
  return std::ranges::find(ends, id) != ends.end();
}

std::string_view Tokenizer::without_end(std::string_view text, TokenId last) const {
  const auto end = ends_answer(last) ? text_of(last) : std::string();
  return text.starts_with(end) ? text.substr(end.size()) : text;
}

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
  if (path == "bytes") return std::make_unique<ByteTokenizer>();
  if (fs::is_directory(path)) return open_folder(path);
  const auto extension = fs::path(path).extension();
  if (extension == ".vocab") return std::make_unique<WordTokenizer>(path, load_word_vocabulary(path));
  if (extension == ".gguf") return open_gguf_tokenizer(GgufFile(path));
  if (extension == ".model") return std::make_unique<SentencePieceTokenizer>(path, MemoryMap(path).text());
  if (extension == ".json") return open_tokenizer_json(path);
  fail(path, expectation, fs::exists(path) ? "something else" : "no such file");
}

}  // namespace fwl
