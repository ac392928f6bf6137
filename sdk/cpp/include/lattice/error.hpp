// What calls return instead of a value.
#pragma once

#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "json.hpp"
#include "transport.hpp"

namespace lattice {

/// Why a call has no value.
struct Error {
  enum class Kind {
    none,
    refused,      ///< the director answered: branch on `code`, and on `status` where that is empty
    unreachable,  ///< no replica answered. Calls repeat this, so only onRetry sees it
    unreadable,   ///< an answer that no director sends: the address is probably another program's
    uncertain,    ///< of the lobby: the connection ended before the answer, which may have been a success
    ended,        ///< of the lobby: the client was closed, or another one uses its session
    cancelled,    ///< by the program
    invalid,      ///< options or arguments that cannot work
  };
  struct Field {
    std::string field, detail;
  };

  Kind kind = Kind::none;
  std::string call;          ///< such as "POST /matchmake"
  int status = 0;            ///< of HTTP; 0: no answer
  std::string code;          ///< the stable reason, such as "no_capacity". A newer director may send others
  std::string detail;        ///< the reason for people. It may change
  std::string hint;          ///< of the lobby: what a program can do about it
  std::string requestId;     ///< identifies the request in the director's log
  std::vector<Field> fields; ///< with status 400, each invalid field
  std::optional<double> retryAfter;    ///< seconds that the director asks to wait
  std::optional<int> serversStarting;  ///< with no_capacity, how many game servers start now
  std::string region, address;  ///< with region_elsewhere: the region that another cell serves, and where. It is followed
  std::string ticketId;      ///< with ticket_exists and party_conflict, the ticket with which the caller waits

  explicit operator bool() const { return kind != Kind::none; }
  bool is(Kind other) const { return kind == other; }

  /// Returns a text for logs. It has no token and no handle.
  std::string message() const {
    std::string text = call;
    const auto add = [&text](const std::string& more) {
      if (!more.empty()) text += text.empty() ? more : " " + more;
    };
    if (status != 0) add(std::to_string(status));
    add(code);
    add(detail);
    add(hint);
    return text;
  }
};

/// A value, or the reason why there is none.
template <class T>
struct Result {
  T value{};
  Error error;

  Result() = default;
  Result(T found) : value(std::move(found)) {}
  Result(Error failure) : error(std::move(failure)) {}
  explicit operator bool() const { return !error; }
};

template <class T>
using Callback = std::function<void(const Result<T>&)>;

namespace detail {

/// A longer text of an answer is cut: what a stranger sends must not fill a log.
inline std::string shortened(const std::string& text) { return text.substr(0, 1000); }

inline Error errorOf(Error::Kind kind, std::string call, std::string detail) {
  Error error;
  error.kind = kind;
  error.call = std::move(call);
  error.detail = std::move(detail);
  return error;
}

inline std::string headerOf(const Headers& headers, const std::string& name) {
  for (const auto& [key, value] : headers) {
    bool same = key.size() == name.size();
    for (std::size_t i = 0; same && i < key.size(); i++) {
      same = std::tolower(static_cast<unsigned char>(key[i])) == std::tolower(static_cast<unsigned char>(name[i]));
    }
    if (same) return value;
  }
  return "";
}

/// Parses seconds. The director sends no dates.
inline std::optional<double> retryAfterOf(const Headers& headers) {
  const std::string text = headerOf(headers, "Retry-After");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return static_cast<double>(std::stoul(text));
}

/// Returns the error of an answer that is not a success, with or without a problem document.
inline Error refusalOf(std::string call, int status, const Headers& headers, const std::string& body) {
  Error error = errorOf(Error::Kind::refused, std::move(call), "");
  const Json problem = Json::parse(body).value_or(Json());
  error.status = status;
  error.code = shortened(problem["code"].text());
  error.detail = shortened(problem["detail"].isText() ? problem["detail"].text() : problem["title"].text());
  error.requestId = shortened(headerOf(headers, "X-Request-Id"));
  error.retryAfter = retryAfterOf(headers);
  error.ticketId = problem["ticket_id"].text();
  error.region = shortened(problem["region"].text());
  error.address = shortened(problem["address"].text());
  if (problem["servers_starting"].isNumber()) error.serversStarting = problem["servers_starting"].whole();
  for (const Json& field : problem["errors"].items()) {
    error.fields.push_back({shortened(field["field"].text()), shortened(field["detail"].text())});
  }
  return error;
}

/// Returns whether a retry may succeed.
inline bool isUnavailable(const Error& error) {
  if (error.is(Error::Kind::unreachable)) return true;
  const int s = error.status;
  return error.is(Error::Kind::refused) && (s == 408 || s == 429 || s == 502 || s == 503 || s == 504);
}

/// Returns whether the error concerns one replica only: it gave no answer, or is shutting down.
inline bool isOfReplica(const Error& error) {
  return error.is(Error::Kind::unreachable) || (error.is(Error::Kind::refused) && error.code == "draining");
}

}  // namespace detail
}  // namespace lattice
