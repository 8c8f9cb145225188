// The model that a server answers for: its name, its vocabulary, and how text and conversations become prompts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sessions/job.h"
#include "store/open_model.h"
#include "template/chat_template.h"
#include "tokenizer/prompt_conventions.h"

namespace fwl {

struct ServedModel {
  OpenedModel opened;
  PromptConventions conventions;
  std::optional<ChatTemplate> chat_template;  // none: no conversations
  std::string name, path;
  int64_t created = 0;           // when the server started, in unix seconds
  std::string adapt = "prompt";  // of requests that do not say
  int64_t max_prompt_tokens = 0;
  ContextOptions context;

  const LanguageModel& model() const { return *opened.model; }
  const Tokenizer& tokenizer() const { return *opened.model->tokenizer(); }

  // A text that starts a context gets the begin token that the model expects. Only markup becomes control tokens.
  std::vector<TokenId> encode(const MarkedText& text, bool starts_context) const;
  // Text from users, with at least one token where there is nothing to continue.
  std::vector<TokenId> encode_prompt(const std::string& text, bool starts_context) const;

  // The conversation as the model's template writes it.
  MarkedText render(const std::vector<ChatMessage>& messages) const;
  // What a session has to read before it answers the last message: everything, or what follows on `known`, the
  // conversation that it has read and answered before.
  Prompt chat_prompt(const std::vector<ChatMessage>& messages, const std::vector<ChatMessage>& known,
                     const SessionPlace& place) const;

  void check_prompt(const std::vector<TokenId>& tokens) const;  // throws UserError for too many, and unknown ones
  std::string text_of(TokenId token) const;

 private:
  std::optional<Prompt> following_prompt(const std::vector<ChatMessage>& messages,
                                         const std::vector<ChatMessage>& known, const SessionPlace& place) const;
};

}  // namespace fwl
