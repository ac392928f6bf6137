// The steps of the scenarios of test/peertest, which come as lines of JSON over the connection to DIRECTOR_STEPS.
#include <lattice/director.hpp>

#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "socket_transport.hpp"

using lattice::Error;
using lattice::Json;
using lattice::Result;
using lattice::Running;

namespace {

/// A transport that notes which streams of events a player opens.
class NotingTransport final : public lattice::Transport {
 public:
  explicit NotingTransport(Transport& inner) : inner_(inner) {}

  Json opened = Json::array();

  /// As engines that deliver an answer at its end.
  bool streams() const override { return std::getenv("DIRECTOR_STEPS_POLL") == nullptr; }
  Id send(lattice::HttpRequest request, lattice::HttpHandler handler) override {
    const size_t path = request.url.find('/', 8);
    if (request.url.size() > 7 && request.url.compare(request.url.size() - 7, 7, "/events") == 0) {
      opened.push(Json::object({{"base", request.url.substr(0, path)}, {"resumed", lattice::detail::headerOf(request.headers, "Last-Event-ID")}}));
    }
    return inner_.send(std::move(request), std::move(handler));
  }
  Id after(lattice::Milliseconds time, std::function<void()> call) override { return inner_.after(time, std::move(call)); }
  void cancel(Id id) override { inner_.cancel(id); }

 private:
  Transport& inner_;
};

/// What the tests see of an error.
Json describe(const Error& error, bool isOfLobby = false) {
  const char* names[] = {"", "DirectorError", "UnreachableError", "UnreadableError", "UncertainError", "EndedError", "AbortError", "TypeError"};
  Json all = Json::object({{"name", names[static_cast<int>(error.kind)]}, {"message", error.message()}, {"call", error.call}, {"code", error.code}, {"status", error.status}});
  if (isOfLobby && error.is(Error::Kind::refused)) all.set("name", "LobbyError");
  if (error.retryAfter) all.set("retryAfter", *error.retryAfter);
  return all;
}

/// What a step returns, once.
class Answer {
 public:
  void value(Json value) { settle(Json::object({{"value", std::move(value)}})); }
  void error(const Error& error, bool isOfLobby = false) { settle(Json::object({{"error", describe(error, isOfLobby)}})); }
  void take(const Result<Json>& result, bool isOfLobby = false) { result ? value(result.value) : error(result.error, isOfLobby); }

  void settle(Json answer) {
    answer_ = std::move(answer);
    if (waiting_) waiting_(*answer_);
  }

  /// Calls a function with the answer, as soon as there is one.
  void then(std::function<void(const Json&)> call) {
    waiting_ = std::move(call);
    if (answer_) waiting_(*answer_);
  }

 private:
  std::optional<Json> answer_;
  std::function<void(const Json&)> waiting_;
};
using AnswerPointer = std::shared_ptr<Answer>;

struct PlayerSteps {
  PlayerSteps(lattice::Transport& inner, const Json& args) : transport(inner), tokens(args["tokens"].texts()) {
    lattice::Options options;
    options.urls = args["urls"].texts();
    options.token = lattice::TokenSource([this](bool refresh, const std::function<void(std::string)>& use) {
      if (refresh) {
        refreshed++;
        if (!tokens.empty()) tokens.erase(tokens.begin());
      }
      use(tokens.empty() ? "" : tokens[0]);
    });
    options.maxBackoff = lattice::Milliseconds(1000);
    options.onRetry = [this](const lattice::Retry& retry) { retries.push(describe(retry.error)); };
    sdk = std::make_unique<lattice::Player>(transport, std::move(options));
  }

  NotingTransport transport;
  std::vector<std::string> tokens;
  int refreshed = 0;
  bool isAborted = false;
  Json retries = Json::array(), states = Json::array();
  lattice::Ticket ticket;
  AnswerPointer watched = std::make_shared<Answer>();
  std::list<Running> running;
  std::unique_ptr<lattice::Player> sdk;
};

struct LobbySteps {
  std::unique_ptr<lattice::Lobby> lobby;
  Json events = Json::array(), said = Json::array();

  void note(const std::string& kind, Json event) { events.push(event.set("kind", kind)); }
};

class Steps {
 public:
  explicit Steps(SocketTransport& transport) : transport_(transport) {}

  void run(const std::string& step, const Json& args, const AnswerPointer& answer) {
    if (step == "player") return makePlayer(args, answer);
    if (step == "begin") {
      auto background = std::make_shared<Answer>();
      background_[args["id"].text()] = background;
      run(args["step"].text(), args["args"], background);
      return answer->value(nullptr);
    }
    if (step == "end") return background_[args["id"].text()]->then([answer](const Json& settled) { answer->settle(settled); });
    if (step.compare(0, 6, "server") == 0) return runServer(step, args, answer);
    if (step.compare(0, 5, "lobby") == 0 || step.compare(0, 4, "room") == 0) return runLobby(step, args, answer);
    runPlayer(step, args, *players_[args["player"].text()], answer);
  }

 private:
  void makePlayer(const Json& args, const AnswerPointer& answer) {
    players_[args["player"].text()] = std::make_unique<PlayerSteps>(transport_, args);
    answer->value(nullptr);
  }

  template <class T>
  static lattice::Callback<T> raw(const AnswerPointer& answer) {
    return [answer](const Result<T>& result) { result ? answer->value(result.value.raw) : answer->error(result.error); };
  }

  void runPlayer(const std::string& step, const Json& args, PlayerSteps& p, const AnswerPointer& answer) {
    if (step == "states") return answer->value(p.states);
    if (step == "retries") return answer->value(p.retries);
    if (step == "refreshed") return answer->value(p.refreshed);
    if (step == "streams") return answer->value(p.transport.opened);
    if (step == "watched") return p.watched->then([answer](const Json& settled) { answer->settle(settled); });
    if (step == "ticket") {
      p.ticket = p.sdk->ticket(args["id"].text());
      return answer->value(nullptr);
    }
    if (step == "abort") {
      p.isAborted = true;
      for (Running& running : p.running) running.cancel();
      return answer->value(nullptr);
    }
    if (p.isAborted) return answer->error(lattice::detail::errorOf(Error::Kind::cancelled, step, ""));
    p.running.push_back(call(step, args, p, answer));
  }

  Running call(const std::string& step, const Json& args, PlayerSteps& p, const AnswerPointer& answer) {
    if (step == "matchmake") return p.sdk->matchmake(args["request"], raw<lattice::Match>(answer));
    if (step == "seat") return p.sdk->seat(args["request"], raw<lattice::Seat>(answer), args["awaitServers"].truth());
    if (step == "resolve") return p.sdk->resolve(args["handle"].text(), raw<lattice::Connection>(answer));
    if (step == "session") return p.sdk->session(args["session"].text(), raw<lattice::Match>(answer));
    if (step == "queue") {
      return p.sdk->queue(args["request"], [answer, &p](const Result<lattice::Ticket>& result) {
        if (!result) return answer->error(result.error);
        p.ticket = result.value;
        answer->value(p.ticket.status()->raw);
      });
    }
    if (step == "watch") {
      p.states = Json::array();
      p.watched = std::make_shared<Answer>();
      answer->value(nullptr);
      return p.ticket.watch([&p](const lattice::TicketStatus& status) { p.states.push(status.raw); },
                            [watched = p.watched](const Error& error) { error ? watched->error(error) : watched->value(nullptr); });
    }
    if (step == "ticketCall") return ticketCall(args["method"].text(), p, answer);
    answer->error(lattice::detail::errorOf(Error::Kind::invalid, step, "no such step"));
    return Running();
  }

  static Running ticketCall(const std::string& method, PlayerSteps& p, const AnswerPointer& answer) {
    const auto callback = raw<lattice::TicketStatus>(answer);
    const std::string asked = p.states.size() == 0 ? "" : p.states.items().back()["match_id"].text();  // in the state that the player sees
    if (method == "accept") return p.ticket.accept(asked, callback);
    if (method == "decline") return p.ticket.decline(asked, callback);
    if (method == "cancel") return p.ticket.cancel(callback);
    return method == "next" ? p.ticket.next(callback) : p.ticket.read(callback);
  }

  void runServer(const std::string& step, const Json& args, const AnswerPointer& answer) {
    if (step == "serverEvents") return answer->value(serverEvents_);
    if (step == "serverOver") return serverOver_->then([answer](const Json& settled) { answer->settle(settled); });
    if (step == "serverCall") return serverCall(args["call"].text(), args["args"], answer);
    server_ = std::make_unique<lattice::Sidecar>(transport_, args["url"].text());
    server_->listen([this](const std::string& name, const Json& data) { serverEvents_.push(Json::object({{"name", name}, {"data", data}})); },
                    [this](const Error& error) { error ? serverOver_->error(error) : serverOver_->value(serverEvents_.items().back()["data"]["state"]); });
    answer->value(nullptr);
  }

  void serverCall(const std::string& call, const Json& args, const AnswerPointer& answer) {
    const lattice::Callback<Json> callback = [answer](const Result<Json>& result) { answer->take(result); };
    if (call == "ready") server_->ready(args["about"], callback);
    if (call == "health") server_->health(callback);
    if (call == "load") server_->load(args["load"].number(), callback);
    if (call == "admit") server_->admit(args["token"].text(), raw<lattice::Admission>(answer));
    if (call == "leave") server_->leave(args["id"].text(), callback);
    if (call == "players") server_->players(callback);
    if (call == "sessions") server_->sessions(callback);
    if (call == "end") server_->endSession(args["session"].text(), callback);
    if (call == "drain") server_->drain(callback);
    if (call == "undrain") server_->undrain(callback);
    if (call == "shutdown") server_->shutdown(args["grace"].text(), callback);
  }

  // The lobby.

  Json describeRoom(const lattice::Lobby& lobby, const lattice::Room& room) const {
    Json members = Json::array(), me;
    for (const lattice::Member& member : room.members()) {
      Json described = member.raw;
      described.set("session", member.session);
      members.push(described);
      if (member.session == lobby.session()) me = described;
    }
    return Json::object({{"id", room.id}, {"type", room.type}, {"state", room.state}, {"seq", room.seq}, {"sessions", Json::array(room.sessions)},
                         {"members", members}, {"me", me}, {"isOwner", lobby.isOwner(room)}});
  }

  void runLobby(const std::string& step, const Json& args, const AnswerPointer& answer) {
    LobbySteps& l = lobbies_[args["player"].text()];
    if (step == "lobby") return connect(args, l, answer);
    if (step == "lobbyURL") return answer->value(l.lobby->url());
    if (step == "lobbySaid") return answer->value(l.said);
    if (step == "lobbyCall") return lobbyCall(args["method"].text(), args["args"], l, answer);
    if (step == "roomCall") return roomCall(args["room"].text(), args["method"].text(), args["args"], l, answer);
    if (step == "roomSeen") return answer->value(describeRoom(*l.lobby, *l.lobby->room(args["room"].text())));
    Json found = Json::array();
    for (const Json& event : l.events.items()) {
      if (event["kind"] == args["kind"]) found.push(event);
    }
    answer->value(found);
  }

  void connect(const Json& args, LobbySteps& l, const AnswerPointer& answer) {
    lattice::LobbyOptions options;
    options.urls = args["urls"].texts();
    options.session = args["session"].text();
    options.maxBackoff = lattice::Milliseconds(1000);
    const auto tokens = std::make_shared<std::vector<std::string>>(args["tokens"].texts());
    options.token = lattice::Token((*tokens)[0]);
    if (tokens->size() > 1) {
      options.token = lattice::Token(lattice::TokenSource([tokens](bool refresh, const std::function<void(std::string)>& use) {
        if (refresh) tokens->erase(tokens->begin());
        use((*tokens)[0]);
      }));
    }
    l.lobby = std::make_unique<lattice::Lobby>(transport_, options);
    l.lobby->connect([this, &l, answer](const Result<Json>& result) {
      if (!result) return answer->error(result.error, true);
      answer->value(Json::object({{"session", result.value}, {"connected", true}}));
      transport_.after(lattice::Milliseconds(0), [&l] { listen(l); });  // the first connection is not counted
    });
  }

  static void listen(LobbySteps& l) {
    auto& events = l.lobby->events;
    events.onConnected = [&l](const std::string& url, bool isResumed) { l.note("connected", Json::object({{"url", url}, {"session", l.lobby->session()}, {"resumed", isResumed}})); };
    events.onDisconnected = [&l](int code) { l.note("disconnected", Json::object({{"code", code}})); };
    events.onEnded = [&l](const Error& error) { l.note("ended", describe(error, true)); };
    events.onInvited = [&l](const Json& event) { l.note("invited", event); };
    events.onMatch = [&l](const Json& event) { l.note("match", event); };
  }

  void lobbyCall(const std::string& method, const Json& args, LobbySteps& l, const AnswerPointer& answer) {
    const auto arg = [&args](size_t i) { return i < args.size() ? args.items()[i] : Json(); };
    const auto plain = [answer](const Result<Json>& result) { answer->take(result, true); };
    const auto joined = [this, &l, answer](const Result<lattice::Lobby::RoomPointer>& result) {
      if (!result) return answer->error(result.error, true);
      lattice::Room* room = result.value.get();
      room->onMessage = [&l, room](const Json& m) { l.said.push(Json::object({{"room", room->id}, {"type", m["type"]}, {"data", m["data"]}, {"from", m["from"]}})); };
      room->onPresence = [&l, room](const std::string& what, Json who) {
        if (what == "left") l.note("left", who.set("room", room->id));
      };
      answer->value(describeRoom(*l.lobby, *room));
    };
    if (method == "createParty") l.lobby->createParty(arg(0), joined);
    if (method == "createLobby") l.lobby->createLobby(arg(0), joined);
    if (method == "join") l.lobby->join(arg(0).text(), arg(1).text(), arg(2), joined);
    if (method == "joinMatch") l.lobby->joinMatch(arg(0), arg(1), joined);
    if (method == "list") l.lobby->request("room.list", arg(0), "", true, plain);
    if (method == "enqueue") l.lobby->request("matchmaking.enqueue", arg(0), "", true, plain);
    if (method == "dequeue") {
      l.lobby->request("matchmaking.dequeue", Json::object(), "", true, [answer](const Result<Json>& result) { answer->take(result ? Result<Json>(result.value["removed"]) : result, true); });
    }
  }

  void roomCall(const std::string& room, const std::string& method, const Json& args, LobbySteps& l, const AnswerPointer& answer) {
    const auto arg = [&args](size_t i) { return i < args.size() ? args.items()[i] : Json(); };
    const auto plain = [answer](const Result<Json>& result) { answer->take(result, true); };
    if (method == "invite") l.lobby->invite(room, arg(0).text(), plain);
    if (method == "say") l.lobby->say(room, arg(0).text(), plain);
    if (method == "queue") l.lobby->queue(room, arg(0), plain);
    if (method == "start") l.lobby->startMatch(room, arg(0), plain);
    if (method == "cancelQueue") l.lobby->cancelQueue(room, plain);
    if (method == "leave") l.lobby->leave(room, plain);
    if (method == "set") l.lobby->set(room, arg(0).text(), arg(1), plain);
    if (method == "team") l.lobby->team(room, arg(0), plain);
    if (method == "ready") l.lobby->ready(room, arg(0).truth(), plain);
    if (method == "lock") l.lobby->send(room, "lock", Json::object({{"locked", arg(0)}}), plain);
    if (method == "kick") l.lobby->send(room, "kick", Json::object({{"session", arg(0)}}), plain);
    if (method == "countdown") l.lobby->send(room, "countdown", Json::object({{"seconds", arg(0)}}), plain);
    if (method == "giveOwnership") l.lobby->send(room, "owner", Json::object({{"session", arg(0)}}), plain);
    if (method == "resolve") {
      l.lobby->resolve(room, [answer](const Result<lattice::Connection>& result) { result ? answer->value(result.value.raw) : answer->error(result.error, true); });
    }
  }

  SocketTransport& transport_;
  std::map<std::string, AnswerPointer> background_;
  std::map<std::string, std::unique_ptr<PlayerSteps>> players_;
  Json serverEvents_ = Json::array();
  AnswerPointer serverOver_ = std::make_shared<Answer>();
  std::unique_ptr<lattice::Sidecar> server_;
  std::map<std::string, LobbySteps> lobbies_;
};

}  // namespace

int main() {
  const int fd = connectTo(std::getenv("DIRECTOR_STEPS"));
  SocketTransport transport;
  Steps steps(transport);
  for (std::string in;;) {
    std::vector<curl_waitfd> descriptors{{fd, CURL_WAIT_POLLIN, 0}};
    transport.addDescriptors(descriptors);
    transport.poll(lattice::Milliseconds(1000), descriptors);
    transport.readSockets();
    char buffer[65536];
    const ssize_t n = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n == 0) return 0;
    if (n > 0) in.append(buffer, static_cast<size_t>(n));
    for (size_t end; (end = in.find('\n')) != std::string::npos; in.erase(0, end + 1)) {
      const Json request = Json::parse(in.substr(0, end)).value_or(Json());
      const auto answer = std::make_shared<Answer>();
      answer->then([fd](const Json& settled) { SocketTransport::sendAll(fd, settled.dump() + "\n"); });
      steps.run(request["step"].text(), request["args"], answer);
    }
  }
}
