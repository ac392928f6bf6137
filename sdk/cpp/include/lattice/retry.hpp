// Which replica is next, and when.
#pragma once

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "error.hpp"

namespace lattice::detail {

using Clock = std::chrono::steady_clock;

/// Returns a number from 0 to 1.
inline double randomShare() {
  static thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(engine);
}

/// Returns 32 digits that no other call has. They need not be secret.
inline std::string randomKey() {
  std::string key;
  for (int i = 0; i < 32; i++) key += "0123456789abcdef"[static_cast<int>(randomShare() * 16) & 15];
  return key;
}

/// The base URLs of the replicas by turns, without those that failed within the last 2 s, about the time of a restart. It
/// starts at a random one, so that clients that start together do not all call the same.
class Replicas {
 public:
  struct Replica {
    std::string base;
    Clock::time_point skipUntil{};
  };

  Replicas(const std::vector<std::string>& urls, const std::string& scheme) {
    for (const std::string& url : urls) {
      const std::string base = baseOf(url, scheme);
      if (base.empty()) isValid_ = false;
      all_.push_back({base});
    }
    if (all_.empty()) isValid_ = false;
    turn_ = all_.empty() ? 0 : static_cast<std::size_t>(randomShare() * static_cast<double>(all_.size())) % all_.size();
  }

  /// Whether there are URLs, and all of them can work.
  bool isValid() const { return isValid_; }
  std::size_t count() const { return all_.size(); }

  /// Returns the next replica that is not skipped, else the one that is skipped for the shortest.
  Replica& pick() {
    const Clock::time_point now = Clock::now();
    std::size_t best = turn_;
    for (std::size_t i = 0; i < all_.size(); i++) {
      const std::size_t next = (turn_ + i) % all_.size();
      if (all_[next].skipUntil <= now) {
        best = next;
        break;
      }
      if (all_[next].skipUntil < all_[best].skipUntil) best = next;
    }
    turn_ = (best + 1) % all_.size();
    return all_[best];
  }

  void noteFailure(const std::string& base) {
    for (Replica& replica : all_) {
      if (replica.base == base) replica.skipUntil = Clock::now() + std::chrono::seconds(2);
    }
  }

  /// Returns a URL without a slash at its end; empty for one with a user, a query or another scheme. An error never quotes
  /// it: a wrong one may have a password.
  static std::string baseOf(std::string url, const std::string& scheme) {
    const bool isPlain = url.compare(0, scheme.size() + 3, scheme + "://") == 0;
    const bool isSecure = url.compare(0, scheme.size() + 4, scheme + "s://") == 0;
    const std::size_t host = scheme.size() + (isSecure ? 4 : 3);
    if ((!isPlain && !isSecure) || url.size() <= host || url.find_first_of("@?# \r\n\t") != std::string::npos) return "";
    while (url.back() == '/') url.pop_back();
    return url;
  }

 private:
  std::vector<Replica> all_;
  std::size_t turn_ = 0;
  bool isValid_ = true;
};

/// Says how long to wait before the next attempt: a backoff that doubles and varies by half, plus the last answer's
/// Retry-After of at most a minute. The sum and not the larger one: otherwise all clients that got the same Retry-After
/// would return together.
class Pacer {
 public:
  Pacer(Milliseconds first, Milliseconds most) : first_(first), most_(most), interval_(first) {}

  Milliseconds pauseAfter(const Error& error) {
    const double least = error.code == "no_capacity" ? 1 : 0;  // capacity does not come back within a moment
    const double asked = std::min(error.retryAfter.value_or(least), 60.0) * 1000;
    return Milliseconds(static_cast<Milliseconds::rep>(asked)) + next();
  }

  Milliseconds next() {
    const auto pause = static_cast<double>(interval_.count()) * (0.5 + randomShare());
    interval_ = std::min(2 * interval_, most_);
    return Milliseconds(static_cast<Milliseconds::rep>(pause));
  }

  void reset() { interval_ = first_; }

 private:
  Milliseconds first_, most_, interval_;
};

/// Decides whether a call is repeated. One for each call, because an internal error is repeated once.
class RetryPolicy {
 public:
  bool repeats(const Error& error) {
    if (error.is(Error::Kind::refused) && error.status == 500) return ++internalErrors_ == 1;
    return isUnavailable(error);
  }

 private:
  int internalErrors_ = 0;
};

}  // namespace lattice::detail
