// A request and the way back to its client, without any HTTP library.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace fwl {

struct HttpRequest {
  std::string method;  // "GET", "POST", "DELETE", …
  std::string path;    // decoded, without the query
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string header(const std::string& name) const;  // empty if it is missing
};

struct HttpAnswer {
  int status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};  // besides type and length
};

// The way back to one client: one whole answer, or a stream of pieces. Thread-safe; after the client has hung up, calls
// have no effect.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void answer(HttpAnswer answer) = 0;
  virtual void begin_stream(const std::string& type) = 0;
  virtual void send(std::string piece) = 0;
  virtual void end_stream() = 0;

  // Becomes true when the client hangs up or the server stops: work for it can end.
  const std::shared_ptr<std::atomic<bool>>& is_gone() const { return is_gone_; }

 private:
  std::shared_ptr<std::atomic<bool>> is_gone_ = std::make_shared<std::atomic<bool>>(false);
};

// "/a%20b?x=1" -> path and query. Throws UserError for malformed escapes, control characters and paths without a "/".
void parse_target(const std::string& target, HttpRequest& request);

// The header field's text without what could end it: control characters become spaces.
std::string header_value(const std::string& text);

}  // namespace fwl
