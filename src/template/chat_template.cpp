#include "template/chat_template.h"

#include <utility>

#include "template/parser.h"
#include "template/renderer.h"

namespace fwl {
namespace {

// Some templates write control tokens with the role inside, such as <|user|>; the usual roles are markup.
MarkedText marked_role(const std::string& role) {
  for (const auto* usual : {"system", "developer", "user", "assistant", "tool", "function"})
    if (role == usual) return MarkedText::all_markup(role);
  return MarkedText::plain(role);
}

}  // namespace

struct ChatTemplate::Program {
  TemplateBlock block;
};

ChatTemplate::ChatTemplate(std::string where, std::string_view source, std::string begin_token, std::string end_token)
    : where_(std::move(where)),
      begin_token_(std::move(begin_token)),
      end_token_(std::move(end_token)),
      program_(std::make_shared<const Program>(Program{parse_template(where_, source)})) {}

MarkedText ChatTemplate::render(const std::vector<ChatMessage>& messages, bool adds_generation_prompt) const {
  TemplateMeter meter(where_);
  TemplateValues message_values;
  for (const auto& [role, content] : messages)
    message_values.push_back(dict_value(
        meter, {{"role", text_value(marked_role(role))}, {"content", text_value(MarkedText::plain(content))}}));
  TemplateScope globals;
  globals.set("messages", list_value(meter, std::move(message_values)));
  globals.set("add_generation_prompt", adds_generation_prompt);
  globals.set("bos_token", text_value(MarkedText::all_markup(begin_token_)));
  globals.set("eos_token", text_value(MarkedText::all_markup(end_token_)));
  globals.set("tools", TemplateNone{});
  globals.set("documents", TemplateNone{});
  return TemplateRenderer(meter, globals).render(program_->block);
}

}  // namespace fwl
