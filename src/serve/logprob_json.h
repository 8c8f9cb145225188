// Log-probabilities of tokens in the forms of the completions and the chat API.
#pragma once

#include "serve/json_text.h"
#include "serve/served_model.h"

namespace fwl {

// {"tokens", "token_logprobs", "top_logprobs", "text_offset"}: one entry per token, null where nothing precedes.
nlohmann::json completion_logprobs(const ServedModel& model, const std::vector<ScoredToken>& tokens);

// {"content": [{"token", "logprob", "bytes", "top_logprobs"}]}
nlohmann::json chat_logprobs(const ServedModel& model, const std::vector<ScoredToken>& tokens);

// [{"text", "logprob", "slow_logprob"}]: with the fast weights, and without.
nlohmann::json fast_scores(const ServedModel& model, const std::vector<ScoredToken>& tokens);

}  // namespace fwl
