// A request for completions or chat completions, read from JSON and checked.
#pragma once

#include <string>
#include <vector>

#include "serve/http_message.h"
#include "serve/json_text.h"
#include "serve/served_model.h"

namespace fwl {

// An object, of any request. Throws UserError.
nlohmann::json request_json(const HttpRequest& request);

// "session_id" of the body, or the header X-Session-Id; empty: none.
std::string session_id(const HttpRequest& request, const nlohmann::json& body);

// off, read, write, or prompt: learn from what is read, use it in what is generated.
void set_adaptation(JobRequest& job, const ServedModel& model, const nlohmann::json& body);

std::vector<ChatMessage> messages_of(const nlohmann::json& list);
nlohmann::json to_json(const std::vector<ChatMessage>& messages);

struct CompletionRequest {
  bool is_chat = false;
  std::vector<JobRequest> jobs = {};     // one per choice
  std::vector<std::string> echoed = {};  // the prompts' texts, per choice; empty: no echo
  bool streams = false, includes_usage = false;
  bool has_logprobs = false, has_fast_scores = false;
};

CompletionRequest read_completion(const ServedModel& model, const std::string& owner, const HttpRequest& request);
CompletionRequest read_chat_completion(const ServedModel& model, const std::string& owner, const HttpRequest& request);

}  // namespace fwl
