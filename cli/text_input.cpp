#include "cli/text_input.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "data/token_file.h"
#include "data/tokenize.h"
#include "files/folder.h"
#include "parallel/rank_group.h"

namespace fwl {

namespace fs = std::filesystem;

Field& add_fields(Fields& fields, TextInput& input) {
  auto& text = fields.add("text", input.text, "text files and folders to train on, or one token file").short_name("f");
  fields.add("valid_text", input.valid_text, "text files and folders to validate on, or one token file");
  fields.add("documents", input.documents, "document boundaries, as for fwl tokenize");
  return text;
}

std::string token_file_of(const std::vector<std::string>& text, const std::string& documents,
                          const std::string& tokenizer, const std::string& path, Console& console) {
  if (text.size() == 1 && is_token_file(text.front())) return text.front();
  TokenizeOptions options;
  options.corpus.inputs = text;
  options.corpus.documents = documents;
  options.out = path;
  options.tokenizer_name = fs::path(tokenizer).filename().string();
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  on_first_rank(this_group(), [&] {
    make_folder(fs::path(path).parent_path().string());
    tokenize_corpus(*open_tokenizer(tokenizer), options, console.progress("tokenize"));
  });
  return path;
}

}  // namespace fwl
