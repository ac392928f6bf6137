// Calls of the director: attempts, replicas, tokens, pauses.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "cells.hpp"
#include "retry.hpp"
#include "sse.hpp"

namespace lattice {

/// Passes a player's access token, which the game's own login issued. It may be called at once or later, once for each
/// request. An empty text says that there is none: the call then fails.
using TokenSource = std::function<void(bool refresh, std::function<void(std::string)> use)>;

/// The access token of a player: a text, for as long as it is valid, or a function. With `refresh` the director has just
/// refused the token: get a new one.
struct Token {
  std::string text;
  TokenSource source;

  Token() = default;
  Token(std::string fixed) : text(std::move(fixed)) {}
  Token(const char* fixed) : text(fixed) {}
  Token(TokenSource login) : source(std::move(login)) {}
};

/// An attempt that failed and is repeated after a pause.
struct Retry {
  Error error;
  Milliseconds pause;
};

/// How a client reaches the director.
struct Options {
  /// The base URLs of the replicas, such as "https://director.example". A path is kept as a prefix.
  std::vector<std::string> urls;
  Token token;
  /// Bounds one request to one replica, so that one that hangs does not hold up the call.
  Milliseconds attemptTimeout{5000};
  /// The first pause between attempts. Pauses double up to maxBackoff; each varies by half.
  Milliseconds firstBackoff{250};
  Milliseconds maxBackoff{30000};
  /// Is called before each pause, for logs and for "reconnecting…".
  std::function<void(const Retry&)> onRetry;
};

namespace detail {

/// The director's answers have some hundred bytes. A peer that sends more than 1 MiB is not the director.
inline constexpr std::size_t maxAnswer = 1 << 20;
/// How long a stream of events may send nothing: the director sends a comment every 15 s, a sidecar every 10 s.
inline constexpr Milliseconds maxSilence{45000};

/// One call of the API, which may take several attempts.
struct Call {
  std::string method, path;
  Headers headers;
  std::string body;
  Milliseconds wait{0};      ///< how long the director may take, in addition to the timeout of an attempt
  bool mayBeEmpty = false;   ///< a success may have no document
  bool mayRepeat = true;     ///< also after an attempt whose outcome is unknown
  bool needsToken = true;
  /// What the call names, as far as the client knows: it says which cell to ask. At most one is set.
  std::string region{}, ticket{};
  bool createsTicket = false;  ///< the cell that answers has it

  /// Names the call in errors, without its query.
  std::string name() const { return method + " " + path.substr(0, path.find('?')); }
};

inline std::string escaped(const std::string& segment) {
  std::string text;
  for (const char c : segment) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~')) {
      text += c;
    } else {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", byte);
      text += hex;
    }
  }
  return text;
}

class Task;

/// What the calls of one client share.
class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(Transport& engine, Options given, const std::string& scheme = "http")
      : transport(engine), options(std::move(given)), replicas(options.urls, scheme), scheme_(scheme) {}

  Transport& transport;
  const Options options;
  Replicas replicas;
  Cells cells;

  Pacer pacer() const { return {options.firstBackoff, options.maxBackoff}; }
  std::string invalidURLs() const { return "urls: want " + scheme_ + "(s)://host[:port][/prefix], without a user or a query"; }

  /// Passes the access token. Calls that are refused together get one new token.
  void passToken(bool refresh, std::function<void(std::string)> use) {
    if (!options.token.source) return use(options.token.text);
    if (!refresh) return options.token.source(false, std::move(use));
    refreshing_.push_back(std::move(use));
    if (refreshing_.size() > 1) return;
    options.token.source(true, [weak = weak_from_this()](const std::string& token) {
      if (auto core = weak.lock()) {
        for (auto& waiting : std::exchange(core->refreshing_, {})) waiting(token);
      }
    });
  }

  void add(std::shared_ptr<Task> task) { tasks_.insert(std::move(task)); }
  void remove(const std::shared_ptr<Task>& task) { tasks_.erase(task); }
  /// Ends all tasks without a word.
  void close();

 private:
  std::string scheme_;
  std::vector<std::function<void(std::string)>> refreshing_;
  std::set<std::shared_ptr<Task>> tasks_;
};

/// Asks each replica in turn, without a pause: one that is unreachable or shutting down says nothing about the others. Its
/// owner keeps it for as long as it wants an answer.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  /// done is called once. With onPiece the answer is a stream of events: its pieces go there, and its end is an error.
  Exchange(std::shared_ptr<Core> core, Call call, Callback<Json> done) : core_(std::move(core)), call_(std::move(call)), done_(std::move(done)) {}
  ~Exchange() { stop(); }

  std::function<bool(std::string_view)> onPiece;
  bool isRefreshed = false;  ///< the token was replaced: once is enough for a call

  void start() { useToken(false); }

 private:
  void useToken(bool refresh) {
    if (!call_.needsToken) return tryReplicas("");
    core_->passToken(refresh, [weak = weak_from_this()](std::string token) {
      auto self = weak.lock();
      if (!self || self->request_ != 0) return;
      const bool isPrintable = std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7F; });
      if (token.empty() || !isPrintable) return self->finish(self->failure(Error::Kind::invalid, "token: want the access token as a text without spaces"));
      self->tryReplicas(std::move(token));
    });
  }

  /// Asks the cell that has what the call names, where the client knows it, else the configured replicas. One answer of
  /// these that another cell has it is followed.
  void tryReplicas(std::string token) {
    token_ = std::move(token);
    Cells& cells = core_->cells;
    cell_ = call_.ticket.empty() ? cells.regions.find(call_.region) : cells.tickets.find(call_.ticket);
    if (cell_.empty()) return askReplicas();
    step_ = Step::remembered;
    attempt();
  }

  void askReplicas() {
    step_ = Step::configured;
    cell_.clear();
    left_ = core_->replicas.count();
    attempt();
  }

  void attempt() {
    base_ = step_ == Step::configured ? core_->replicas.pick().base : cell_;
    status_ = 0;
    body_.clear();
    isStream_ = false;
    const auto weak = weak_from_this();
    HttpHandler handler;
    handler.head = [weak](int status, const Headers& headers) {
      if (auto self = weak.lock()) self->takeHead(status, headers);
    };
    handler.body = [weak](std::string_view piece) {
      auto self = weak.lock();
      return self && self->takePiece(piece);
    };
    handler.end = [weak](bool whole) {
      if (auto self = weak.lock()) self->takeEnd(whole);
    };
    request_ = core_->transport.send(request(), std::move(handler));
    bound(core_->options.attemptTimeout + call_.wait);
  }

  HttpRequest request() const {
    HttpRequest request{call_.method, base_ + call_.path, call_.headers, call_.body};
    if (call_.needsToken) request.headers.emplace_back("Authorization", "Bearer " + token_);
    request.headers.emplace_back("Accept", onPiece ? "text/event-stream, application/problem+json" : "application/json, application/problem+json");
    if (!call_.body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    return request;
  }

  /// Begins the time anew within which something has to arrive.
  void bound(Milliseconds time) {
    core_->transport.cancel(timer_);
    timer_ = core_->transport.after(time, [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->fail(self->failure(Error::Kind::unreachable, "the director did not answer in time"));
    });
  }

  void takeHead(int status, const Headers& headers) {
    status_ = status;
    headers_ = headers;
    isStream_ = onPiece && status == 200 && headerOf(headers, "Content-Type").compare(0, 17, "text/event-stream") == 0;
    if (isStream_) bound(maxSilence);
  }

  bool takePiece(std::string_view piece) {
    if (isStream_) {
      bound(maxSilence);
      return onPiece(piece);
    }
    body_ += piece;
    if (body_.size() <= maxAnswer) return true;
    fail(failure(Error::Kind::unreachable, "the answer is too long"));
    return false;
  }

  void takeEnd(bool whole) {
    request_ = 0;
    if (isStream_) return fail(failure(Error::Kind::unreachable, "the stream of events has ended"));
    if (!whole || status_ == 0) return fail(failure(Error::Kind::unreachable, "the director is not reachable"));
    if (status_ < 200 || status_ > 299) return fail(refusalOf(call_.name(), status_, headers_, body_));
    if (onPiece) return fail(failure(Error::Kind::unreachable, "the answer is no stream of events"));
    if (call_.mayBeEmpty && body_.empty()) return finish(Json());
    std::optional<Json> document = Json::parse(body_);
    // The text is not quoted: it may contain a session token.
    if (!document || !document->isObject()) return finish(failure(Error::Kind::unreadable, "the answer is not a JSON object"));
    if (call_.createsTicket && !cell_.empty()) core_->cells.tickets.remember((*document)["ticket_id"].text(), cell_);
    finish(std::move(*document));
  }

  void fail(const Error& error) {
    stop();
    if (mayAskElsewhere(error)) return;
    if (error.status == 401 && !isRefreshed && core_->options.token.source) {
      isRefreshed = true;
      return useToken(true);
    }
    finish(error);
  }

  /// Asks somebody else after an error, where that may help: the next replica, or another cell.
  bool mayAskElsewhere(const Error& error) {
    if (step_ == Step::remembered) {
      // A region is asked for again; a ticket stays where it is.
      if (!call_.ticket.empty() || (!isOfReplica(error) && !isElsewhere(error))) return false;
      core_->cells.regions.forget(call_.region);
      askReplicas();
      return true;
    }
    if (step_ == Step::followed) return false;
    if (isOfReplica(error)) {
      core_->replicas.noteFailure(base_);
      if (isStream_ || !call_.mayRepeat || --left_ == 0) return false;
      attempt();
      return true;
    }
    cell_ = core_->cells.follow(base_, error);
    if (cell_.empty()) return false;
    step_ = Step::followed;
    attempt();
    return true;
  }

  void finish(Result<Json> result) {
    stop();
    if (Callback<Json> done = std::exchange(done_, nullptr)) done(result);
  }

  Error failure(Error::Kind kind, std::string detail) const { return errorOf(kind, call_.name(), std::move(detail)); }

  void stop() {
    core_->transport.cancel(std::exchange(request_, 0));
    core_->transport.cancel(std::exchange(timer_, 0));
  }

  std::shared_ptr<Core> core_;
  Call call_;
  Callback<Json> done_;
  /// Who is asked: the cell that the client remembers, the configured replicas, or the cell that one of them named.
  enum class Step { remembered, configured, followed };

  Step step_ = Step::configured;
  std::string token_, base_, cell_, body_;
  Headers headers_;
  std::size_t left_ = 0;
  int status_ = 0;
  bool isStream_ = false;
  Transport::Id request_ = 0, timer_ = 0;
};

/// What the program waits for: ends with a callback, or without one when it or its client is dropped.
class Task : public std::enable_shared_from_this<Task> {
 public:
  explicit Task(std::shared_ptr<Core> core) : core_(std::move(core)) {}
  virtual ~Task() = default;

  /// Starts a task, which its client keeps until it is over.
  template <class T>
  static std::shared_ptr<T> start(std::shared_ptr<T> task) {
    Task& base = *task;
    base.core_->add(task);
    base.later(Milliseconds(0), [&base] { base.begin(); });  // callbacks never come before the call returns
    return task;
  }

  /// Ends the task with an error of the kind cancelled.
  void cancel() {
    if (!isOver_) finishWith(errorOf(Error::Kind::cancelled, "", "cancelled by the program"));
  }
  /// Ends the task without a callback.
  void drop() {
    if (isOver_) return;
    isOver_ = true;
    core_->transport.cancel(std::exchange(timer_, 0));
    exchange_.reset();
    if (auto inner = std::exchange(inner_, nullptr)) inner->drop();
    core_->remove(shared_from_this());
  }

 protected:
  virtual void begin() = 0;
  /// Calls the program's callback.
  virtual void report(const Error& error) = 0;

  void finishWith(const Error& error) {
    const auto self = shared_from_this();
    drop();
    report(error);
  }

  void later(Milliseconds time, std::function<void()> call) {
    core_->transport.cancel(timer_);
    timer_ = core_->transport.after(time, [weak = weak_from_this(), call = std::move(call)] {
      auto self = weak.lock();
      if (self && !self->isOver_) call();
    });
  }

  void pause(const Error& error, Pacer& pacer, std::function<void()> call) {
    const Milliseconds pause = pacer.pauseAfter(error);
    later(pause, std::move(call));
    if (core_->options.onRetry) core_->options.onRetry({error, pause});
  }

  /// Asks the replicas once. An answer that comes after the end of the task is dropped.
  void exchange(Call call, bool isRefreshed, std::function<bool(std::string_view)> onPiece, std::function<void(const Result<Json>&)> done) {
    exchange_ = std::make_shared<Exchange>(core_, std::move(call), [weak = weak_from_this(), done = std::move(done)](const Result<Json>& result) {
      auto self = weak.lock();
      if (self && !self->isOver_) done(result);
    });
    exchange_->isRefreshed = isRefreshed;
    exchange_->onPiece = std::move(onPiece);
    const auto running = exchange_;  // a token that comes at once may end the task
    running->start();
  }

  std::shared_ptr<Core> core_;
  std::shared_ptr<Exchange> exchange_;
  std::shared_ptr<Task> inner_;
  Transport::Id timer_ = 0;
  bool isOver_ = false;
};

inline void Core::close() {
  for (const auto& task : std::exchange(tasks_, {})) task->drop();
  refreshing_.clear();
}

/// Repeats a call until it has an answer that is not worth a retry.
class CallTask final : public Task {
 public:
  CallTask(std::shared_ptr<Core> core, Call call, Callback<Json> callback)
      : Task(std::move(core)), call_(std::move(call)), callback_(std::move(callback)), pacer_(core_->pacer()) {}

 protected:
  void begin() override {
    if (!core_->replicas.isValid()) return finishWith(errorOf(Error::Kind::invalid, call_.name(), core_->invalidURLs()));
    attempt();
  }
  void report(const Error& error) override { callback_(error); }

 private:
  void attempt() {
    exchange(call_, isRefreshed_, nullptr, [this](const Result<Json>& result) { take(result); });
  }

  void take(const Result<Json>& result) {
    isRefreshed_ = exchange_->isRefreshed;
    if (result) {
      const auto self = shared_from_this();
      const Json value = result.value;
      drop();
      return callback_(value);
    }
    const Error error = result.error;
    const bool isKnown = call_.mayRepeat || !error.is(Error::Kind::unreachable);
    if (!isKnown || !policy_.repeats(error)) return finishWith(error);
    pause(error, pacer_, [this] { attempt(); });
  }

  Call call_;
  Callback<Json> callback_;
  Pacer pacer_;
  RetryPolicy policy_;
  bool isRefreshed_ = false;
};

}  // namespace detail

/// A call that runs. To forget it does not end it; the end of its client does, without a callback.
class Running {
 public:
  Running() = default;
  explicit Running(const std::shared_ptr<detail::Task>& task) : task_(task) {}

  /// Ends the call: its callback receives an error of the kind cancelled, now. What is over is ignored.
  void cancel() {
    if (auto task = task_.lock()) task->cancel();
  }

 private:
  std::weak_ptr<detail::Task> task_;
};

}  // namespace lattice
