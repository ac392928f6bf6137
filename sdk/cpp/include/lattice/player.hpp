// The calls of a player.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "client.hpp"
#include "ticket.hpp"

namespace lattice {

/// A session in which the caller has a seat. Its handle is a secret that the session's players share.
struct Match {
  std::string sessionHandle, sessionId, endpoint, region, mode;
  int playerCount = 0, maxPlayers = 0;
  Json raw;  ///< all fields, also those of a newer director
};

/// Lets one player connect: to `endpoint`, with `sessionToken`, within 2 minutes by default. The token is a secret.
struct Connection {
  std::string endpoint, sessionToken, sessionId;
  Json raw;
};

/// A match with a session token, ready to connect to.
struct Seat : Match {
  std::string sessionToken;
};

namespace detail {

inline std::optional<Match> matchOf(const Json& raw) {
  Match m{raw["session_handle"].text(), raw["session_id"].text(), raw["endpoint"].text(), raw["region"].text(), raw["mode"].text(),
          raw["player_count"].whole(), raw["max_players"].whole(), raw};
  return m.sessionHandle.empty() || m.sessionId.empty() ? std::nullopt : std::optional<Match>(std::move(m));
}

inline std::optional<Connection> connectionOf(const Json& raw) {
  Connection c{raw["endpoint"].text(), raw["session_token"].text(), raw["session_id"].text(), raw};
  return c.endpoint.empty() || c.sessionToken.empty() ? std::nullopt : std::optional<Connection>(std::move(c));
}

/// Makes a call whose answer is a T.
template <class T>
std::shared_ptr<CallTask> ask(const std::shared_ptr<Core>& core, Call call, std::optional<T> (*read)(const Json&), Callback<T> callback) {
  const std::string name = call.name();
  return Task::start(std::make_shared<CallTask>(core, std::move(call), [name, read, callback = std::move(callback)](const Result<Json>& result) {
    if (!result) return callback(result.error);
    if (auto value = read(result.value)) return callback(std::move(*value));
    callback(errorOf(Error::Kind::unreadable, name, "the answer lacks what every director sends"));
  }));
}

/// All attempts of a call have the same key.
inline Headers idempotent() { return {{"Idempotency-Key", randomKey()}}; }

inline std::shared_ptr<CallTask> matchmake(const std::shared_ptr<Core>& core, const Json& request, Callback<Match> callback) {
  Call call{"POST", "/matchmake", idempotent(), request.dump()};
  call.region = request["region"].text();
  return ask<Match>(core, std::move(call), matchOf, std::move(callback));
}

/// The region is that of the session; empty: not known.
inline std::shared_ptr<CallTask> resolve(const std::shared_ptr<Core>& core, const std::string& region, const std::string& handle, Callback<Connection> callback) {
  Call call{"POST", "/resolve", {}, Json::object({{"session_handle", handle}}).dump()};
  call.region = region;
  return ask<Connection>(core, std::move(call), connectionOf, std::move(callback));
}

/// Calls matchmake and then resolve, until the player has a seat.
class SeatTask final : public Task {
 public:
  SeatTask(std::shared_ptr<Core> core, Json request, bool awaitsServers, Callback<Seat> callback)
      : Task(std::move(core)), request_(std::move(request)), awaitsServers_(awaitsServers), callback_(std::move(callback)), pacer_(core_->pacer()) {}

 protected:
  void begin() override {
    inner_ = matchmake(core_, request_, [this](const Result<Match>& result) {
      if (!result) return takeError(result.error);
      match_ = result.value;
      inner_ = resolve(core_, match_.region, match_.sessionHandle, [this](const Result<Connection>& connection) { takeConnection(connection); });
    });
  }
  void report(const Error& error) override { callback_(error); }

 private:
  void takeConnection(const Result<Connection>& result) {
    if (!result) return takeError(result.error);
    Seat seat;
    static_cast<Match&>(seat) = match_;
    // What resolve returns is newer than the match, which may be a stored answer.
    for (std::size_t i = 0; i < result.value.raw.size(); i++) seat.raw.set(result.value.raw.keys()[i], result.value.raw.items()[i]);
    seat.endpoint = result.value.endpoint;
    seat.sessionId = result.value.sessionId;
    seat.sessionToken = result.value.sessionToken;
    const auto self = shared_from_this();
    drop();
    callback_(std::move(seat));
  }

  void takeError(const Error& error) {
    if (!error.is(Error::Kind::refused) || !startsAgain(error.code)) return finishWith(error);
    if (error.serversStarting) pacer_.reset();  // the director forgets players who ask too late
    pause(error, pacer_, [this] { begin(); });
  }

  bool startsAgain(const std::string& code) const {
    if (code == "mode_unknown" || code == "region_unknown") return awaitsServers_;
    return code == "no_capacity" || code == "no_seat" || code == "session_unknown" || code == "session_closed";
  }

  Json request_;
  bool awaitsServers_;
  Callback<Seat> callback_;
  Pacer pacer_;
  Match match_;
};

}  // namespace detail

/// Makes the calls of one player, on one thread. Its end ends all calls without a callback. The transport must live
/// longer. Without `cancel`, a call retries until the director decides.
class Player {
 public:
  Player(Transport& transport, Options options) : core_(std::make_shared<detail::Core>(transport, std::move(options))) {}
  ~Player() { core_->close(); }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  /// Takes seats and returns their session. The request has "region" and "mode", and may have "party" and "max_players". A
  /// repeated call before the player connects returns the same seats; a player who lost the connection gets the running
  /// session back. Errors: no_capacity, mode_unknown, region_unknown, party_conflict, invalid_request, unauthorized.
  Running matchmake(const Json& request, Callback<Match> callback) {
    return Running(detail::matchmake(core_, request, std::move(callback)));
  }
  /// Exchanges a session handle for what the caller needs to connect. Each member of a party calls it with the handle that
  /// matchmake returned to one of them. Errors: no_seat, session_unknown, session_closed.
  Running resolve(const std::string& handle, Callback<Connection> callback) {
    return Running(detail::resolve(core_, "", handle, std::move(callback)));
  }
  /// Returns a session's current state. Errors: session_unknown, session_closed.
  Running session(const std::string& id, Callback<Match> callback) {
    return Running(detail::ask<Match>(core_, {"GET", "/sessions/" + detail::escaped(id), {}, ""}, detail::matchOf, std::move(callback)));
  }
  /// Calls matchmake and then resolve. It starts again when the session closes or the seat expires between the two, and
  /// waits while there is no capacity; with awaitsServers also for the first game server of a mode. Only `cancel` ends that.
  Running seat(const Json& request, Callback<Seat> callback, bool awaitsServers = false) {
    return Running(detail::Task::start(std::make_shared<detail::SeatTask>(core_, request, awaitsServers, std::move(callback))));
  }
  /// Puts the caller, or a party, into the queue. The request may have "profiles", "party", "attributes", "players",
  /// "latencies" and "lobby". The same request again, by any member of the party, returns the same ticket. Errors:
  /// profile_unknown, ticket_exists, party_conflict, party_too_large, cannot_match, invalid_request, unauthorized.
  Running queue(const Json& request, Callback<Ticket> callback) {
    detail::Call call{"POST", "/tickets", detail::idempotent(), request.dump()};
    call.createsTicket = true;
    return Running(detail::Task::start(std::make_shared<detail::CallTask>(core_, std::move(call), [core = core_, callback = std::move(callback)](const Result<Json>& result) {
      if (!result) return callback(result.error);
      auto status = detail::ticketOf(result.value, "");
      if (!status) return callback(detail::errorOf(Error::Kind::unreadable, "POST /tickets", "the answer is not a ticket"));
      const std::string id = status->id;
      callback(Ticket(std::make_shared<detail::TicketShare>(detail::TicketShare{core, id, std::move(status)})));
    })));
  }
  /// Returns the ticket with an id, for a member of the party that did not create it, or a game that was started again. A
  /// ticket of another cell is known to the Player that created it; elsewhere, `queue` returns it for the same request.
  Ticket ticket(const std::string& id) { return Ticket(std::make_shared<detail::TicketShare>(detail::TicketShare{core_, id, std::nullopt})); }

 private:
  std::shared_ptr<detail::Core> core_;
};

}  // namespace lattice
