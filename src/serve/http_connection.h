// One connection: its requests, one after the other, and their answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include "serve/http_server.h"

namespace fwl {

class StrandExchange;

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  // `open` counts the connections.
  HttpConnection(boost::asio::ip::tcp::socket socket, const HttpOptions& options, HttpApplication& application,
                 std::shared_ptr<std::atomic<int64_t>> open);
  ~HttpConnection();

  boost::asio::awaitable<void> run();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  boost::asio::awaitable<bool> serve_one();  // false: no further request
  boost::asio::awaitable<void> write(HttpAnswer answer, bool keeps_alive);
  boost::asio::awaitable<bool> stream_pieces(std::shared_ptr<StrandExchange> exchange, std::string type,
                                             bool keeps_alive);
  boost::asio::awaitable<bool> deliver(std::shared_ptr<StrandExchange> exchange, bool keeps_alive);
  boost::asio::awaitable<void> watch_for_hang_up(std::shared_ptr<StrandExchange> exchange);
  boost::asio::awaitable<void> close_gently();
  void set_deadline();

  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer buffer_;
  const HttpOptions options_;
  HttpApplication& application_;
  std::shared_ptr<std::atomic<int64_t>> open_;
  std::vector<std::pair<std::string, std::string>> extra_headers_;  // of the current request's answer
  bool is_head_ = false;                                            // it asks for headers only
  unsigned version_ = 11;                                           // of the current request: 10 has no chunks
};

}  // namespace fwl
