// A client of the realtime lobby: parties, lobbies, chat, the queue, matches.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client.hpp"
#include "player.hpp"

namespace lattice {

/// A member of a party, a lobby or a match.
struct Member {
  std::string session, name;
  bool isReady = false;  ///< in a lobby
  bool isAway = false;   ///< its connection has ended, while its session has not
  Json raw;              ///< with "team" in a lobby, "player" in a match, "data"
};

/// A room, for as long as the client lives, whether it is a member or not.
struct Room {
  std::string id, type;
  Json state = Json::object();        ///< empty while the client is no member
  std::vector<std::string> sessions;  ///< in the room, sorted
  int seq = 0;                        ///< counts the changes of the state; 0: the client is no member

  std::function<void()> onState;                                            ///< the room has another state
  std::function<void(const Json& message)> onMessage;                       ///< "type", "data", and "from", a session
  std::function<void(const std::string& what, const Json& who)> onPresence; ///< joined, left, dropped, reconnected; "client_id", "reason"

  /// The members of a party, a lobby or a match.
  std::vector<Member> members() const {
    std::vector<Member> all;
    for (std::size_t i = 0; i < state.size(); i++) {
      if (state.keys()[i].compare(0, 2, "m:") != 0) continue;
      const Json& raw = state.items()[i];
      all.push_back({state.keys()[i].substr(2), raw["name"].text(), raw["ready"].truth(), raw["away"].truth(), raw});
    }
    return all;
  }
  /// Who owns the party or the lobby: a session.
  std::string owner() const { return state["owner"].text(); }
  /// Such as "open" and "queued".
  std::string phase() const { return state["phase"].text(); }
};

/// What a client of the lobby hears beside what its rooms say.
struct LobbyEvents {
  std::function<void(const std::string& url, bool isResumed)> onConnected;
  std::function<void(int code)> onDisconnected;  ///< the client connects again
  std::function<void(const Error&)> onEnded;     ///< the client has ended
  std::function<void(const Json&)> onInvited;    ///< "room", "room_type", "from_player": join the room, or leave it to decline
  std::function<void(const Json&)> onMatch;      ///< "room", "room_type": join it with joinMatch
  std::function<void(const Json&)> onPending;    ///< "match_id", "seconds": accept it or decline it
  std::function<void(const Json&)> onExpired;    ///< "reason": the session waits for no match any more
  std::function<void(const Json&)> onFrame;      ///< any other frame: "t", "room", "p"
};

/// How a client reaches the lobby.
struct LobbyOptions {
  std::vector<std::string> urls;  ///< such as "wss://lobby.example:4000"
  Token token;                    ///< which the game's backend minted
  std::string session;            ///< of a former client, such as that of a game before it was restarted, to resume it
  std::string project;            ///< of a client without a token, where the director allows that
  Milliseconds attemptTimeout{5000}, firstBackoff{250}, maxBackoff{3000};
};

namespace detail {

/// A longer frame is not the director's.
inline constexpr std::size_t maxFrame = 1 << 20;

class RequestTask;

/// A session of the lobby, over any number of connections.
class LobbyCore final : public Core {
 public:
  LobbyCore(Transport& engine, const LobbyOptions& given, LobbyEvents& events)
      : Core(engine, coreOptionsOf(given), "ws"), session(given.session), project_(given.project), events_(events), pacer_(pacer()) {}

  std::string session;
  std::map<std::string, std::shared_ptr<Room>> rooms;
  std::map<std::string, Json> joinOptions;  ///< of the rooms that the client has joined

  std::shared_ptr<LobbyCore> self() { return std::static_pointer_cast<LobbyCore>(shared_from_this()); }
  bool isConnected() const { return isAttached_; }
  /// Why the client has ended; of the kind none while it has not.
  const Error& endError() const { return endError_; }
  std::string url() const { return isAttached_ ? base_ : ""; }

  std::shared_ptr<Room> room(const std::string& id) {
    auto& known = rooms[id];
    if (!known) {
      known = std::make_shared<Room>();
      known->id = id;
    }
    return known;
  }

  void dial(Callback<Json> onFirst) {
    onFirst_ = std::move(onFirst);
    if (!replicas.isValid()) return end(errorOf(Error::Kind::invalid, "handshake", invalidURLs()));
    dialAll();
  }

  void send(const Json& frame) {
    Json whole = frame;
    whole.set("v", 1);
    transport.write(socket_, whole.dump());
  }

  std::string add(const std::shared_ptr<RequestTask>& task) {
    const std::string rid = std::to_string(++lastRequest_);
    pending_[rid] = task;
    return rid;
  }
  void forget(const std::string& rid) { pending_.erase(rid); }

  void forgetRoom(Room& room) {
    joinOptions.erase(room.id);
    heard_.erase(room.id);
    room.state = Json::object();
    room.sessions.clear();
    room.seq = 0;
  }

  /// Ends the connection without a word to the program.
  void hangUp() {
    isOver_ = true;
    isAttached_ = false;
    transport.cancel(std::exchange(socket_, 0));
    transport.cancel(std::exchange(timer_, 0));
  }

  void end(const Error& error);

  /// Ends the connection, which is then replaced.
  void reconnect() {
    if (isAttached_) connectionEnded(1000);
  }

 private:
  static constexpr std::chrono::seconds steady{10};  ///< the life of a connection after which the next failure counts as the first
  static constexpr int maxTakeovers = 3;             ///< a replica that was frozen closes connections with the same code
  static constexpr int superseded = 4409;
  static constexpr Milliseconds silence{25000}, probe{10000};

  static Options coreOptionsOf(const LobbyOptions& o) {
    Options options;
    options.urls = o.urls;
    options.token = o.token;
    options.attemptTimeout = o.attemptTimeout;
    options.firstBackoff = o.firstBackoff;
    options.maxBackoff = o.maxBackoff;
    return options;
  }

  void after(Milliseconds time, void (LobbyCore::*call)()) {
    transport.cancel(timer_);
    timer_ = transport.after(time, [weak = weak_from_this(), call] {
      if (auto core = std::static_pointer_cast<LobbyCore>(weak.lock())) (core.get()->*call)();
    });
  }

  void dialAll() {
    isRefreshed_ = false;
    dialNext(replicas.count());
  }

  void dialNext(std::size_t left) {
    left_ = left;
    if (left_ == 0) return after(pacer_.next(), &LobbyCore::dialAll);
    passToken(isRefreshed_, [weak = weak_from_this()](std::string token) {
      auto core = std::static_pointer_cast<LobbyCore>(weak.lock());
      if (core && !core->isOver_ && core->socket_ == 0) core->open(std::move(token));
    });
  }

  void open(std::string token) {
    base_ = replicas.pick().base;
    const auto weak = weak_from_this();
    const auto locked = [weak] { return std::static_pointer_cast<LobbyCore>(weak.lock()); };
    SocketHandler handler;
    handler.opened = [locked, token = std::move(token)] {
      if (auto core = locked()) core->shakeHands(token);
    };
    handler.message = [locked](std::string_view text) {
      if (auto core = locked()) core->take(text);
    };
    handler.closed = [locked](int code) {
      if (auto core = locked()) core->closed(code);
    };
    socket_ = transport.open(base_, std::move(handler));
    if (socket_ == 0) return end(errorOf(Error::Kind::invalid, "handshake", "the transport has no WebSockets"));
    after(options.attemptTimeout, &LobbyCore::dialFailed);
  }

  void shakeHands(const std::string& token) {
    Json hello = Json::object({{"v", 1}, {"codecs", Json::array({Json("json")})}, {"token", token}});
    if (!session.empty()) hello.set("session_id", session);
    if (!project_.empty()) hello.set("project_id", project_);
    transport.write(socket_, hello.dump());
  }

  void dialFailed() {
    replicas.noteFailure(base_);
    hangUpSocket();
    dialNext(left_ - 1);
  }

  void hangUpSocket() {
    transport.cancel(std::exchange(socket_, 0));
    transport.cancel(std::exchange(timer_, 0));
  }

  void closed(int code) {
    socket_ = 0;
    isAttached_ ? connectionEnded(code) : dialFailed();
  }

  void take(std::string_view text) {
    const std::optional<Json> frame = text.size() > maxFrame ? std::nullopt : Json::parse(text);
    if (!frame || !frame->isObject()) return isAttached_ ? void() : dialFailed();
    isAttached_ ? takeFrame(*frame) : takeHandshake(*frame);
  }

  void takeHandshake(const Json& frame) {
    const Json& p = frame["p"];
    if (frame["t"].text() == "error") return refused(refusalOf("handshake", p));
    if (frame["t"].text() != "handshake.ok" || p["session_id"].text().empty()) return dialFailed();
    attach(p["session_id"].text(), p["resumed"].truth());
  }

  void refused(const Error& error) {
    const bool isOfToken = error.code == "token_refused" || error.code == "key_refused";
    const bool isFinal = error.code == "bad_frame" || error.code == "unsupported_version" || error.code == "unsupported_codec";
    if (isFinal || (isOfToken && (isRefreshed_ || !options.token.source))) return end(error);
    if (!isOfToken) return dialFailed();
    isRefreshed_ = true;
    hangUpSocket();
    dialNext(std::max<std::size_t>(left_ - 1, 1));
  }

  void attach(std::string newSession, bool isResumed);
  void connectionEnded(int code);
  void takeFrame(const Json& frame);
  void takeOfRoom(const std::shared_ptr<Room>& room, const std::string& t, const Json& p);
  void takeState(const std::shared_ptr<Room>& room, const std::string& t, const Json& p);
  void takeMessage(const std::shared_ptr<Room>& room, const Json& message);
  void rejoin(const std::string& id);

  /// A browserless client sees no pings either, so a dead connection is found by a question.
  void ask() {
    send(Json::object({{"t", "echo"}, {"rid", "probe"}, {"p", Json::object()}}));
    after(probe, &LobbyCore::noAnswer);
  }
  void noAnswer() { connectionEnded(1006); }

 public:
  static Error refusalOf(const std::string& call, const Json& p) {
    Error error = errorOf(Error::Kind::refused, call, shortened(p["error"].isText() ? p["error"].text() : p["reason"].text()));
    error.code = shortened(p["code"].text());
    error.hint = shortened(p["hint"].text());
    if (p["retry_after_ms"].isNumber()) error.retryAfter = std::max(0.0, p["retry_after_ms"].number() / 1000);
    if (p["field"].isText()) error.fields.push_back({shortened(p["field"].text()), error.detail});
    return error;
  }

 private:
  std::string project_, base_;
  LobbyEvents& events_;
  Pacer pacer_;
  Callback<Json> onFirst_;
  Error endError_;
  Transport::Id socket_ = 0, timer_ = 0;
  std::size_t left_ = 0;
  bool isAttached_ = false, isRefreshed_ = false, isOver_ = false;
  int takeovers_ = 0;
  Clock::time_point attachedAt_;
  unsigned long long lastRequest_ = 0;
  std::map<std::string, std::weak_ptr<RequestTask>> pending_;
  std::map<std::string, std::pair<double, double>> heard_;  ///< the last message of each room
};

/// A request and its answer. It waits for a connection.
class RequestTask final : public Task {
 public:
  RequestTask(std::shared_ptr<LobbyCore> core, std::string type, std::string room, Json p, bool mayRepeat, Callback<Json> callback)
      : Task(core), lobby_(std::move(core)), type_(std::move(type)), room_(std::move(room)), p_(std::move(p)), mayRepeat_(mayRepeat), callback_(std::move(callback)) {}

  void takeAnswer(const Json& answer) {
    rid_.clear();
    if (!answer["ok"].truth()) return failed(LobbyCore::refusalOf(name(), answer));
    const auto self = shared_from_this();
    drop();
    callback_(answer);
  }
  /// The connection ended before the answer.
  void lost() {
    rid_.clear();
    failed(errorOf(Error::Kind::uncertain, name(), "the connection ended before the answer: look at the state of the room"));
  }
  void end(const Error& error) { finishWith(error); }

 protected:
  void begin() override {
    if (lobby_->endError()) return finishWith(lobby_->endError());
    if (!lobby_->isConnected()) return later(Milliseconds(50), [this] { begin(); });
    rid_ = lobby_->add(std::static_pointer_cast<RequestTask>(shared_from_this()));
    Json frame = Json::object({{"t", type_}, {"rid", rid_}, {"p", p_}});
    if (!room_.empty()) frame.set("room", room_);
    lobby_->send(frame);
  }
  void report(const Error& error) override {
    lobby_->forget(rid_);
    callback_(error);
  }

 private:
  std::string name() const { return type_ + (p_["type"].isText() ? " " + p_["type"].text() : ""); }

  void failed(const Error& error) {
    const bool isTemporary = error.is(Error::Kind::uncertain) || error.code == "unavailable" || error.code == "rate_limited";
    if (!mayRepeat_ || !isTemporary) return finishWith(error);
    const double asked = std::min(error.retryAfter.value_or(0), 60.0) * 1000;
    later(Milliseconds(250 + static_cast<int>(asked)), [this] { begin(); });
  }

  std::shared_ptr<LobbyCore> lobby_;
  std::string type_, room_, rid_;
  Json p_;
  bool mayRepeat_;
  Callback<Json> callback_;
};

/// Joins a room and waits for its state.
class JoinTask final : public Task {
 public:
  JoinTask(std::shared_ptr<LobbyCore> core, std::string request, std::string id, Json p, Json options, Callback<std::shared_ptr<Room>> callback)
      : Task(core), lobby_(std::move(core)), request_(std::move(request)), id_(std::move(id)), p_(std::move(p)), options_(std::move(options)), callback_(std::move(callback)) {}

 protected:
  void begin() override {
    Json p = p_;
    p.set("options", options_.isObject() ? options_ : Json::object());
    inner_ = start(std::make_shared<RequestTask>(lobby_, request_, id_, std::move(p), true, [this](const Result<Json>& result) {
      if (!result) return finishWith(result.error);
      room_ = lobby_->room(result.value["room"].text());
      room_->type = p_["room_type"].isText() ? p_["room_type"].text() : result.value["room_type"].text();
      lobby_->joinOptions[room_->id] = options_;
      awaitState();
    }));
  }
  void report(const Error& error) override { callback_(error); }

 private:
  void awaitState() {
    if (room_->seq == 0) return later(Milliseconds(10), [this] { awaitState(); });
    const auto self = shared_from_this();
    drop();
    callback_(room_);
  }

  std::shared_ptr<LobbyCore> lobby_;
  std::string request_, id_;
  Json p_, options_;
  std::shared_ptr<Room> room_;
  Callback<std::shared_ptr<Room>> callback_;
};

inline void LobbyCore::end(const Error& error) {
  const auto keep = self();
  hangUp();
  endError_ = error;
  for (auto& entry : std::exchange(pending_, {})) {
    if (auto task = entry.second.lock()) task->end(error);
  }
  if (auto first = std::exchange(onFirst_, nullptr)) return first(error);
  if (events_.onEnded) events_.onEnded(error);
}

inline void LobbyCore::attach(std::string newSession, bool isResumed) {
  const auto keep = self();
  session = std::move(newSession);
  isAttached_ = true;
  attachedAt_ = Clock::now();
  after(silence, &LobbyCore::ask);
  if (!isResumed) {
    std::vector<std::string> ids;
    for (const auto& entry : joinOptions) ids.push_back(entry.first);
    for (const std::string& id : ids) rejoin(id);
  }
  if (auto first = std::exchange(onFirst_, nullptr)) first(Json(session));
  if (!isOver_ && events_.onConnected) events_.onConnected(base_, isResumed);
}

/// Joins a room again in which the client was with a session that has ended.
inline void LobbyCore::rejoin(const std::string& id) {
  const auto known = room(id);
  const Json again = joinOptions[id];
  forgetRoom(*known);
  Task::start(std::make_shared<JoinTask>(self(), "room.join_or_create", id, Json::object({{"room_type", known->type}}), again, [known](const Result<std::shared_ptr<Room>>& result) {
    if (!result && known->onPresence) known->onPresence("left", Json::object({{"reason", result.error.code}}));
  }));
}

inline void LobbyCore::connectionEnded(int code) {
  const auto keep = self();
  isAttached_ = false;
  hangUpSocket();
  replicas.noteFailure(base_);
  const bool isSteady = Clock::now() - attachedAt_ >= steady;
  if (isSteady) pacer_.reset();
  takeovers_ = isSteady || code != superseded ? 0 : takeovers_ + 1;
  after(pacer_.next(), &LobbyCore::dialAll);
  for (auto& entry : std::exchange(pending_, {})) {
    if (auto task = entry.second.lock()) task->lost();
  }
  if (!isOver_ && events_.onDisconnected) events_.onDisconnected(code);
  if (!isOver_ && takeovers_ >= maxTakeovers) {
    end(errorOf(Error::Kind::ended, "", "another client took the session over: give each client a session of its own"));
  }
}

inline void LobbyCore::takeFrame(const Json& frame) {
  const auto keep = self();
  after(silence, &LobbyCore::ask);
  const std::string t = frame["t"].text();
  const Json& p = frame["p"];
  if (t == "rpc.response") {
    const auto found = pending_.find(frame["rid"].text());
    if (found == pending_.end()) return;
    const auto task = found->second.lock();
    pending_.erase(found);
    if (task) task->takeAnswer(p);
    return;
  }
  const std::pair<const char*, std::function<void(const Json&)>*> known[] = {
      {"room.invited", &events_.onInvited}, {"match.found", &events_.onMatch}, {"match.pending", &events_.onPending}, {"matchmaking.expired", &events_.onExpired}};
  for (const auto& [name, event] : known) {
    if (t == name) return *event ? (*event)(p) : void();
  }
  if (frame["room"].isText()) takeOfRoom(room(frame["room"].text()), t, p);
  if (!isOver_ && events_.onFrame) events_.onFrame(frame);
}

inline void LobbyCore::takeOfRoom(const std::shared_ptr<Room>& room, const std::string& t, const Json& p) {
  if (t == "state.snapshot" || t == "state.patch") return takeState(room, t, p);
  if (t == "room.message") return takeMessage(room, p);
  if (t == "room.members") room->sessions = p["members"].texts();
  const std::string what = t == "room.joined" || t == "room.left" || t == "room.dropped" || t == "room.reconnected" ? t.substr(5) : "";
  if (what.empty()) return;
  if (what == "left" && p["client_id"].text() == session) forgetRoom(*room);
  if (room->onPresence) room->onPresence(what, p);
}

inline void LobbyCore::takeState(const std::shared_ptr<Room>& room, const std::string& t, const Json& p) {
  const int seq = p["seq"].whole();
  if (t == "state.snapshot") {
    if (!p["state"].isObject()) return;
    room->state = p["state"];
  } else {
    if (room->seq == 0 || seq > room->seq + 1) return send(Json::object({{"t", "state.resync"}, {"room", room->id}, {"p", Json::object()}}));
    if (seq <= room->seq) return;  // a snapshot had it
    for (const Json& op : p["ops"].items()) {
      std::string key = op["path"].text().substr(op["path"].text().empty() ? 0 : 1);
      for (const auto& [from, to] : {std::pair<std::string, std::string>("~1", "/"), {"~0", "~"}}) {
        for (std::size_t at = key.find(from); at != std::string::npos; at = key.find(from, at + 1)) key.replace(at, 2, to);
      }
      op["op"].text() == "del" ? room->state.erase(key) : void(room->state.set(key, op["value"]));
    }
  }
  room->seq = seq;
  send(Json::object({{"t", "state.ack"}, {"room", room->id}, {"p", Json::object({{"seq", seq}})}}));
  if (room->onState) room->onState();
}

/// Takes a message, unless the room has heard it before its connection ended.
inline void LobbyCore::takeMessage(const std::shared_ptr<Room>& room, const Json& message) {
  const std::string id = message["id"].text();
  const std::size_t dot = std::min(id.find('.'), id.size());
  const auto numberOf = [](const std::string& text) { return Json::parse(text).value_or(Json(0)).number(); };
  const std::pair<double, double> position{numberOf(id.substr(0, dot)), numberOf(dot < id.size() ? id.substr(dot + 1) : "0")};
  const auto known = heard_.find(room->id);
  const bool isHeard = known != heard_.end() && position <= known->second;
  if (message["repeated"].truth() && isHeard) return;
  if (!isHeard) heard_[room->id] = position;
  if (room->onMessage) room->onMessage(message);
}

}  // namespace detail

/// A session of the realtime lobby, over any number of connections: when one ends, the client connects to the next replica
/// and resumes its session, so that the player stays in its rooms and in the queue. After a longer absence it gets a new
/// session, and joins its rooms again. Used on one thread; its end ends everything without a callback.
///
/// What may be carried out twice is repeated after a lost connection. What may not (say, send, queue, start) returns an
/// error of the kind uncertain: look at the state of the room.
class Lobby {
 public:
  using RoomPointer = std::shared_ptr<Room>;

  LobbyEvents events;

  Lobby(Transport& transport, LobbyOptions options) : core_(std::make_shared<detail::LobbyCore>(transport, std::move(options), events)) {}
  ~Lobby() { close(); }
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  /// Connects. The value is the session's id. It tries all replicas until the client ends. Errors: token_refused, invalid.
  void connect(Callback<Json> callback) {
    transportLater([core = core_, callback = std::move(callback)]() mutable { core->dial(std::move(callback)); });
  }
  /// Ends the connection. The session ends when its time to live is over: leave rooms that the player shall be out of at once.
  void close() {
    core_->hangUp();
    core_->close();
  }
  /// Connects to the next replica, such as when the network has changed: a silent connection is noticed half a minute later.
  void reconnect() { core_->reconnect(); }

  const std::string& session() const { return core_->session; }
  bool isConnected() const { return core_->isConnected(); }
  /// The replica to which the client is connected; empty while it is not.
  std::string url() const { return core_->url(); }
  /// Returns a room by its id, to listen to it or to leave it.
  RoomPointer room(const std::string& id) { return core_->room(id); }
  /// Whether this client owns a party or a lobby.
  bool isOwner(const Room& room) const { return !session().empty() && room.owner() == session(); }

  /// Joins a room, or makes it, and waits for its state. The options may have "name", "private", "max_members", "metadata",
  /// "data" and "settings". Errors: room_full, room_locked, not_invited, room_not_found, unsupported_room_type, invalid.
  Running join(const std::string& type, const std::string& id, const Json& options, Callback<RoomPointer> callback) {
    return enter("room.join_or_create", id, Json::object({{"room_type", type}}), options, std::move(callback));
  }
  /// Makes a party, which only invited players join.
  Running createParty(const Json& options, Callback<RoomPointer> callback) { return join("party", "party:" + suffix(), options, std::move(callback)); }
  /// Makes a lobby.
  Running createLobby(const Json& options, Callback<RoomPointer> callback) { return join("lobby", "lobby:" + suffix(), options, std::move(callback)); }
  /// Joins the room of a match, where its game server is found: `resolve`.
  Running joinMatch(const Json& match, const Json& options, Callback<RoomPointer> callback) {
    return join(match["room_type"].text(), match["room"].text(), options, std::move(callback));
  }
  /// Joins the room that has a code, such as "KX7-4ZM". Errors: code_unknown, room_full, banned.
  Running joinByCode(const std::string& code, const Json& options, Callback<RoomPointer> callback) {
    return enter("room.join", "", Json::object({{"code", code}}), options, std::move(callback));
  }
  /// Leaves a room, or declines an invitation to it.
  Running leave(const std::string& room, Callback<Json> callback = ignored) {
    return request("room.leave", Json::object(), room, true, [core = core_, room, callback = std::move(callback)](const Result<Json>& result) {
      // It has left already, perhaps by an attempt whose answer was lost.
      const bool hasLeft = result || result.error.code == "not_a_member" || result.error.code == "room_not_found";
      if (hasLeft) core->forgetRoom(*core->room(room));
      callback(hasLeft ? Result<Json>(Json::object()) : result);
    });
  }

  /// Sends a message to a room and waits until it has accepted it. Types of the game's own begin with "x.".
  Running send(const std::string& room, const std::string& type, const Json& data = Json::object(), Callback<Json> callback = ignored) {
    return message(room, type, data, false, std::move(callback));
  }
  /// Sends a line of chat, a message of the type "say".
  Running say(const std::string& room, const std::string& text, Callback<Json> callback = ignored) {
    return send(room, "say", Json::object({{"text", text}}), std::move(callback));
  }
  /// Invites a player, by the `sub` of its token, for 5 minutes. The value's "reached" is how many of its connections that reached.
  Running invite(const std::string& room, const std::string& player, Callback<Json> callback = ignored) {
    return message(room, "invite", Json::object({{"player", player}}), true, std::move(callback));
  }
  /// In a lobby. A change takes all members out of the queue.
  Running ready(const std::string& room, bool isReady, Callback<Json> callback = ignored) {
    return message(room, "ready", Json::object({{"ready", isReady}}), true, std::move(callback));
  }
  /// In a lobby. Null takes it back.
  Running team(const std::string& room, const Json& team, Callback<Json> callback = ignored) {
    return message(room, "team", Json::object({{"team", team}}), true, std::move(callback));
  }
  /// Changes a setting of a lobby. For the owner.
  Running set(const std::string& room, const std::string& key, const Json& value, Callback<Json> callback = ignored) {
    return message(room, "set", Json::object({{"key", key}, {"value", value}}), true, std::move(callback));
  }
  /// The members of a party queue together: "room_type", "size", "attributes", "latencies". For the owner. Errors: refused,
  /// invalid, cannot_match, profile_unknown.
  Running queue(const std::string& room, const Json& request, Callback<Json> callback = ignored) { return send(room, "queue", request, std::move(callback)); }
  /// The members of a lobby queue together, if all are ready and connected. For the owner.
  Running startMatch(const std::string& room, const Json& request, Callback<Json> callback = ignored) { return send(room, "start", request, std::move(callback)); }
  /// Takes the members out of the queue.
  Running cancelQueue(const std::string& room, Callback<Json> callback = ignored) { return message(room, "cancel", Json::object(), true, std::move(callback)); }
  /// Accepts or declines the match of onPending. Errors: too_late.
  Running accept(const std::string& matchId, bool accepts, Callback<Json> callback = ignored) {
    return request(accepts ? "match.accept" : "match.decline", Json::object({{"match_id", matchId}}), "", true, std::move(callback));
  }
  /// Returns what is needed to connect to the game server of a match. Errors: refused for a match without one.
  Running resolve(const std::string& room, Callback<Connection> callback) {
    return request("match.resolve", Json::object(), room, true, [callback = std::move(callback)](const Result<Json>& result) {
      if (!result) return callback(result.error);
      if (auto connection = detail::connectionOf(result.value)) return callback(std::move(*connection));
      callback(detail::errorOf(Error::Kind::unreadable, "match.resolve", "the answer lacks what every director sends"));
    });
  }

  /// Makes a request that has no method here, such as "room.list", and returns its answer. It waits for a connection.
  Running request(const std::string& type, const Json& p, const std::string& room, bool mayRepeat, Callback<Json> callback) {
    return Running(detail::Task::start(std::make_shared<detail::RequestTask>(core_, type, room, p, mayRepeat, std::move(callback))));
  }

 private:
  static void ignored(const Result<Json>&) {}
  /// Others cannot join a private room by guessing its id, so it need not be secret.
  static std::string suffix() { return detail::randomKey().substr(0, 12); }

  Running message(const std::string& room, const std::string& type, const Json& data, bool mayRepeat, Callback<Json> callback) {
    return request("room.message", Json::object({{"type", type}, {"data", data}}), room, mayRepeat, std::move(callback));
  }
  Running enter(const std::string& request, const std::string& id, Json which, const Json& options, Callback<RoomPointer> callback) {
    return Running(detail::Task::start(std::make_shared<detail::JoinTask>(core_, request, id, std::move(which), options, std::move(callback))));
  }
  template <class Function>
  void transportLater(Function call) {
    core_->transport.after(Milliseconds(0), [weak = std::weak_ptr<detail::LobbyCore>(core_), call = std::move(call)]() mutable {
      if (weak.lock()) call();
    });
  }

  std::shared_ptr<detail::LobbyCore> core_;
};

}  // namespace lattice
