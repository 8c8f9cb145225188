// The prompt format of a published model: whether texts start with a begin token, and the chat template.
#pragma once

#include <string>

namespace fwl {

struct PromptConventions {
  bool adds_begin = false;
  std::string chat_template;         // empty: none
  std::string begin_text, end_text;  // of the begin and end tokens; empty: none
};

// From a GGUF file or a Hugging Face folder; a folder without a tokenizer_config.json has no conventions.
PromptConventions read_prompt_conventions(const std::string& path);

}  // namespace fwl
