// A ticket in the queue.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client.hpp"

namespace lattice {

/// A ticket as one of its players sees it. Which fields it has depends on its state.
struct TicketStatus {
  std::string id;
  /// queued, paused, matched, accepting, waiting_for_server, assigned, declined, cancelled, expired. Treat one that you
  /// do not know as queued: a newer director may send it.
  std::string state;
  int version = 0;  ///< counts the states
  std::vector<std::string> party, profiles;
  int place = 0;                                    ///< in line, from 1; 0: not known
  double estimateHalf = 0, estimateMost = 0;        ///< seconds within which half, and nine of ten, are matched; 0: not known
  std::string matchId;                              ///< in accepting: give it to accept and decline
  int players = 0, accepted = 0;                    ///< in accepting
  std::string sessionHandle, endpoint, region, team;  ///< in assigned
  std::string reason, detail;                       ///< why it left the queue
  Json raw;                                         ///< all fields, also those of a newer director

  /// Whether the ticket has left the queue.
  bool isFinal() const { return state == "assigned" || state == "declined" || state == "cancelled" || state == "expired"; }
};

namespace detail {

/// Returns a document as a ticket; nothing if it is none, or not the one with this id, unless that is empty.
inline std::optional<TicketStatus> ticketOf(const Json& raw, const std::string& id) {
  TicketStatus t;
  t.id = raw["ticket_id"].text();
  t.state = raw["state"].text();
  t.version = raw["version"].whole();
  if (t.id.empty() || t.state.empty() || !raw["version"].isNumber() || (!id.empty() && t.id != id)) return std::nullopt;
  t.party = raw["party"].texts();
  t.profiles = raw["profiles"].texts();
  t.place = raw["place"].whole();
  t.estimateHalf = raw["estimate"]["p50"].number();
  t.estimateMost = raw["estimate"]["p90"].number();
  t.matchId = raw["match_id"].text();
  t.players = raw["accept"]["players"].whole();
  t.accepted = raw["accept"]["accepted"].whole();
  t.sessionHandle = raw["session_handle"].text();
  t.endpoint = raw["endpoint"].text();
  t.region = raw["region"].text();
  t.team = raw["team"].text();
  t.reason = raw["reason"].text();
  t.detail = raw["detail"].text();
  t.raw = raw;
  return t;
}

/// What the handles of a ticket share.
struct TicketShare {
  std::shared_ptr<Core> core;
  std::string id;
  std::optional<TicketStatus> status;

  std::string path() const { return "/tickets/" + escaped(id); }
};

inline std::shared_ptr<CallTask> askForTicket(const std::shared_ptr<TicketShare>& share, Call call, Callback<TicketStatus> callback) {
  const std::string name = call.name();
  call.ticket = share->id;
  return Task::start(std::make_shared<CallTask>(share->core, std::move(call), [share, name, callback = std::move(callback)](const Result<Json>& result) {
    if (!result) return callback(result.error);
    if (auto ticket = ticketOf(result.value, share->id)) return callback(std::move(*ticket));
    callback(errorOf(Error::Kind::unreadable, name, "the answer is not the ticket"));
  }));
}

/// Waits until a ticket enters another state than the known one.
class NextTask final : public Task {
 public:
  NextTask(std::shared_ptr<TicketShare> share, Callback<TicketStatus> callback)
      : Task(share->core), share_(std::move(share)), callback_(std::move(callback)), known_(share_->status), pacer_(core_->pacer()) {}

 protected:
  void begin() override {
    if (known_ && known_->isFinal()) return succeed(*known_);
    poll();
  }
  void report(const Error& error) override { callback_(error); }

 private:
  static constexpr Milliseconds pollWait{25000};

  void poll() {
    Call call{"GET", share_->path() + "?wait=25s&version=" + std::to_string(known_ ? known_->version : 0), {}, "", pollWait};
    asked_ = Clock::now();
    inner_ = askForTicket(share_, std::move(call), [this](const Result<TicketStatus>& result) { take(result); });
  }

  void take(const Result<TicketStatus>& result) {
    if (!result) return finishWith(result.error);
    share_->status = result.value;
    if (!known_ || result.value.version != known_->version || result.value.state != known_->state) return succeed(result.value);
    if (Clock::now() - asked_ >= pollWait / 2) {
      pacer_.reset();
      poll();
    } else {
      later(pacer_.next(), [this] { poll(); });  // a replica that stops answers early
    }
  }

  void succeed(TicketStatus status) {
    const auto self = shared_from_this();
    drop();
    callback_(std::move(status));
  }

  std::shared_ptr<TicketShare> share_;
  Callback<TicketStatus> callback_;
  std::optional<TicketStatus> known_;
  Pacer pacer_;
  Clock::time_point asked_;
};

/// Follows a ticket until a final state, over broken streams of events; where streams bring nothing it polls.
class WatchTask final : public Task {
 public:
  using OnStatus = std::function<void(const TicketStatus&)>;
  using OnEnd = std::function<void(const Error&)>;

  WatchTask(std::shared_ptr<TicketShare> share, OnStatus onStatus, OnEnd onEnd)
      : Task(share->core), share_(std::move(share)), onStatus_(std::move(onStatus)), onEnd_(std::move(onEnd)), pacer_(core_->pacer()) {}

 protected:
  void begin() override {
    if (!core_->replicas.isValid()) return finishWith(errorOf(Error::Kind::invalid, callOf().name(), core_->invalidURLs()));
    if (share_->status && share_->status->isFinal()) return take(*share_->status);
    core_->transport.streams() ? openStream() : read();
  }
  void report(const Error& error) override { onEnd_(error); }

 private:
  /// After how many streams in a row that brought no event the client polls instead.
  static constexpr int maxEmpty = 3;
  /// After which life of a stream the next failure counts as the first.
  static constexpr std::chrono::seconds steady{10};

  Call callOf() const {
    Call call{"GET", share_->path() + "/events", {}, ""};
    call.ticket = share_->id;
    if (share_->status) call.headers.emplace_back("Last-Event-ID", std::to_string(share_->status->version));
    return call;
  }

  void openStream() {
    parser_ = EventParser();
    opened_ = Clock::now();
    seenBefore_ = seen_;
    exchange(callOf(), false, [this](std::string_view piece) { return takePiece(piece); }, [this](const Result<Json>& result) { streamEnded(result.error); });
  }

  bool takePiece(std::string_view piece) {
    std::vector<Event> events;
    bool isReadable = parser_.push(piece, events);
    for (const Event& event : events) {
      const auto json = Json::parse(event.data);
      const auto ticket = json ? ticketOf(*json, share_->id) : std::nullopt;
      isReadable = isReadable && ticket.has_value();
      if (!isReadable) break;
      take(*ticket);
      if (isOver_) return false;
    }
    // Another replica, or a poll, may be readable.
    if (!isReadable) later(Milliseconds(0), [this] { streamEnded(errorOf(Error::Kind::unreachable, callOf().name(), "the stream of events is unreadable")); });
    return isReadable;
  }

  void streamEnded(const Error& error) {
    if (!policy_.repeats(error)) return finishWith(error);
    exchange_.reset();
    const bool broughtNews = seen_ > seenBefore_;
    empty_ = broughtNews ? 0 : empty_ + 1;
    if (broughtNews && Clock::now() - opened_ >= steady) pacer_.reset();
    pause(error, pacer_, [this] { empty_ < maxEmpty ? openStream() : read(); });
  }

  void read() {
    inner_ = askForTicket(share_, {"GET", share_->path(), {}, ""}, [this](const Result<TicketStatus>& result) { takePoll(result); });
  }

  void takePoll(const Result<TicketStatus>& result) {
    if (!result) return finishWith(result.error);
    take(result.value);
    if (!isOver_) inner_ = start(std::make_shared<NextTask>(share_, [this](const Result<TicketStatus>& next) { takePoll(next); }));
  }

  /// Takes a state, and tells the program unless it knows it: a new stream begins with the current one.
  void take(const TicketStatus& ticket) {
    const auto self = shared_from_this();
    seen_++;
    const bool isOld = last_ && (ticket.version < last_->version ||
                                 (ticket.version == last_->version && ticket.state == last_->state && ticket.raw["step"] == last_->raw["step"]));
    if (!isOld) {
      last_ = share_->status = ticket;
      onStatus_(ticket);
    }
    if (isOver_ || !ticket.isFinal()) return;
    drop();
    onEnd_(Error());
  }

  std::shared_ptr<TicketShare> share_;
  OnStatus onStatus_;
  OnEnd onEnd_;
  Pacer pacer_;
  RetryPolicy policy_;
  EventParser parser_;
  Clock::time_point opened_;
  std::optional<TicketStatus> last_;
  int seen_ = 0, seenBefore_ = 0, empty_ = 0;
};

}  // namespace detail

/// A ticket in the queue. It stays there while one of its players watches it or asks for it; 30 seconds later it expires.
/// A copy is the same ticket. At most one `next` or `watch` may run at a time.
class Ticket {
 public:
  Ticket() = default;
  explicit Ticket(std::shared_ptr<detail::TicketShare> share) : share_(std::move(share)) {}

  /// The id, which the members of a party send each other.
  const std::string& id() const { return share_->id; }
  /// The last state that `queue`, `next` or `watch` received; nothing before the first.
  const std::optional<TicketStatus>& status() const { return share_->status; }

  /// Calls onStatus with the ticket's states: the current one first or, after `next` or an earlier `watch`, those that the
  /// program has missed. A waiting ticket comes again when one of its rules widens. onEnd is called after a final state, or
  /// with what a retry cannot change.
  Running watch(detail::WatchTask::OnStatus onStatus, detail::WatchTask::OnEnd onEnd) {
    return Running(detail::Task::start(std::make_shared<detail::WatchTask>(share_, std::move(onStatus), std::move(onEnd))));
  }
  /// Waits until the ticket enters another state than `status`. Without a status it is the current one.
  /// Errors: ticket_unknown, ticket_ended some minutes after the ticket left.
  Running next(Callback<TicketStatus> callback) {
    return Running(detail::Task::start(std::make_shared<detail::NextTask>(share_, std::move(callback))));
  }
  /// Reads the ticket now, such as for its place, which changes without a new state. It does not change `status`.
  Running read(Callback<TicketStatus> callback) { return ask("GET", "", "", std::move(callback)); }
  /// Takes the ticket out of the queue for the whole party: it is then in no match. Errors: assigned, matched, too_late.
  Running cancel(Callback<TicketStatus> callback) { return ask("DELETE", "", "", std::move(callback)); }
  /// Accepts the match of the status in which the player was asked. Errors: too_late, also for another match.
  Running accept(const std::string& matchId, Callback<TicketStatus> callback) { return ask("POST", "/accept", matchId, std::move(callback)); }
  /// Declines it; the caller's party leaves the queue. Errors: too_late.
  Running decline(const std::string& matchId, Callback<TicketStatus> callback) { return ask("POST", "/decline", matchId, std::move(callback)); }

 private:
  Running ask(const std::string& method, const std::string& path, const std::string& matchId, Callback<TicketStatus> callback) {
    detail::Call call{method, share_->path() + path, {}, path.empty() ? "" : Json::object({{"match_id", matchId}}).dump()};
    return Running(detail::askForTicket(share_, std::move(call), std::move(callback)));
  }

  std::shared_ptr<detail::TicketShare> share_;
};

}  // namespace lattice
