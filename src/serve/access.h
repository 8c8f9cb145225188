// Who may ask: API keys, and the web pages whose scripts may call the server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/http_message.h"
#include "support/sha256.h"

namespace fwl {

struct AccessOptions {
  std::string key_file;              // one key per line; empty: no keys
  std::vector<std::string> origins;  // of other sites' pages, e.g. https://chat.example.org; "*": any
  bool is_loopback = true;           // the server listens only to this machine
};

class Access {
 public:
  // Throws UserError for a file without keys, keys that are too short, and "*" together with keys.
  explicit Access(const AccessOptions& options);

  // The owner of the sessions that the request may see: a hash of its key, or "local" without keys. Throws ApiError:
  // 401 without a known key, 403 for pages of other sites.
  std::string owner_of(const HttpRequest& request) const;

  // Headers that let the page that asks read the answer; empty unless its origin is allowed.
  std::vector<std::pair<std::string, std::string>> cors_headers(const HttpRequest& request) const;

 private:
  void check_origin(const HttpRequest& request) const;

  struct Key {
    Digest digest;
    std::string owner;
  };
  std::vector<Key> keys_;
  std::vector<std::string> origins_;
  bool is_loopback_;
};

}  // namespace fwl
