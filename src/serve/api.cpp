#include "serve/api.h"

#include <algorithm>

#include "serve/api_error.h"
#include "support/printable.h"

namespace fwl {
namespace {

std::string without_version(const std::string& path) {
  return path.starts_with("/v1/") ? path.substr(3) : path;
}

// Whether the path is of the pattern's form; `id` becomes what stands in its place.
bool is_match(std::string_view pattern, std::string_view path, std::string& id) {
  const auto place = pattern.find("{id}");
  if (place == std::string_view::npos) return pattern == path;
  const auto before = pattern.substr(0, place), behind = pattern.substr(place + 4);
  if (path.size() < before.size() + behind.size() || !path.starts_with(before) || !path.ends_with(behind)) return false;
  id = path.substr(before.size(), path.size() - before.size() - behind.size());
  return !id.empty() && id.find('/') == std::string::npos;
}

const char* loading = "the model is being loaded";

}  // namespace

void Api::open(const ServedState& state) {
  for (auto* part : {&information_routes, &text_routes, &completion_routes, &session_routes, &page_routes})
    for (auto& route : (*part)(state)) routes_.push_back(std::move(route));
  is_open_ = true;
}

std::vector<std::pair<std::string, std::string>> Api::headers_for(const HttpRequest& request) {
  return access_.cors_headers(request);
}

std::optional<HttpAnswer> Api::refuse(const HttpRequest& head) {
  try {
    if (head.path == "/health" || head.path == "/v1/health") return std::nullopt;
    if (head.method == "OPTIONS" && !access_.cors_headers(head).empty()) return HttpAnswer{.status = 204};
    access_.owner_of(head);
    if (!is_open_) return error_answer(503, loading);
    return std::nullopt;
  } catch (const std::exception& error) {
    auto answer = error_answer(error);
    // A browser that opens the page asks its user for the key.
    if (answer.status == 401 && head.path == "/")
      answer.headers.emplace_back("WWW-Authenticate", "Basic realm=\"fwl: any name, and an API key as the password\"");
    return answer;
  }
}

void Api::handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) {
  const auto path = without_version(request.path);
  if (path == "/health")
    return exchange->answer(is_open_ ? HttpAnswer{.body = R"({"status":"ok"})"} : error_answer(503, loading));
  const auto method = request.method == "HEAD" ? "GET" : request.method;
  bool is_known = false;
  std::string id;
  for (const auto& route : routes_) {
    if (!is_match(route.pattern, path, id)) continue;
    is_known = true;
    if (route.method == method) return route.answer({request, access_.owner_of(request), id, exchange});
  }
  if (is_known) throw ApiError(405, "request: expected another method for this address, got " + printable(method));
  throw ApiError(404, "request: expected a known address, got " + printable(request.path));
}

}  // namespace fwl
