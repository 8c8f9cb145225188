#include "serve/logprob_json.h"

#include "tokenizer/utf8.h"

namespace fwl {
namespace {

using nlohmann::json;

json number_or_null(const std::optional<double>& number) {
  return number ? json(*number) : json();
}

size_t characters_of(const std::string& text) {
  size_t count = 0;
  for (const char byte : text) count += is_continuation(byte) ? 0 : 1;
  return count;
}

json bytes_of(const std::string& text) {
  auto bytes = json::array();
  for (const char byte : text) bytes.push_back(static_cast<unsigned char>(byte));
  return bytes;
}

json chat_entry(const ServedModel& model, TokenId token, double logprob) {
  const auto text = model.text_of(token);
  return {{"token", text}, {"logprob", logprob}, {"bytes", bytes_of(text)}};
}

// Different tokens can have the same text: the most likely one counts. The chosen token is always there.
json alternatives(const ServedModel& model, const ScoredToken& token) {
  if (!token.logprob || token.top.empty()) return nullptr;
  auto result = json::object();
  const auto add = [&](TokenId one, double logprob) {
    const auto text = model.text_of(one);
    if (!result.contains(text) || result[text].get<double>() < logprob) result[text] = logprob;
  };
  for (const auto& one : token.top) add(one.token, one.logprob);
  add(token.token, *token.logprob);
  return result;
}

}  // namespace

json completion_logprobs(const ServedModel& model, const std::vector<ScoredToken>& tokens) {
  json result = {{"tokens", json::array()},
                 {"token_logprobs", json::array()},
                 {"top_logprobs", json::array()},
                 {"text_offset", json::array()}};
  size_t offset = 0;
  for (const auto& token : tokens) {
    const auto text = model.text_of(token.token);
    result["tokens"].push_back(text);
    result["token_logprobs"].push_back(number_or_null(token.logprob));
    result["top_logprobs"].push_back(alternatives(model, token));
    result["text_offset"].push_back(offset);
    offset += characters_of(text);
  }
  return result;
}

json chat_logprobs(const ServedModel& model, const std::vector<ScoredToken>& tokens) {
  auto content = json::array();
  for (const auto& token : tokens) {
    auto entry = chat_entry(model, token.token, token.logprob.value_or(0));
    entry["top_logprobs"] = json::array();
    for (const auto& one : token.top) entry["top_logprobs"].push_back(chat_entry(model, one.token, one.logprob));
    content.push_back(entry);
  }
  return {{"content", content}};
}

json fast_scores(const ServedModel& model, const std::vector<ScoredToken>& tokens) {
  auto scores = json::array();
  for (const auto& token : tokens)
    scores.push_back({{"text", model.text_of(token.token)},
                      {"logprob", number_or_null(token.logprob)},
                      {"slow_logprob", number_or_null(token.slow_logprob)}});
  return scores;
}

}  // namespace fwl
