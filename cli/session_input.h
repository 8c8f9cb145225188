// Input shared by the commands that use a session: the model, the session file, and prompts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.h"
#include "cli/model_input.h"
#include "files/file_lock.h"
#include "generate/generator.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {

struct SessionInput : ModelInput {
  std::string session;
  std::string adapt = "prompt", long_text = "auto", kv_cache = "fp32", session_precision = "bf16";
  int64_t context = 0;
};

void add_fields(Fields& fields, SessionInput& input);
// --special: whether control tokens that a text spells act as such.
void add_special_field(Fields& fields, bool& special);
MarkedText marked_text(std::string text, bool special);

// The opened model with its session, from the file if it exists, otherwise new.
class OpenedSession {
 public:
  OpenedSession(SessionInput input, Console& console);

  const LanguageModel& model() const { return *opened_.model; }
  const Tokenizer& tokenizer() const { return *opened_.model->tokenizer(); }
  const PromptConventions& conventions() const { return conventions_; }
  bool adds_begin() const { return conventions_.adds_begin && tokenizer().begin_token(); }  // at the start of a session
  // How fast weights adapt to given text, and to generated text. They need not learn from the model's own output.
  Adaptation reading() const { return reading_; }
  Adaptation generating() const { return generating_; }
  Session& session() { return session_; }
  const Session& session() const { return session_; }
  int64_t context_tokens() const { return session_.base.context.context_tokens; }  // 0: no limit
  std::string context_text() const;                                                // "context of 8192 tokens"
  Generator generator() { return {model(), session_}; }

  // Adds the begin token at the start of a session, if the model expects one.
  std::vector<TokenId> encode(const MarkedText& text) const;
  // The same, with at least one token in a new session: generation needs something to continue.
  std::vector<TokenId> encode_prompt(const MarkedText& text) const;

  // Tokens read of each document, by the SHA-256 of its text; kept in the session file.
  std::map<std::string, int64_t>& documents() { return documents_; }

  const std::string& path() const { return path_; }  // session file; empty if there is none
  void set_path(const std::string& path);
  void save() const;

 private:
  std::string path_;
  FileLock lock_;  // on the session file
  CachePrecision precision_;
  Adaptation reading_, generating_;
  OpenedModel opened_;
  PromptConventions conventions_;
  Session session_;
  std::map<std::string, int64_t> documents_;
};

// Says so if fast weights diverged and were rolled back.
void warn_of_rollbacks(int64_t rollbacks, Console& console);

}  // namespace fwl
