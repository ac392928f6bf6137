// Tests of the parts that need no network: JSON, events, pauses, URLs.
#include <lattice/director.hpp>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using lattice::Error;
using lattice::Json;

namespace {

void check(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::exit(1);
}

void jsonIsReadAndWritten() {
  for (const std::string text : {"null", "true", "[]", "{}", "[1,-2.5,\"x\",{\"a\":[]}]", "{\"\":\"\"}", "9007199254740991", "\"\\\"\\\\\""}) {
    const auto value = Json::parse(text);
    check(value && value->dump() == text, text + " is kept");
  }
  check(Json::parse(" { \"a\" : [ 1 , 2 ] } ")->dump() == "{\"a\":[1,2]}", "space");
  check(Json::parse("\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\"")->text() == "é😀/\b\f\n\r\t", "escapes");
  check(Json::parse("\"\\ud800\"")->text() == "\xEF\xBF\xBD", "half a pair");
  check(Json("\x01").dump() == "\"\\u0001\"", "controls are escaped");
  check(Json::parse("1e3")->number() == 1000 && Json::parse("-0.25")->number() == -0.25, "numbers");
  check(Json(1.0 / 3).dump() == "0.33333333333333331" && Json(1e300 * 1e300).dump() == "null", "doubles");
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "[,1]", "{\"a\"}", "{a:1}", "tru", "\"", "\"\n\"", "\"\\x\"", "\"\\u12\"", "1 2", "[1 2]", "--1", "nullx", "\"\\ud83dx\"x"}) {
    check(!Json::parse(text), std::string("refuses ") + text);
  }
  check(!Json::parse(std::string(100000, '[')), "depth is bounded");
  std::string wide = "{";
  for (int i = 0; i < 5000; i++) wide += "\"k" + std::to_string(i) + "\":0,";
  wide.back() = '}';
  check(!Json::parse(wide), "width is bounded");
  const Json absent = Json::object()["a"]["b"];
  check(absent.isNull() && absent.text().empty() && absent.whole() == 0 && Json(1e12).whole() == 0, "absent values are empty");
}

void eventsAreTheSameHoweverTheStreamIsCut() {
  const std::string whole =
      "data: one\n\n: comment\r\nevent: x\r\nid: 7\r\ndata:two\r\ndata\r\ndata:  three\r\n\r\nretry: 5\rdata: four\r\r\n\ndata: é\n\nignored\n\ndata: cut";
  for (size_t size = 1; size <= whole.size(); size++) {
    lattice::detail::EventParser parser;
    std::vector<lattice::detail::Event> events;
    for (size_t at = 0; at < whole.size(); at += size) check(parser.push(whole.substr(at, size), events), "readable");
    std::string all;
    for (const auto& event : events) all += event.name + "=" + event.data + "|";
    check(all == "=one|x=two\n\n three|=four|=é|", "pieces of " + std::to_string(size) + ": " + all);
  }
  std::vector<lattice::detail::Event> events;
  check(!lattice::detail::EventParser().push(std::string(70000, 'x'), events), "a long line");
  lattice::detail::EventParser parser;
  bool isReadable = true;
  for (int i = 0; i < 100; i++) isReadable = isReadable && parser.push("data: " + std::string(1000, 'x') + "\n", events);
  check(!isReadable, "a long event");
}

void pausesGrow() {
  lattice::detail::Pacer pacer(lattice::Milliseconds(250), lattice::Milliseconds(30000));
  long interval = 250;
  for (int i = 0; i < 12; i++, interval = std::min(2 * interval, 30000L)) {
    const long pause = static_cast<long>(pacer.next().count());
    check(pause >= interval / 2 && pause <= interval * 3 / 2, std::to_string(pause) + " around " + std::to_string(interval));
  }
  pacer.reset();
  lattice::Error error = lattice::detail::refusalOf("GET /", 503, {{"retry-after", "86400"}}, "{}");
  const long pause = static_cast<long>(pacer.pauseAfter(error).count());
  check(pause >= 60125 && pause <= 60375, "Retry-After is bounded and added: " + std::to_string(pause));
  for (const char* text : {"", "-1", "1.5", "soon", "99999999999"}) {
    check(!lattice::detail::retryAfterOf({{"Retry-After", text}}), std::string("no Retry-After: ") + text);
  }
}

void urlsAreChecked() {
  for (const char* url : {"", "director.example", "ftp://a", "http://", "http://a?b", "http://a#b", "https://me:secret@a", "http://a b"}) {
    check(!lattice::detail::Replicas({url}, "http").isValid(), url);
  }
  check(!lattice::detail::Replicas({}, "http").isValid(), "none");
  lattice::detail::Replicas replicas({"https://a/eu/", "http://b"}, "http");
  check(replicas.isValid(), "valid");
  const std::string first = replicas.pick().base;
  check(replicas.pick().base != first && replicas.pick().base == first, "by turns");
  replicas.noteFailure(first);
  check(replicas.pick().base != first && replicas.pick().base != first, "a failed one is skipped");
  check(first == "https://a/eu" || first == "http://b", first);
}

/// A transport whose answers the test gives.
class FakeTransport final : public lattice::Transport {
 public:
  struct Sent {
    lattice::HttpRequest request;
    lattice::HttpHandler handler;
  };
  std::map<Id, Sent> sent;
  std::map<Id, std::function<void()>> timers;

  Id send(lattice::HttpRequest request, lattice::HttpHandler handler) override {
    sent[++last_] = {std::move(request), std::move(handler)};
    return last_;
  }
  Id after(lattice::Milliseconds, std::function<void()> call) override {
    timers[++last_] = std::move(call);
    return last_;
  }
  void cancel(Id id) override {
    sent.erase(id);
    timers.erase(id);
  }

  /// Calls the oldest timer: without an answer it begins a task, later it ends an attempt or a pause.
  void fire() {
    const auto call = std::move(timers.begin()->second);
    timers.erase(timers.begin());
    call();
  }
  /// Answers the only request, as a transport does. A stream of events does not end.
  void answer(int status, const std::string& type, const std::string& body) {
    const Id id = sent.begin()->first;
    const auto handler = sent.begin()->second.handler;
    handler.head(status, {{"content-type", type}});
    if (sent.count(id) > 0 && !handler.body(body)) sent.erase(id);
    if (type == "text/event-stream" || sent.count(id) == 0) return;
    sent.erase(id);
    handler.end(true);
  }

 private:
  Id last_ = 0;
};

const char* const seat = "{\"session_handle\":\"h\",\"session_id\":\"s\",\"later\":1}";

lattice::Options optionsOf(const lattice::Token& token) {
  lattice::Options options;
  options.urls = {"http://a"};
  options.token = token;
  return options;
}

/// Pins what a game does when a callback ends its scene: memory that is used after it was freed.
void callbacksMayEndEverything() {
  FakeTransport transport;
  auto player = std::make_unique<lattice::Player>(transport, optionsOf("token"));
  int calls = 0;
  for (int i = 0; i < 3; i++) {
    player->matchmake(Json::object(), [&](const auto& result) {
      calls++;
      check(result && result.value.sessionId == "s" && result.value.raw["later"].whole() == 1, "the match");
      player.reset();
    });
  }
  transport.fire();
  transport.answer(200, "application/json", seat);
  check(calls == 1 && transport.sent.empty() && transport.timers.empty(), "the others ended without a callback");

  player = std::make_unique<lattice::Player>(transport, optionsOf("token"));
  lattice::Ticket ticket = player->ticket("t");
  lattice::Running watch;
  std::string seen;
  watch = ticket.watch([&](const lattice::TicketStatus& status) { seen += status.state; watch.cancel(); watch.cancel(); },
                       [&](const Error& error) { seen += error.is(Error::Kind::cancelled) ? " cancelled" : " wrong"; });
  transport.fire();
  transport.answer(200, "text/event-stream", "data: {\"ticket_id\":\"t\",\"state\":\"queued\",\"version\":1}\n\ndata: {\"ticket_id\":\"t\",\"state\":\"assigned\",\"version\":2}\n\n");
  check(seen == "queued cancelled" && transport.sent.empty() && transport.timers.empty(), "a watch that its callback ends: " + seen);
  watch.cancel();

  ticket.watch([&](const lattice::TicketStatus&) { player.reset(); }, [&](const Error&) { seen += " wrong"; });
  transport.fire();
  transport.answer(200, "text/event-stream", "data: {\"ticket_id\":\"t\",\"state\":\"assigned\",\"version\":2}\n\n");
  check(seen == "queued cancelled" && transport.timers.empty(), "a player that ends in a watch: " + seen);
}

/// Pins two logins for one token that has expired, and a token in an error.
void tokensAreReplacedOnce() {
  FakeTransport transport;
  std::vector<std::function<void(std::string)>> logins;
  const lattice::Token token(lattice::TokenSource([&](bool refresh, std::function<void(std::string)> use) { refresh ? logins.push_back(std::move(use)) : use("old"); }));
  lattice::Player player(transport, optionsOf(token));
  std::vector<lattice::Result<lattice::Match>> results;
  for (int i = 0; i < 2; i++) player.matchmake(Json::object(), [&](const auto& result) { results.push_back(result); });
  for (int i = 0; i < 2; i++) {
    transport.fire();
    transport.answer(401, "application/problem+json", "{\"code\":\"unauthorized\"}");
  }
  check(logins.size() == 1, "one login for both");
  logins[0]("new");
  logins[0]("again");
  for (int i = 0; i < 2; i++) transport.answer(401, "application/problem+json", "{\"code\":\"unauthorized\"}");
  check(results.size() == 2 && results[0].error.code == "unauthorized" && logins.size() == 1, "no third attempt");

  lattice::Player spaces(transport, optionsOf("secret token\n"));
  std::string message;
  spaces.matchmake(Json::object(), [&](const auto& result) { message = result.error.message(); });
  while (message.empty()) transport.fire();
  check(message.find("secret") == std::string::npos && transport.sent.empty(), message);
}

// Pins a token that is sent to an address which nobody may name, or in plain text.
void onlyCellsAreFollowed() {
  const auto followed = [](const std::string& address, const std::string& asked = "https://eu.example", const std::string& code = "region_elsewhere") {
    lattice::Error error = lattice::detail::errorOf(lattice::Error::Kind::refused, "POST /matchmake", "");
    error.status = 421;
    error.code = code;
    error.region = "us";
    error.address = address;
    return lattice::detail::Cells().follow(asked, error);
  };
  check(followed("https://us.example/director/") == "https://us.example/director", "https");
  check(followed("http://us.example", "http://eu.example") == "http://us.example", "the same scheme");
  for (const char* address : {"http://us.example", "ftp://us.example", "//us.example", "https://ada:secret@us.example", "https://us.example?x", "https://", "", "us"}) {
    check(followed(address).empty(), std::string("not followed: ") + address);
  }
  check(followed("https://us.example", "https://eu.example", "").empty(), "of a proxy");
  lattice::detail::Places places;
  for (int i = 0; i < 5000; i++) places.remember(std::to_string(i), "https://us.example");
  check(places.find("0").empty() && !places.find("4999").empty(), "the oldest are forgotten");
}

void refusalsOfStrangersAreBounded() {
  const lattice::Error error = lattice::detail::refusalOf("GET /", 418, {}, "{\"code\":7,\"detail\":\"" + std::string(5000, 'd') + "\",\"errors\":\"none\",\"ticket_id\":{}}");
  check(error.status == 418 && error.code.empty() && error.fields.empty() && error.detail.size() == 1000, "nonsense");
  check(lattice::detail::refusalOf("GET /", 502, {}, "<html>").code.empty(), "no document");
}

}  // namespace

int main() {
  jsonIsReadAndWritten();
  eventsAreTheSameHoweverTheStreamIsCut();
  pausesGrow();
  urlsAreChecked();
  onlyCellsAreFollowed();
  refusalsOfStrangersAreBounded();
  callbacksMayEndEverything();
  tokensAreReplacedOnce();
}
