// A player without an engine: queues with the profile first, accepts its match, and says where to connect. After `director dev`:
//   cmake -S . -B build && cmake --build build && build/player http://127.0.0.1:8080 ACCESS_TOKEN
#include <lattice/director.hpp>

#include <cstdio>

#include "curl_transport.hpp"

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: player URL ACCESS_TOKEN\n");
    return 2;
  }
  lattice::CurlTransport transport;
  lattice::Options options;
  options.urls = {arguments[1]};
  options.token = lattice::Token(arguments[2]);
  lattice::Player player(transport, options);

  int exitCode = -1;
  const auto fail = [&exitCode](const lattice::Error& error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    exitCode = 1;
  };
  lattice::Ticket ticket;
  const auto follow = [&](const lattice::TicketStatus& status) {
    std::printf("%s %s\n", status.state.c_str(), status.detail.c_str());
    if (status.state == "accepting") ticket.accept(status.matchId, [&](const auto& answer) { if (!answer) fail(answer.error); });
    if (status.state != "assigned") return;
    player.resolve(status.sessionHandle, [&](const lattice::Result<lattice::Connection>& connection) {
      if (!connection) return fail(connection.error);
      std::printf("connect to %s\n", connection.value.endpoint.c_str());
      exitCode = 0;
    });
  };
  player.queue(lattice::Json::object({{"profiles", lattice::Json::array({lattice::Json("first")})}}), [&](const lattice::Result<lattice::Ticket>& queued) {
    if (!queued) return fail(queued.error);
    ticket = queued.value;
    ticket.watch(follow, [&](const lattice::Error& error) { if (error) fail(error); });
  });
  while (exitCode < 0) transport.poll(lattice::Milliseconds(1000));
  return exitCode;
}
