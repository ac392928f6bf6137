// Server-sent events, as the HTML standard describes them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lattice::detail {

/// An event of a stream.
struct Event {
  std::string name, data;
};

/// Parses a stream of events. It holds at most one line and the data of one event.
class EventParser {
 public:
  /// Bounds a line, and the data of an event, in bytes.
  explicit EventParser(std::size_t most = 64 << 10) : most_(most) {}

  /// Takes a piece of the stream and adds the events that it completes. Returns false for what is too long: the stream is
  /// then useless.
  bool push(std::string_view piece, std::vector<Event>& events) {
    for (const char c : piece) {
      const bool isSecondOfCRLF = c == '\n' && afterCR_;
      afterCR_ = c == '\r';
      if (isSecondOfCRLF) continue;
      if (c != '\n' && c != '\r') {
        line_ += c;
        if (line_.size() > most_) return false;
      } else if (!takeLine(events)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool takeLine(std::vector<Event>& events) {
    const std::string line = std::exchange(line_, "");
    if (line.empty()) {
      if (hasData_) events.push_back({name_, data_});
      hasData_ = false;
      name_.clear();
      data_.clear();
      return true;
    }
    const std::size_t colon = line.find(':');
    const std::string field = line.substr(0, colon);
    std::string value = colon == std::string::npos ? "" : line.substr(colon + 1);
    if (!value.empty() && value[0] == ' ') value.erase(0, 1);
    if (field == "event") name_ = value;
    if (field != "data") return true;
    data_ += (hasData_ ? "\n" : "") + value;
    hasData_ = true;
    return data_.size() <= most_;
  }

  std::size_t most_;
  std::string line_, name_, data_;
  bool hasData_ = false, afterCR_ = false;
};

}  // namespace lattice::detail
