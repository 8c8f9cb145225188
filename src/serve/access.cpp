#include "serve/access.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>

#include "files/memory_map.h"
#include "serve/api_error.h"
#include "serve/base64.h"
#include "support/error.h"

namespace fwl {
namespace {

constexpr size_t shortest_key = 8;

// The key of "Bearer KEY", or the password of "Basic …", which browsers send.
std::string given_key(const HttpRequest& request) {
  const auto text = request.header("authorization");
  const auto space = text.find(' ');
  if (space == std::string::npos) return request.header("x-api-key");
  auto scheme = text.substr(0, space);
  std::ranges::transform(scheme, scheme.begin(), [](unsigned char letter) { return std::tolower(letter); });
  const auto value = text.substr(space + 1);
  if (scheme == "bearer") return value;
  if (scheme != "basic") return {};
  const auto pair = base64_decode(value);
  const auto colon = pair.find(':');
  return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
}

std::string host_name(const HttpRequest& request) {
  const auto host = request.header("host");
  return host.starts_with('[') ? host.substr(0, host.find(']') + 1) : host.substr(0, host.find(':'));
}

// A name that another site's DNS cannot point at this machine.
bool is_own_name(const std::string& host) {
  return host.empty() || host == "localhost" || host.ends_with(".localhost") || host.starts_with('[') ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

Access::Access(const AccessOptions& options) : origins_(options.origins), is_loopback_(options.is_loopback) {
  if (options.key_file.empty()) return;
  const MemoryMap file(options.key_file);
  std::string_view rest = file.text();
  while (!rest.empty()) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.size() < shortest_key)
      fail(options.key_file, "keys of at least 8 characters", std::to_string(line.size()), "too easy to guess");
    const auto digest = sha256(line);
    keys_.push_back({digest, to_hex(digest).substr(0, 16)});
  }
  if (keys_.empty()) fail(options.key_file, "one API key per line", "none");
  if (std::ranges::find(origins_, "*") != origins_.end())
    fail("--cors-origin", "named origins", "* together with API keys", "any web page could use a key that it learns");
}

std::string Access::owner_of(const HttpRequest& request) const {
  check_origin(request);
  if (keys_.empty()) {
    if (is_loopback_ && !is_own_name(host_name(request)))
      throw ApiError(403, error_line("Host", "localhost or an IP address, as there are no API keys",
                                     "'" + host_name(request) + "'", "a page of another site asks"));
    return "local";
  }
  // Digests of equal length, each compared in full: the time says nothing about a key.
  const auto digest = sha256(given_key(request));
  std::string owner;
  for (const auto& key : keys_)
    if (CRYPTO_memcmp(key.digest.data(), digest.data(), digest.size()) == 0) owner = key.owner;
  if (owner.empty()) throw ApiError(401, "expected a known API key as `Authorization: Bearer KEY`");
  return owner;
}

// Browsers name the page that asks. Pages of other sites must be allowed, or they could act with a visitor's access.
void Access::check_origin(const HttpRequest& request) const {
  const auto origin = request.header("origin");
  if (origin.empty() || origin.ends_with("//" + request.header("host")) || !cors_headers(request).empty()) return;
  throw ApiError(403, error_line("Origin", "a page of this server", "'" + origin + "'", "see --cors-origin"));
}

std::vector<std::pair<std::string, std::string>> Access::cors_headers(const HttpRequest& request) const {
  const auto origin = request.header("origin");
  const bool is_any = std::ranges::find(origins_, "*") != origins_.end();
  if (origin.empty() || (!is_any && std::ranges::find(origins_, origin) == origins_.end())) return {};
  return {{"Access-Control-Allow-Origin", is_any ? "*" : header_value(origin)},
          {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Session-Id, X-Api-Key"},
          {"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
          {"Vary", "Origin"}};
}

}  // namespace fwl
