// WebSockets beside libcurl, which has none in many distributions: for tests, without TLS.
#pragma once

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../samples/curl/curl_transport.hpp"

/// Connects to "host:port". Returns -1 where nobody listens.
inline int connectTo(const std::string& address) {
  const size_t colon = address.rfind(':');
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) return -1;
  int fd = socket(found->ai_family, found->ai_socktype, 0);
  if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
    close(fd);
    fd = -1;
  }
  freeaddrinfo(found);
  return fd;
}

class SocketTransport : public lattice::CurlTransport {
 public:
  Id open(std::string url, lattice::SocketHandler handler) override {
    const std::string address = url.substr(url.find("//") + 2);
    auto socket = std::make_unique<Socket>();
    socket->fd = connectTo(address);
    socket->handler = std::move(handler);
    if (socket->fd >= 0) {
      sendAll(socket->fd, "GET / HTTP/1.1\r\nHost: " + address +
                              "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    }
    const Id id = nextId();
    sockets_[id] = std::move(socket);
    if (sockets_[id]->fd < 0) after(lattice::Milliseconds(0), [this, id] { end(id, 1006); });
    return id;
  }

  void write(Id id, std::string text) override {
    const auto found = sockets_.find(id);
    if (found != sockets_.end() && found->second->fd >= 0) sendFrame(found->second->fd, 1, text);
  }

  void cancel(Id id) override {
    const auto found = sockets_.find(id);
    if (found != sockets_.end()) {
      if (found->second->fd >= 0) close(found->second->fd);
      sockets_.erase(found);
    }
    CurlTransport::cancel(id);
  }

  void addDescriptors(std::vector<curl_waitfd>& all) const {
    for (const auto& entry : sockets_) {
      if (entry.second->fd >= 0) all.push_back({entry.second->fd, CURL_WAIT_POLLIN, 0});
    }
  }

  /// Reads what has arrived.
  void readSockets() {
    std::vector<Id> ids;
    for (const auto& entry : sockets_) ids.push_back(entry.first);
    for (const Id id : ids) {
      const auto found = sockets_.find(id);
      if (found == sockets_.end() || found->second->fd < 0) continue;
      char buffer[65536];
      const ssize_t n = recv(found->second->fd, buffer, sizeof buffer, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN)) {
        end(id, 1006);
      } else if (n > 0) {
        found->second->in.append(buffer, static_cast<size_t>(n));
        take(id);
      }
    }
  }

 private:
  struct Socket {
    int fd = -1;
    lattice::SocketHandler handler;
    std::string in, message;
    bool isOpen = false;
  };

  void take(Id id) {
    if (!sockets_[id]->isOpen) {
      const size_t head = sockets_[id]->in.find("\r\n\r\n");
      if (head == std::string::npos) return;
      if (sockets_[id]->in.compare(0, 12, "HTTP/1.1 101") != 0) return end(id, 1006);
      sockets_[id]->in.erase(0, head + 4);
      sockets_[id]->isOpen = true;
      sockets_[id]->handler.opened();
    }
    while (sockets_.count(id) > 0 && takeFrame(id)) {
    }
  }

  /// Takes one frame of a server, which has no mask. Returns whether there was a whole one.
  bool takeFrame(Id id) {
    Socket& s = *sockets_[id];
    const auto byte = [&s](size_t i) { return static_cast<unsigned char>(s.in[i]); };
    if (s.in.size() < 2) return false;
    size_t size = byte(1) & 0x7F, at = 2;
    for (size_t more = size == 126 ? 2 : size == 127 ? 8 : 0, i = 0; i < more; i++) {
      if (s.in.size() < 2 + more) return false;
      size = (i == 0 ? 0 : size << 8) | byte(at++);
    }
    if (s.in.size() < at + size) return false;
    const int opcode = byte(0) & 0x0F;
    const bool isLast = (byte(0) & 0x80) != 0;
    const std::string payload = s.in.substr(at, size);
    s.in.erase(0, at + size);
    if (opcode == 8) {
      const int code = payload.size() < 2 ? 1005 : static_cast<unsigned char>(payload[0]) << 8 | static_cast<unsigned char>(payload[1]);
      sendFrame(s.fd, 8, payload.substr(0, 2));
      end(id, code);
    } else if (opcode == 9) {
      sendFrame(s.fd, 10, payload);
    } else if (opcode < 3) {
      s.message += payload;
      if (isLast) {
        const std::string message = std::exchange(s.message, "");
        const auto handler = s.handler;
        handler.message(message);
      }
    }
    return true;
  }

  void end(Id id, int code) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    const auto handler = found->second->handler;
    cancel(id);
    handler.closed(code);
  }

  static void sendFrame(int fd, int opcode, const std::string& payload) {
    std::string frame{static_cast<char>(0x80 | opcode)};
    const size_t n = payload.size();
    if (n < 126) {
      frame += static_cast<char>(0x80 | n);
    } else {
      frame += static_cast<char>(0x80 | (n < 65536 ? 126 : 127));
      for (int shift = n < 65536 ? 8 : 56; shift >= 0; shift -= 8) frame += static_cast<char>(n >> shift);
    }
    const std::string mask = "mask";
    frame += mask;
    for (size_t i = 0; i < n; i++) frame += static_cast<char>(payload[i] ^ mask[i % 4]);
    sendAll(fd, frame);
  }

 public:
  static void sendAll(int fd, const std::string& text) {
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;  // the end follows
      sent += static_cast<size_t>(n);
    }
  }

 private:
  std::map<Id, std::unique_ptr<Socket>> sockets_;
};
