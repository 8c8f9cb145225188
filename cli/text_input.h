// Text to train on: files and folders that are tokenized on the way, or token files.
#pragma once

#include <string>
#include <vector>

#include "cli/console.h"
#include "support/fields.h"

namespace fwl {

struct TextInput {
  std::vector<std::string> text, valid_text;
  std::string documents = "file";
};

Field& add_fields(Fields& fields, TextInput& input);  // returns the field of the text

// The token file of a text: the one that was given, or one that is made at `path`.
std::string token_file_of(const std::vector<std::string>& text, const std::string& documents,
                          const std::string& tokenizer, const std::string& path, Console& console);

}  // namespace fwl
