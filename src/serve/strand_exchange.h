// The way back to a client over its connection's strand: events from any thread, taken in order by the connection.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>

#include "serve/http_message.h"

namespace fwl {

class StrandExchange : public Exchange, public std::enable_shared_from_this<StrandExchange> {
 public:
  struct Event {
    enum class Kind { answer, begin, piece, end, gone } kind;
    HttpAnswer answer = {};
    std::string text = {};
  };

  explicit StrandExchange(boost::asio::any_io_executor strand) : strand_(strand), arrival_(strand) {}

  void answer(HttpAnswer answer) override { push({Event::Kind::answer, std::move(answer)}); }
  void begin_stream(const std::string& type) override { push({Event::Kind::begin, {}, type}); }
  void send(std::string piece) override { push({Event::Kind::piece, {}, std::move(piece)}); }
  void end_stream() override { push({Event::Kind::end}); }

  // On the strand: the client is no longer there.
  void hang_up() {
    *is_gone() = true;
    events_.push_front({Event::Kind::gone});
    arrival_.cancel();
  }

  boost::asio::awaitable<Event> next() {
    while (events_.empty()) {
      boost::system::error_code ignored;
      arrival_.expires_at(boost::asio::steady_timer::time_point::max());
      co_await arrival_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
    }
    auto event = std::move(events_.front());
    events_.pop_front();
    co_return event;
  }

 private:
  void push(Event event) {
    boost::asio::post(strand_, [self = shared_from_this(), event = std::move(event)]() mutable {
      self->events_.push_back(std::move(event));
      self->arrival_.cancel();
    });
  }

  boost::asio::any_io_executor strand_;
  boost::asio::steady_timer arrival_;  // never expires: cancelled when an event arrives
  std::deque<Event> events_;
};

}  // namespace fwl
