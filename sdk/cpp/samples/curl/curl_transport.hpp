// A transport on libcurl, for game servers and tools without an engine, and for the tests.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <lattice/transport.hpp>

namespace lattice {

/// Runs on the thread that calls `poll` again and again.
class CurlTransport : public Transport {
 public:
  CurlTransport() : multi_(curl_multi_init()) {}
  ~CurlTransport() override {
    while (!requests_.empty()) cancel(requests_.begin()->first);
    curl_multi_cleanup(multi_);
  }
  CurlTransport(const CurlTransport&) = delete;
  CurlTransport& operator=(const CurlTransport&) = delete;

  Id send(HttpRequest request, HttpHandler handler) override {
    auto running = std::make_unique<Request>();
    Request& r = *running;
    r.owner = this;
    r.id = ++last_;
    r.handler = std::move(handler);
    r.body = std::move(request.body);
    r.easy = curl_easy_init();
    for (const auto& [name, value] : request.headers) r.headers = curl_slist_append(r.headers, (name + ": " + value).c_str());
    r.headers = curl_slist_append(r.headers, "Expect:");  // it would cost a round trip
    curl_easy_setopt(r.easy, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(r.easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(r.easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    curl_easy_setopt(r.easy, CURLOPT_HTTPHEADER, r.headers);
    curl_easy_setopt(r.easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(r.easy, CURLOPT_HEADERFUNCTION, takeHeader);
    curl_easy_setopt(r.easy, CURLOPT_HEADERDATA, &r);
    curl_easy_setopt(r.easy, CURLOPT_WRITEFUNCTION, takePiece);
    curl_easy_setopt(r.easy, CURLOPT_WRITEDATA, &r);
    if (!r.body.empty()) {
      curl_easy_setopt(r.easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(r.body.size()));
      curl_easy_setopt(r.easy, CURLOPT_POSTFIELDS, r.body.c_str());
    }
    curl_multi_add_handle(multi_, r.easy);
    const Id id = r.id;
    requests_[id] = std::move(running);
    return id;
  }

  Id after(Milliseconds time, std::function<void()> call) override {
    const Id id = ++last_;
    timers_[id] = {Clock::now() + time, std::move(call)};
    return id;
  }

  void cancel(Id id) override {
    timers_.erase(id);
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;
    curl_multi_remove_handle(multi_, found->second->easy);
    curl_easy_cleanup(found->second->easy);
    curl_slist_free_all(found->second->headers);
    requests_.erase(found);
  }

  /// Does what is due, and waits for it for at most this time. More descriptors may wake it.
  void poll(Milliseconds time, std::vector<curl_waitfd> descriptors = {}) {
    for (const auto& timer : timers_) {
      const auto left = std::chrono::duration_cast<Milliseconds>(timer.second.due - Clock::now()) + Milliseconds(1);
      time = std::max(Milliseconds(0), std::min(time, left));
    }
    int running = 0;
    curl_multi_perform(multi_, &running);
    if (events_.empty()) {
      curl_multi_poll(multi_, descriptors.data(), static_cast<unsigned>(descriptors.size()), static_cast<int>(time.count()), nullptr);
      curl_multi_perform(multi_, &running);
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg == CURLMSG_DONE) noteEnd(message->easy_handle, message->data.result == CURLE_OK);
    }
    deliver();
    runTimers();
  }

 protected:
  Id nextId() { return ++last_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Request {
    CurlTransport* owner = nullptr;
    Id id = 0;
    CURL* easy = nullptr;
    curl_slist* headers = nullptr;
    HttpHandler handler;
    std::string body;
    Headers answer;
    bool hasHead = false;
  };
  struct Timer {
    Clock::time_point due;
    std::function<void()> call;
  };
  /// What curl's callbacks note. The handlers are called later, since they may end requests.
  struct Event {
    Id id;
    enum { piece, end } kind;
    std::string text;
    bool whole;
  };

  static size_t takeHeader(char* text, size_t, size_t size, void* data) {
    auto& r = *static_cast<Request*>(data);
    const std::string line(text, size);
    if (line.compare(0, 5, "HTTP/") == 0) r.answer.clear();
    const size_t colon = line.find(':');
    const size_t last = line.find_last_not_of(" \r\n");
    const size_t first = colon == std::string::npos ? std::string::npos : line.find_first_not_of(" \t", colon + 1);
    if (first != std::string::npos && last != std::string::npos && last >= first && r.answer.size() < 256) {
      r.answer.emplace_back(line.substr(0, colon), line.substr(first, last - first + 1));
    }
    return size;
  }

  static size_t takePiece(char* text, size_t, size_t size, void* data) {
    auto& r = *static_cast<Request*>(data);
    r.owner->events_.push_back({r.id, Event::piece, std::string(text, size), false});
    return size;
  }

  void noteEnd(CURL* easy, bool whole) {
    for (const auto& entry : requests_) {
      if (entry.second->easy == easy) events_.push_back({entry.first, Event::end, "", whole});
    }
  }

  void deliver() {
    for (const Event& event : std::exchange(events_, {})) {
      const auto found = requests_.find(event.id);
      if (found == requests_.end()) continue;
      Request& r = *found->second;
      const HttpHandler handler = r.handler;
      long status = 0;
      curl_easy_getinfo(r.easy, CURLINFO_RESPONSE_CODE, &status);
      if (!std::exchange(r.hasHead, true) && status != 0) handler.head(static_cast<int>(status), Headers(r.answer));
      if (requests_.count(event.id) == 0) continue;
      if (event.kind == Event::end) {
        cancel(event.id);
        handler.end(event.whole);
      } else if (!handler.body(event.text)) {
        cancel(event.id);
      }
    }
  }

  void runTimers() {
    const Clock::time_point now = Clock::now();
    std::vector<Id> due;
    for (const auto& timer : timers_) {
      if (timer.second.due <= now) due.push_back(timer.first);
    }
    for (const Id id : due) {
      const auto found = timers_.find(id);
      if (found == timers_.end()) continue;  // an earlier one has cancelled it
      const auto call = std::move(found->second.call);
      timers_.erase(found);
      call();
    }
  }

  CURLM* multi_;
  Id last_ = 0;
  std::map<Id, std::unique_ptr<Request>> requests_;
  std::map<Id, Timer> timers_;
  std::vector<Event> events_;
};

}  // namespace lattice
