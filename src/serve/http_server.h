// An HTTP/1.1 server: connections, limits, streams. What it answers is up to an HttpApplication.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "serve/http_message.h"
#include "support/fields.h"

namespace fwl {

struct HttpOptions {
  std::string host = "127.0.0.1";
  int64_t port = 8080;  // 0: any free one
  int64_t connections = 1024;
  int64_t body_bytes = 64 << 20;
  double idle_seconds = 60;  // for a request to arrive, a piece to be taken, and between requests
};

void add_fields(Fields& fields, HttpOptions& options);

// Called from several threads at once.
class HttpApplication {
 public:
  virtual ~HttpApplication() = default;
  // Before the body is read: an answer here refuses the request.
  virtual std::optional<HttpAnswer> refuse(const HttpRequest& head) = 0;
  // Answers now or later. An exception becomes an error answer.
  virtual void handle(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange) = 0;
  // Headers of every answer to this request.
  virtual std::vector<std::pair<std::string, std::string>> headers_for(const HttpRequest& request) = 0;
};

class HttpServer {
 public:
  // Listens at once. Throws UserError if the address cannot be used. The application must outlive the server.
  HttpServer(const HttpOptions& options, HttpApplication& application);
  ~HttpServer();  // closes all connections

  int port() const;

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

bool is_loopback(const std::string& host);  // an address that only this machine can reach

}  // namespace fwl
