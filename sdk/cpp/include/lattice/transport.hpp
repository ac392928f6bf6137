// What the package needs of an engine: HTTP, timers and, for the lobby, WebSockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lattice {

using Milliseconds = std::chrono::milliseconds;
/// Names and values. The names of an answer may have any case.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// A request over HTTP.
struct HttpRequest {
  std::string method;
  std::string url;
  Headers headers;
  std::string body;
};

/// What a request brings, in this order: head once, body any number of times, end once. A request without an answer has
/// an end only.
struct HttpHandler {
  std::function<void(int status, const Headers& headers)> head;
  /// A piece of the body, as it arrives. Once it returns false the transport ends the connection and calls nothing more.
  std::function<bool(std::string_view piece)> body;
  /// Whether the answer arrived whole.
  std::function<void(bool whole)> end;
};

/// What a WebSocket brings. After closed there is nothing more.
struct SocketHandler {
  std::function<void()> opened;
  std::function<void(std::string_view text)> message;
  std::function<void(int code)> closed;  ///< 1006: without a close frame, or it never opened
};

/// Makes requests for one thread, on which it also calls the handlers: the game's thread. It never calls a handler from
/// within one of its own methods.
///
/// It verifies certificates, follows no redirect, keeps no cookies, and logs no headers: they contain tokens. It needs no
/// timeouts, since callers cancel what takes too long.
class Transport {
 public:
  using Id = std::uint64_t;  ///< 0: nothing

  virtual ~Transport() = default;

  /// Whether the pieces of a body arrive before its end. Where they do not, tickets are polled.
  virtual bool streams() const { return true; }
  virtual Id send(HttpRequest request, HttpHandler handler) = 0;
  /// Calls a function once, after a time.
  virtual Id after(Milliseconds time, std::function<void()> call) = 0;
  /// Opens a WebSocket. Returns 0 where the transport has none.
  virtual Id open(std::string url, SocketHandler handler) {
    (void)url;
    (void)handler;
    return 0;
  }
  /// Sends a text over an open WebSocket.
  virtual void write(Id socket, std::string text) {
    (void)socket;
    (void)text;
  }
  /// Ends a request, a timer or a WebSocket, whose handler is not called any more. What has ended is ignored.
  virtual void cancel(Id id) = 0;
};

}  // namespace lattice
