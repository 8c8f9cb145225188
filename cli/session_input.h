// What the commands that generate or read with a session share: the model, its session file, and its prompts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/model_input.h"
#include "generate/generator.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {

struct SessionInput : ModelInput {
  std::string session;
  std::string adapt = "prompt", long_text = "auto";
  int64_t context = 0;
};

void add_fields(Fields& fields, SessionInput& input);

// The opened model with a session: that of the file if there is one, otherwise a new one.
class OpenedSession {
 public:
  OpenedSession(SessionInput input, Console& console);

  const LanguageModel& model() const { return *opened_.model; }
  const Tokenizer& tokenizer() const { return *opened_.model->tokenizer(); }
  const PromptConventions& conventions() const { return conventions_; }
  // Of texts that are given, and of those that are generated: a model need not learn from its own output.
  Adaptation reading() const { return reading_; }
  Adaptation generating() const { return generating_; }
  Session& session() { return session_; }
  Generator generator() { return {model(), session_}; }

  // With the begin token where the model wants one at the start of a text.
  std::vector<TokenId> encode(std::string_view text) const;
  // The same, with at least one token for a session that has read nothing: there must be something to go on from.
  std::vector<TokenId> encode_prompt(std::string_view text) const;

  const std::string& path() const { return path_; }  // of the session's file; empty: it has none
  void set_path(std::string path) { path_ = std::move(path); }
  void save() const;

 private:
  std::string path_;
  Adaptation reading_, generating_;
  OpenedModel opened_;
  PromptConventions conventions_;
  Session session_;
};

// How far the fast weights have moved; empty without any.
std::vector<DriftFigure> drift_of(const LanguageModel& model, const Session& session);

}  // namespace fwl
