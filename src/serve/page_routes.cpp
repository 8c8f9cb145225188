// The page at /, with its style and scripts.
#include "serve/api.h"
#include "serve/page_files.h"

namespace fwl {
namespace {

// The page loads nothing from elsewhere, and no other page shows it.
constexpr const char* policy =
    "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; form-action 'self'; base-uri 'none'";

std::string type_of(const std::string& name) {
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return name.ends_with(".css") ? "text/css; charset=utf-8" : "text/html; charset=utf-8";
}

Route file_route(const std::string& pattern, const std::string& name, std::string_view bytes) {
  return {"GET", pattern, [name, bytes](const ApiCall& call) {
            call.exchange->answer({.type = type_of(name),
                                   .body = std::string(bytes),
                                   .headers = {{"Content-Security-Policy", policy}, {"Cache-Control", "no-cache"}}});
          }};
}

}  // namespace

std::vector<Route> page_routes(const ServedState&) {
  std::vector<Route> routes;
  for (const auto& [name, bytes] : page_files()) routes.push_back(file_route(name, name, bytes));
  routes.push_back(file_route("/", "/index.html", page_files().at("/index.html")));
  return routes;
}

}  // namespace fwl
