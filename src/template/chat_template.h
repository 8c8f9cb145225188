// Renders the messages of a chat with a model's own template, as the model saw them in training.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/marked_text.h"

namespace fwl {

struct ChatMessage {
  std::string role, content;
};

// Supports the part of Jinja2 that published chat templates use, with the settings of Hugging Face's transformers.
// Templates are untrusted: they can access only the messages, and size, depth, steps and output are limited.
// Thread-safe.
class ChatTemplate {
 public:
  // Throws a UserError with the line of unsupported syntax. `where` names the source in errors. The tokens are the
  // values of `bos_token` and `eos_token`.
  ChatTemplate(std::string where, std::string_view source, std::string begin_token, std::string end_token);

  // What the template itself writes is markup, what comes from the messages is not, whatever the template does with
  // it: no message can forge a turn. With `adds_generation_prompt` the result ends where the model's answer begins.
  // Throws a UserError if the template rejects the messages, uses an unknown filter or function, or exceeds a limit.
  MarkedText render(const std::vector<ChatMessage>& messages, bool adds_generation_prompt) const;

 private:
  struct Program;

  std::string where_, begin_token_, end_token_;
  std::shared_ptr<const Program> program_;
};

}  // namespace fwl
