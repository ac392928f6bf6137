// Tests of the parts that need no network: JSON, events, pauses, URLs.
#include <lattice/director.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

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
  refusalsOfStrangersAreBounded();
}
