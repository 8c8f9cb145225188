#include "serve/http_connection.h"

#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/write.hpp>

#include "serve/api_error.h"
#include "serve/strand_exchange.h"

namespace fwl {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Kind = StrandExchange::Event::Kind;

namespace {

constexpr uint32_t header_bytes = 32 << 10;
constexpr int64_t small_body = 64 << 10;  // read even if the request is refused, so that the connection can go on

auto into(boost::system::error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

HttpRequest head_of(const http::request<http::string_body>& message) {
  HttpRequest request;
  request.method = std::string(message.method_string());
  parse_target(std::string(message.target()), request);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (auto& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    request.headers[name] = std::string(field.value());
  }
  return request;
}

int status_of(const boost::system::error_code& error) {
  if (error == http::error::body_limit) return 413;
  return error == http::error::header_limit ? 431 : 400;
}

bool is_from_parser(const boost::system::error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

}  // namespace

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, const HttpOptions& options, HttpApplication& application,
                               std::shared_ptr<std::atomic<int64_t>> open)
    : stream_(std::move(socket)), options_(options), application_(application), open_(std::move(open)) {
  ++*open_;
  boost::system::error_code ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

HttpConnection::~HttpConnection() {
  --*open_;
}

void HttpConnection::set_deadline() {
  stream_.expires_after(std::chrono::milliseconds(static_cast<int64_t>(options_.idle_seconds * 1000)));
}

asio::awaitable<void> HttpConnection::run() {
  const auto self = shared_from_this();
  try {
    if (*open_ > options_.connections) {
      co_await write(error_answer(503, "expected fewer connections at the same time"), false);
    } else {
      bool goes_on = true;
      while (goes_on) goes_on = co_await serve_one();
    }
    co_await close_gently();
  } catch (const std::exception&) {  // the connection broke: there is nobody to tell
  }
}

// Takes what the client still sends, for a moment: closing at once could take the answer away from it.
asio::awaitable<void> HttpConnection::close_gently() {
  boost::system::error_code error;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  stream_.expires_after(std::chrono::seconds(1));
  std::array<char, 16384> dropped;
  for (size_t total = 0; !error && total < 1 << 20;) {
    const auto bytes = co_await stream_.async_read_some(asio::buffer(dropped), into(error));
    total += bytes;
  }
}

asio::awaitable<bool> HttpConnection::serve_one() {
  Parser parser;
  parser.header_limit(header_bytes);
  parser.body_limit(static_cast<uint64_t>(options_.body_bytes));
  extra_headers_.clear();
  is_head_ = false;
  set_deadline();
  boost::system::error_code error;
  co_await http::async_read_header(stream_, buffer_, parser, into(error));
  if (error) {
    if (is_from_parser(error)) co_await write(error_answer(status_of(error), "request: " + error.message()), false);
    co_return false;
  }
  version_ = parser.get().version();
  is_head_ = parser.get().method() == http::verb::head;
  std::optional<HttpAnswer> refusal;
  HttpRequest request;
  try {
    request = head_of(parser.get());
    extra_headers_ = application_.headers_for(request);
    refusal = application_.refuse(request);
  } catch (const std::exception& problem) {
    refusal = error_answer(problem);
  }
  const auto length = parser.content_length();
  const bool is_small = parser.is_done() || (length && *length <= small_body);
  if (refusal && !is_small) {
    co_await write(std::move(*refusal), false);
    co_return false;
  }
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
    co_await asio::async_write(stream_, asio::buffer(go_on), into(error));
  }
  if (!parser.is_done()) co_await http::async_read(stream_, buffer_, parser, into(error));
  if (error) {
    if (is_from_parser(error)) co_await write(error_answer(status_of(error), "request: " + error.message()), false);
    co_return false;
  }
  const bool keeps_alive = parser.get().keep_alive();
  if (refusal) {
    co_await write(std::move(*refusal), keeps_alive);
    co_return keeps_alive;
  }
  request.body = std::move(parser.get().body());
  const auto exchange = std::make_shared<StrandExchange>(stream_.get_executor());
  try {
    application_.handle(request, exchange);
  } catch (const std::exception& problem) {
    exchange->answer(error_answer(problem));
  }
  stream_.expires_never();
  asio::co_spawn(
      stream_.get_executor(), [self = shared_from_this(), exchange] { return self->watch_for_hang_up(exchange); },
      asio::detached);
  const bool is_delivered = co_await deliver(exchange, keeps_alive);
  stream_.socket().cancel(error);  // ends the watch
  co_return is_delivered&& keeps_alive;
}

asio::awaitable<bool> HttpConnection::deliver(std::shared_ptr<StrandExchange> exchange, bool keeps_alive) {
  bool is_delivered = false;
  try {
    auto event = co_await exchange->next();
    if (event.kind == Kind::answer) {
      co_await write(std::move(event.answer), keeps_alive);
      is_delivered = true;
    } else if (event.kind == Kind::begin) {
      is_delivered = co_await stream_pieces(exchange, std::move(event.text), keeps_alive);
    }
  } catch (const boost::system::system_error&) {  // stalled or gone in the middle of the answer
  }
  if (!is_delivered) *exchange->is_gone() = true;
  co_return is_delivered;
}

asio::awaitable<void> HttpConnection::write(HttpAnswer answer, bool keeps_alive) {
  http::response<http::string_body> message(static_cast<http::status>(answer.status), version_);
  message.set(http::field::content_type, answer.type);
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : extra_headers_) message.set(name, value);
  for (const auto& [name, value] : answer.headers) message.set(name, header_value(value));
  message.keep_alive(keeps_alive);
  message.body() = std::move(answer.body);
  message.prepare_payload();
  if (is_head_) message.body().clear();
  set_deadline();
  co_await http::async_write(stream_, message, asio::use_awaitable);
}

asio::awaitable<bool> HttpConnection::stream_pieces(std::shared_ptr<StrandExchange> exchange, std::string type,
                                                    bool keeps_alive) {
  const bool is_chunked = version_ >= 11;
  http::response<http::empty_body> head(http::status::ok, version_);
  head.set(http::field::content_type, type);
  head.set(http::field::cache_control, "no-cache");
  head.set("X-Accel-Buffering", "no");  // nginx passes pieces on as they come
  for (const auto& [name, value] : extra_headers_) head.set(name, value);
  head.chunked(is_chunked);
  head.keep_alive(keeps_alive && is_chunked);
  http::response_serializer<http::empty_body> serializer(head);
  set_deadline();
  co_await http::async_write_header(stream_, serializer, asio::use_awaitable);
  for (;;) {
    auto event = co_await exchange->next();
    if (event.kind == Kind::gone) co_return false;
    set_deadline();
    if (event.kind == Kind::end) {
      if (is_chunked) co_await asio::async_write(stream_, http::make_chunk_last(), asio::use_awaitable);
      co_return is_chunked;
    }
    if (event.text.empty()) continue;
    if (is_chunked)
      co_await asio::async_write(stream_, http::make_chunk(asio::buffer(event.text)), asio::use_awaitable);
    else
      co_await asio::async_write(stream_, asio::buffer(event.text), asio::use_awaitable);
  }
}

// A client that hangs up becomes readable without bytes to read.
asio::awaitable<void> HttpConnection::watch_for_hang_up(std::shared_ptr<StrandExchange> exchange) {
  const auto self = shared_from_this();
  boost::system::error_code error;
  co_await stream_.socket().async_wait(asio::ip::tcp::socket::wait_read, into(error));
  if (error) co_return;
  char byte = 0;
  const auto bytes = recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EWOULDBLOCK)) exchange->hang_up();
}

}  // namespace fwl
