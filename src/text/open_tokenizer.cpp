// Finds out what kind of vocabulary a path holds, and opens it.
#include <filesystem>

#include "support/error.h"
#include "text/byte_tokenizer.h"
#include "text/tokenizer.h"
#include "text/word_tokenizer.h"

namespace fwl {

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path) {
  if (path == "bytes") return std::make_unique<ByteTokenizer>();
  const auto extension = std::filesystem::path(path).extension();
  if (extension == ".vocab") return std::make_unique<WordTokenizer>(path, load_word_vocabulary(path));
  fail(path, "a vocabulary: bytes, a tokenizer.json, .gguf, .model or .vocab file, or a folder that holds one",
       std::filesystem::exists(path) ? "something else" : "no such file");
}

}  // namespace fwl
