// Turns the messages of a chat into the one text that a model was trained on, by the template that came with the model.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fwl {

struct ChatMessage {
  std::string role, content;
};

// The part of Jinja2 that published chat templates use, with the settings of Hugging Face's transformers. Templates are
// not trusted: they reach nothing but the messages, and size, depth, steps and output are bounded. May be used by many
// threads at once.
class ChatTemplate {
 public:
  // Throws UserError with the line of what is not understood. `where` names the source in errors. The tokens are the
  // texts of `bos_token` and `eos_token`.
  ChatTemplate(std::string where, std::string_view source, std::string begin_token, std::string end_token);

  // With `adds_generation_prompt` the text ends where the model's answer begins. Throws UserError if the template
  // refuses the messages, uses a filter or function that is not known, or goes on for too long.
  std::string render(const std::vector<ChatMessage>& messages, bool adds_generation_prompt) const;

 private:
  struct Program;

  std::string where_, begin_token_, end_token_;
  std::shared_ptr<const Program> program_;
};

}  // namespace fwl
