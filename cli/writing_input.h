// What the commands that write or read with a session share: the model, its session file, and its prompts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/model_input.h"
#include "generate/writer.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {

struct WritingInput : ModelInput {
  std::string session;
  std::string adapt = "write", long_text = "auto";
  int64_t context = 0;
};

void add_fields(Fields& fields, WritingInput& input);

// The opened model with a session: that of the file if there is one, otherwise a new one.
class WritingDesk {
 public:
  WritingDesk(const WritingInput& input, Console& console);

  const LanguageModel& model() const { return *opened_.model; }
  const Tokenizer& tokenizer() const { return *opened_.model->tokenizer(); }
  const PromptConventions& conventions() const { return conventions_; }
  Adaptation adaptation() const { return adaptation_; }
  Session& session() { return session_; }
  Writer writer() { return {model(), session_}; }

  // With the begin token where the model wants one at the start of a text.
  std::vector<TokenId> encode(std::string_view text) const;
  // The same, with at least one token for a session that has read nothing: there must be something to go on from.
  std::vector<TokenId> encode_prompt(std::string_view text) const;

  const std::string& path() const { return path_; }  // of the session's file; empty: it has none
  void set_path(std::string path) { path_ = std::move(path); }
  void save() const;

 private:
  std::string path_;
  Adaptation adaptation_;
  OpenedModel opened_;
  PromptConventions conventions_;
  Session session_;
};

}  // namespace fwl
