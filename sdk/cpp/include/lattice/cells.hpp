// Where regions are that other cells serve.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "retry.hpp"

namespace lattice::detail {

/// Returns whether another cell, an installation of its own, serves the region that a call names.
inline bool isElsewhere(const Error& error) {
  return error.is(Error::Kind::refused) && error.status == 421 && error.code == "region_elsewhere";
}

/// Addresses of cells by what is there, of which the oldest are forgotten.
class Places {
 public:
  /// Returns an address; empty if none is known.
  std::string find(const std::string& what) const {
    const auto found = addresses_.find(what);
    return found == addresses_.end() ? "" : found->second;
  }

  void remember(const std::string& what, const std::string& address) {
    if (addresses_.count(what) == 0) oldest_.push_back(what);
    addresses_[what] = address;
    for (; oldest_.size() > most; oldest_.pop_front()) addresses_.erase(oldest_.front());
  }

  void forget(const std::string& what) { addresses_.erase(what); }

 private:
  static constexpr std::size_t most = 4096;

  std::map<std::string, std::string> addresses_;
  std::deque<std::string> oldest_;
};

/// What a client knows of other cells. It learns that from answers of the configured replicas alone, so nobody else can
/// name an address to which the token is sent.
class Cells {
 public:
  Places regions, tickets;

  /// Returns where to ask in place of the replica that was asked, and remembers it; empty if the answer was another.
  std::string follow(const std::string& asked, const Error& error) {
    if (!isElsewhere(error)) return "";
    const std::string address = Replicas::baseOf(error.address, "http");
    // A token that was sent by https is not sent in plain text.
    const bool isSecure = address.compare(0, 6, "https:") == 0;
    if (address.empty() || (!isSecure && asked.compare(0, 6, "https:") == 0)) return "";
    if (!error.region.empty()) regions.remember(error.region, address);
    return address;
  }
};

}  // namespace lattice::detail
