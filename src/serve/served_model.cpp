#include "serve/served_model.h"

#include <algorithm>

#include "support/error.h"

namespace fwl {
namespace {

bool is_same(const ChatMessage& a, const ChatMessage& b) {
  return a.role == b.role && a.content == b.content;
}

}  // namespace

std::vector<TokenId> ServedModel::encode(const MarkedText& text, bool starts_context) const {
  std::vector<TokenId> ids;
  const auto begin = tokenizer().begin_token();
  const bool has_begin = starts_context && conventions.adds_begin && begin;
  if (has_begin) ids.push_back(*begin);
  tokenizer().encode_marked(text.text(), text.markup(), ids);
  if (ids.size() == 1 && has_begin) ids.clear();
  return ids;
}

std::vector<TokenId> ServedModel::encode_prompt(const std::string& text, bool starts_context) const {
  auto ids = encode(MarkedText::plain(text), starts_context);
  const auto begin = tokenizer().begin_token();
  const auto first = begin ? begin : tokenizer().end_token();
  if (ids.empty() && starts_context && first) ids.push_back(*first);
  return ids;
}

MarkedText ServedModel::render(const std::vector<ChatMessage>& messages) const {
  if (!chat_template)
    fail(name, "a model with a chat template", "one without", "not made for conversations; use /v1/completions");
  return chat_template->render(messages, true);
}

Prompt ServedModel::chat_prompt(const std::vector<ChatMessage>& messages, const std::vector<ChatMessage>& known,
                                const SessionPlace& place) const {
  if (auto following = following_prompt(messages, known, place)) return std::move(*following);
  const bool starts_context = place.is_fresh || !known.empty();
  Prompt prompt{encode(render(messages), starts_context), !place.is_fresh && !known.empty()};
  check_prompt(prompt.tokens);
  return prompt;
}

// Nothing if the messages do not continue the known ones, or the template writes an answer differently than it was
// generated.
std::optional<Prompt> ServedModel::following_prompt(const std::vector<ChatMessage>& messages,
                                                    const std::vector<ChatMessage>& known,
                                                    const SessionPlace& place) const {
  if (place.is_fresh || known.size() < 2 || messages.size() <= known.size()) return std::nullopt;
  if (!std::equal(known.begin(), known.end(), messages.begin(), is_same)) return std::nullopt;
  const auto before = render({known.begin(), known.end() - 1}).text() + known.back().content;
  const auto all = render(messages);
  if (!all.text().starts_with(before)) return std::nullopt;
  auto rest = std::string_view(all.text()).substr(before.size());
  if (place.last_token) rest = tokenizer().without_end(rest, *place.last_token);
  Prompt prompt{encode(all.part(rest), false), false};
  check_prompt(prompt.tokens);
  return prompt;
}

void ServedModel::check_prompt(const std::vector<TokenId>& tokens) const {
  if (static_cast<int64_t>(tokens.size()) > max_prompt_tokens)
    fail("prompt", "at most " + std::to_string(max_prompt_tokens) + " tokens", std::to_string(tokens.size()),
         "see --max-prompt-tokens");
  const auto size = model().base().vocabulary_size();
  for (const auto token : tokens)
    if (token < 0 || token >= size)
      fail("prompt", "token ids from 0 to " + std::to_string(size - 1), std::to_string(token));
}

std::string ServedModel::text_of(TokenId token) const {
  return tokenizer().decode(std::span(&token, 1));
}

}  // namespace fwl
