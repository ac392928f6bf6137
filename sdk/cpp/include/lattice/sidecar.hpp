// The calls of a game server to `director sidecar` beside it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "client.hpp"

namespace lattice {

/// An admitted player.
struct Admission {
  std::string id;  ///< of this admission: give it to leave
  std::string sub, sessionId, region, mode, party, match, team;
  int maxPlayers = 0;
  Json raw;
};

namespace detail {

/// Follows the events of a sidecar until the registration is over.
class ListenTask final : public Task {
 public:
  using OnEvent = std::function<void(const std::string& name, const Json& data)>;
  using OnEnd = std::function<void(const Error&)>;

  ListenTask(std::shared_ptr<Core> core, OnEvent onEvent, OnEnd onEnd)
      : Task(std::move(core)), onEvent_(std::move(onEvent)), onEnd_(std::move(onEnd)), pacer_(Milliseconds(250), Milliseconds(2000)) {}

 protected:
  void begin() override {
    if (!core_->replicas.isValid()) return finishWith(errorOf(Error::Kind::invalid, "GET /events", core_->invalidURLs()));
    openStream();
  }
  void report(const Error& error) override { onEnd_(error); }

 private:
  void openStream() {
    parser_ = EventParser(maxAnswer);  // an event may have the players of all sessions
    Call call{"GET", "/events", {}, ""};
    call.needsToken = false;
    exchange(std::move(call), false, [this](std::string_view piece) { return takePiece(piece); }, [this](const Result<Json>& result) {
      if (!isUnavailable(result.error)) return finishWith(result.error);
      pause(result.error, pacer_, [this] { openStream(); });
    });
  }

  bool takePiece(std::string_view piece) {
    const auto self = shared_from_this();
    std::vector<Event> events;
    const bool isReadable = parser_.push(piece, events);
    for (const Event& event : events) {
      const Json data = Json::parse(event.data).value_or(Json());
      pacer_.reset();
      onEvent_(event.name, data);
      if (isOver_) return false;
      const std::string state = event.name == "status" ? data["state"].text() : "";
      if (state == "ended" || state == "superseded") {
        drop();
        onEnd_(Error());
        return false;
      }
    }
    if (!isReadable) finishWith(errorOf(Error::Kind::unreadable, "GET /events", "an event is too long"));
    return isReadable;
  }

  OnEvent onEvent_;
  OnEnd onEnd_;
  Pacer pacer_;
  EventParser parser_;
};

}  // namespace detail

/// A game server's client of its sidecar, which registers it, sends heartbeats and admits players: the game server needs
/// no secret and no cryptography. Used on one thread. Calls wait while the sidecar or the director cannot be reached, until
/// they are cancelled.
class Sidecar {
 public:
  explicit Sidecar(Transport& transport, std::string url = "http://127.0.0.1:9357") : core_(std::make_shared<detail::Core>(transport, optionsOf(std::move(url)))) {}
  ~Sidecar() { core_->close(); }
  Sidecar(const Sidecar&) = delete;
  Sidecar& operator=(const Sidecar&) = delete;

  /// The server can take players. `about` may have "endpoint", "region", "modes", "capacity", "max_sessions", "labels",
  /// "version", "instance_id", "cert_digest", and "boot_id", a random text that the process makes when it starts. Call it
  /// again when its state is "unhealthy". The value is the status.
  Running ready(const Json& about, Callback<Json> callback) { return call("POST", "/ready", about, std::move(callback)); }
  /// The server lives. Call it in the game loop, every 5 s, so that a loop that is frozen counts as frozen.
  Running health(Callback<Json> callback = ignored) { return call("POST", "/health", Json::object(), std::move(callback)); }
  /// How busy the server is: new sessions go to the least loaded.
  Running load(double load, Callback<Json> callback = ignored) { return call("PUT", "/load", Json::object({{"load", load}}), std::move(callback)); }

  /// May the holder of this session token play? It is not repeated after an attempt without an answer, because a token
  /// admits once: let the player get another. Errors: bad_token, wrong_server, replay, seat_gone, no_seat, session_lost,
  /// not_ready.
  Running admit(const std::string& sessionToken, Callback<Admission> callback) {
    detail::Call request = requestOf("POST", "/players", Json::object({{"token", sessionToken}}));
    request.mayRepeat = false;
    return start(std::move(request), [callback = std::move(callback)](const Result<Json>& result) {
      if (!result) return callback(result.error);
      const Json& raw = result.value;
      callback(Admission{raw["id"].text(), raw["sub"].text(), raw["session_id"].text(), raw["region"].text(), raw["mode"].text(), raw["party"].text(),
                         raw["match"].text(), raw["team"].text(), raw["max_players"].whole(), raw});
    });
  }
  /// The player of an admission is gone. Errors: unknown_player.
  Running leave(const std::string& id, Callback<Json> callback = ignored) { return call("DELETE", "/players/" + detail::escaped(id), Json(), std::move(callback)); }
  /// The admitted players, in "players".
  Running players(Callback<Json> callback) { return call("GET", "/players", Json(), std::move(callback)); }
  /// The open sessions with their expected players, in "sessions".
  Running sessions(Callback<Json> callback) { return call("GET", "/sessions", Json(), std::move(callback)); }
  /// The match of a session is over.
  Running endSession(const std::string& id, Callback<Json> callback = ignored) { return call("DELETE", "/sessions/" + detail::escaped(id), Json(), std::move(callback)); }

  /// No more players, or players again. The value is the status.
  Running drain(Callback<Json> callback = ignored) { return call("POST", "/drain", Json::object(), std::move(callback)); }
  Running undrain(Callback<Json> callback = ignored) { return call("POST", "/undrain", Json::object(), std::move(callback)); }
  /// Drains, waits for the players to leave within a time such as "90s", deregisters, and ends the sidecar.
  Running shutdown(const std::string& grace = "", Callback<Json> callback = ignored) {
    return call("POST", "/shutdown", grace.empty() ? Json::object() : Json::object({{"grace", grace}}), std::move(callback));
  }
  Running status(Callback<Json> callback) { return call("GET", "/status", Json(), std::move(callback)); }

  /// Calls onEvent with what the server has to hear about: "kick" (disconnect the player of this "id"), "sessions",
  /// "status", "players" (the ids of all admissions: disconnect everybody else). A new stream begins with the current state,
  /// so nothing is missed. onEnd is called when the registration is over.
  Running listen(detail::ListenTask::OnEvent onEvent, detail::ListenTask::OnEnd onEnd) {
    return Running(detail::Task::start(std::make_shared<detail::ListenTask>(core_, std::move(onEvent), std::move(onEnd))));
  }

 private:
  static void ignored(const Result<Json>&) {}

  static Options optionsOf(std::string url) {
    Options options;
    options.urls = {std::move(url)};
    options.attemptTimeout = Milliseconds(15000);  // the sidecar waits 10 s for the director
    options.maxBackoff = Milliseconds(2000);
    return options;
  }

  static detail::Call requestOf(const char* method, std::string path, const Json& body) {
    detail::Call request{method, std::move(path), {}, body.isNull() ? "" : body.dump()};
    request.needsToken = false;
    request.mayBeEmpty = true;
    return request;
  }

  Running call(const char* method, std::string path, const Json& body, Callback<Json> callback) {
    return start(requestOf(method, std::move(path), body), std::move(callback));
  }

  Running start(detail::Call request, Callback<Json> callback) {
    return Running(detail::Task::start(std::make_shared<detail::CallTask>(core_, std::move(request), std::move(callback))));
  }

  std::shared_ptr<detail::Core> core_;
};

}  // namespace lattice
