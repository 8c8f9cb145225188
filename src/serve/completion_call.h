// A completion on its way to the client: collects what the jobs report, and answers whole or as a stream of events.
#pragma once

#include <memory>

#include "serve/completion_request.h"
#include "sessions/session_engine.h"

namespace fwl {

// Submits the request's jobs. The answer goes through the exchange.
void run_completion(const ServedModel& model, SessionEngine& engine, CompletionRequest request,
                    const std::shared_ptr<Exchange>& exchange);

// "cmpl-" and a random number, for answers.
std::string random_id(const std::string& prefix);

// One server-sent event.
std::string sse_event(const nlohmann::json& json);

nlohmann::json usage_json(int64_t prompt_tokens, int64_t generated_tokens);

}  // namespace fwl
