// The HTTP API: which address does what, and who may call it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "serve/access.h"
#include "serve/http_server.h"
#include "serve/served_model.h"
#include "sessions/session_engine.h"

namespace fwl {

// A request on its way to the function that answers it.
struct ApiCall {
  const HttpRequest& request;
  std::string owner;
  std::string id;  // what stands in the place of {id}
  std::shared_ptr<Exchange> exchange;
};

struct Route {
  std::string method;
  std::string pattern;  // "/sessions/{id}/read"; addresses with and without /v1 in front are the same
  std::function<void(const ApiCall&)> answer;
};

// What the answers are made from.
struct ServedState {
  const ServedModel& model;
  SessionEngine& engine;
};

// Of each part of the API.
std::vector<Route> information_routes(const ServedState& state);
std::vector<Route> text_routes(const ServedState& state);
std::vector<Route> completion_routes(const ServedState& state);
std::vector<Route> session_routes(const ServedState& state);
std::vector<Route> page_routes(const ServedState& state);

class Api : public HttpApplication {
 public:
  explicit Api(const AccessOptions& access) : access_(access) {}

  // Before this, everything is answered with 503. The state must outlive the API's server.
  void open(const ServedState& state);

  std::optional<HttpAnswer> refuse(const HttpRequest& head) override;
  void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) override;
  std::vector<std::pair<std::string, std::string>> headers_for(const HttpRequest& request) override;

 private:
  Access access_;
  std::vector<Route> routes_;
  std::atomic<bool> is_open_ = false;
};

}  // namespace fwl
