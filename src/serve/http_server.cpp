#include "serve/http_server.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <thread>

#include "serve/api_error.h"
#include "serve/http_connection.h"
#include "support/error.h"

namespace fwl {
namespace asio = boost::asio;

namespace {

constexpr int network_threads = 2;

asio::ip::address address_of(const std::string& host) {
  boost::system::error_code error;
  const auto address = asio::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) fail("--host", "an IP address or localhost", "'" + host + "'");
  return address;
}

}  // namespace

void add_fields(Fields& fields, HttpOptions& options) {
  fields.add("host", options.host, "address to listen on; 0.0.0.0: all");
  fields.add("port", options.port, "port to listen on; 0: any free one").range(0, 65535);
  fields.add("max_connections", options.connections, "connections at the same time").range(1, 100000);
  fields.add("max_body", options.body_bytes, "size limit of a request in bytes").range(1024, 1LL << 40);
  fields.add("idle_seconds", options.idle_seconds, "time limit for a request to arrive and for a client that stalls")
      .range(0.1, 86400);
}

bool is_loopback(const std::string& host) {
  return address_of(host).is_loopback();
}

struct HttpServer::Shared {
  Shared(const HttpOptions& given, HttpApplication& application_)
      : options(given), application(application_), context(network_threads), acceptor(context) {}

  void listen() {
    const asio::ip::tcp::endpoint endpoint(address_of(options.host), static_cast<uint16_t>(options.port));
    try {
      acceptor.open(endpoint.protocol());
      acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true));
      acceptor.bind(endpoint);
      acceptor.listen();
    } catch (const boost::system::system_error& error) {
      fail("--port", "a free address", options.host + ":" + std::to_string(options.port), error.code().message());
    }
  }

  asio::awaitable<void> accept() {
    for (;;) {
      boost::system::error_code error;
      asio::ip::tcp::socket socket(asio::make_strand(context));
      co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) {  // e.g. out of file descriptors: give connections the time to end
        asio::steady_timer pause(context, std::chrono::milliseconds(50));
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
        continue;
      }
      const auto executor = socket.get_executor();
      const auto connection = std::make_shared<HttpConnection>(std::move(socket), options, application, open);
      asio::co_spawn(
          executor, [connection] { return connection->run(); }, asio::detached);
    }
  }

  HttpOptions options;
  HttpApplication& application;
  std::shared_ptr<std::atomic<int64_t>> open = std::make_shared<std::atomic<int64_t>>(0);  // connections
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor;
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(const HttpOptions& options, HttpApplication& application)
    : shared_(std::make_unique<Shared>(options, application)) {
  shared_->listen();
  asio::co_spawn(
      shared_->context, [shared = shared_.get()] { return shared->accept(); }, asio::detached);
  for (int index = 0; index < network_threads; ++index)
    shared_->threads.emplace_back([shared = shared_.get()] { shared->context.run(); });
}

HttpServer::~HttpServer() {
  shared_->context.stop();
  for (auto& thread : shared_->threads) thread.join();
}

int HttpServer::port() const {
  return shared_->acceptor.local_endpoint().port();
}

}  // namespace fwl
