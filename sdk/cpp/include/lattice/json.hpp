// A value of JSON: what the director sends and receives.
#pragma once

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <locale>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lattice {

/// A value of JSON. Reading what is absent, or of another type, returns an empty value, so that answers of other
/// releases need no care.
class Json {
 public:
  enum class Type { null, boolean, number, text, array, object };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  Json(std::nullptr_t) {}
  Json(bool value) : type_(Type::boolean), number_(value ? 1 : 0) {}
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number> && !std::is_same_v<Number, bool>, int> = 0>
  Json(Number value) : type_(Type::number), number_(static_cast<double>(value)) {}
  Json(std::string value) : type_(Type::text), text_(std::move(value)) {}
  Json(std::string_view value) : Json(std::string(value)) {}
  Json(const char* value) : Json(std::string(value)) {}

  static Json array(std::vector<Json> items = {}) {
    Json value;
    value.type_ = Type::array;
    value.items_ = std::move(items);
    return value;
  }
  static Json array(const std::vector<std::string>& texts) { return array(std::vector<Json>(texts.begin(), texts.end())); }
  static Json object(std::initializer_list<Member> members = {});

  Type type() const { return type_; }
  bool isNull() const { return type_ == Type::null; }
  bool isText() const { return type_ == Type::text; }
  bool isNumber() const { return type_ == Type::number; }
  bool isArray() const { return type_ == Type::array; }
  bool isObject() const { return type_ == Type::object; }

  std::string text() const { return isText() ? text_ : std::string(); }
  double number(double otherwise = 0) const { return isNumber() ? number_ : otherwise; }
  /// Returns a number as a whole one; one that an int does not hold is 0.
  int whole() const { return isNumber() && std::fabs(number_) < 2147483648.0 ? static_cast<int>(number_) : 0; }
  bool truth() const { return type_ == Type::boolean && number_ != 0; }
  std::vector<std::string> texts() const {
    std::vector<std::string> all;
    for (const Json& item : items()) all.push_back(item.text());
    return all;
  }

  /// The items of an array, or the values of an object in the order of its keys.
  const std::vector<Json>& items() const { return items_; }
  const std::vector<std::string>& keys() const { return keys_; }
  std::size_t size() const { return items_.size(); }

  bool has(std::string_view key) const { return indexOf(key) < keys_.size(); }
  const Json& operator[](std::string_view key) const {
    static const Json absent;
    const std::size_t i = indexOf(key);
    return i < keys_.size() ? items_[i] : absent;
  }
  /// Sets a value of an object. A value that is null becomes an object.
  Json& set(std::string_view key, Json value) {
    type_ = Type::object;
    const std::size_t i = indexOf(key);
    if (i < keys_.size()) {
      items_[i] = std::move(value);
    } else {
      keys_.emplace_back(key);
      items_.push_back(std::move(value));
    }
    return *this;
  }
  void erase(std::string_view key) {
    const std::size_t i = indexOf(key);
    if (i == keys_.size()) return;
    keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(i));
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void push(Json item) {
    type_ = Type::array;
    items_.push_back(std::move(item));
  }

  bool operator==(const Json& other) const {
    return type_ == other.type_ && number_ == other.number_ && text_ == other.text_ && keys_ == other.keys_ && items_ == other.items_;
  }
  bool operator!=(const Json& other) const { return !(*this == other); }

  std::string dump() const;
  /// Returns nothing for a text that is no JSON, is nested deeper than 64 levels, or has an object of more than 4,096
  /// members.
  static std::optional<Json> parse(std::string_view text);

 private:
  std::size_t indexOf(std::string_view key) const {
    std::size_t i = 0;
    while (i < keys_.size() && keys_[i] != key) i++;
    return i;
  }

  Type type_ = Type::null;
  double number_ = 0;
  std::string text_;
  std::vector<std::string> keys_;
  std::vector<Json> items_;
};

inline Json Json::object(std::initializer_list<Member> members) {
  Json value;
  value.type_ = Type::object;
  for (const Member& member : members) value.set(member.first, member.second);
  return value;
}

namespace detail {

class JsonWriter {
 public:
  std::string text;

  void write(const Json& value) {
    switch (value.type()) {
      case Json::Type::null: text += "null"; break;
      case Json::Type::boolean: text += value.truth() ? "true" : "false"; break;
      case Json::Type::number: writeNumber(value.number()); break;
      case Json::Type::text: writeText(value.text()); break;
      case Json::Type::array:
      case Json::Type::object: writeItems(value); break;
    }
  }

 private:
  void writeItems(const Json& value) {
    text += value.isArray() ? '[' : '{';
    for (std::size_t i = 0; i < value.size(); i++) {
      if (i > 0) text += ',';
      if (value.isObject()) {
        writeText(value.keys()[i]);
        text += ':';
      }
      write(value.items()[i]);
    }
    text += value.isArray() ? ']' : '}';
  }

  void writeNumber(double number) {
    if (!std::isfinite(number)) {
      text += "null";
      return;
    }
    std::ostringstream out;
    out.imbue(std::locale::classic());  // a decimal comma is no JSON
    out.precision(17);
    if (number == std::floor(number) && std::fabs(number) < 9007199254740992.0) {
      out << static_cast<long long>(number);
    } else {
      out << number;
    }
    text += out.str();
  }

  void writeText(const std::string& value) {
    text += '"';
    for (const char c : value) {
      if (c == '"' || c == '\\') {
        text += '\\';
        text += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        text += escaped;
      } else {
        text += c;
      }
    }
    text += '"';
  }
};

class JsonReader {
 public:
  /// Members are found one by one, so an object with very many would cost a stranger little and the game much.
  static constexpr std::size_t maxMembers = 4096;

  explicit JsonReader(std::string_view text) : text_(text) {}

  bool readAll(Json& value) {
    if (!read(value, 64)) return false;
    skipSpace();
    return at_ == text_.size();
  }

 private:
  bool read(Json& value, int depth) {
    skipSpace();
    if (at_ == text_.size() || depth == 0) return false;
    switch (text_[at_]) {
      case '{': return readObject(value, depth);
      case '[': return readArray(value, depth);
      case '"': {
        std::string text;
        if (!readText(text)) return false;
        value = std::move(text);
        return true;
      }
      case 't': return readWord("true", value, true);
      case 'f': return readWord("false", value, false);
      case 'n': return readWord("null", value, nullptr);
      default: return readNumber(value);
    }
  }

  bool readObject(Json& value, int depth) {
    value = Json::object();
    at_++;
    for (bool first = true;; first = false) {
      skipSpace();
      if (take('}')) return first || !afterComma_;
      if (!first && !afterComma_) return false;
      if (value.size() == maxMembers) return false;
      std::string key;
      Json item;
      if (!readText(key)) return false;
      skipSpace();
      if (!take(':') || !read(item, depth - 1)) return false;
      value.set(key, std::move(item));
      skipSpace();
      afterComma_ = take(',');
    }
  }

  bool readArray(Json& value, int depth) {
    value = Json::array();
    at_++;
    for (bool first = true;; first = false) {
      skipSpace();
      if (take(']')) return first || !afterComma_;
      if (!first && !afterComma_) return false;
      Json item;
      if (!read(item, depth - 1)) return false;
      value.push(std::move(item));
      skipSpace();
      afterComma_ = take(',');
    }
  }

  bool readWord(std::string_view word, Json& value, Json meant) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    value = std::move(meant);
    return true;
  }

  bool readNumber(Json& value) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::string_view("+-.0123456789eE").find(text_[at_]) != std::string_view::npos) at_++;
    if (at_ == begin || at_ - begin > 64) return false;
    std::istringstream in{std::string(text_.substr(begin, at_ - begin))};
    in.imbue(std::locale::classic());
    double number = 0;
    in >> number;
    if (in.fail() || in.peek() != std::istringstream::traits_type::eof()) return false;
    value = number;
    return true;
  }

  bool readText(std::string& out) {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') {
        out += c;
      } else if (!readEscape(out)) {
        return false;
      }
    }
    return false;
  }

  bool readEscape(std::string& out) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    const std::size_t simple = std::string_view("\"\\/bfnrt").find(c);
    if (simple != std::string_view::npos) {
      out += "\"\\/\b\f\n\r\t"[simple];
      return true;
    }
    unsigned code = 0;
    if (c != 'u' || !readHex(code)) return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      unsigned low = 0;
      at_ += 2;
      if (!readHex(low)) return false;
      if (low < 0xDC00 || low > 0xDFFF) return false;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    appendUTF8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return true;
  }

  bool readHex(unsigned& code) {
    if (text_.size() - at_ < 4) return false;
    for (int i = 0; i < 4; i++) {
      const char c = text_[at_++];
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
      if (digit == std::string_view::npos) return false;
      code = code * 16 + static_cast<unsigned>(digit < 16 ? digit : digit - 6);
    }
    return true;
  }

  static void appendUTF8(std::string& out, unsigned code) {
    const auto byte = [&out](unsigned value) { out += static_cast<char>(value); };
    if (code < 0x80) {
      byte(code);
    } else if (code < 0x800) {
      byte(0xC0 | (code >> 6));
      byte(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
      byte(0xE0 | (code >> 12));
      byte(0x80 | ((code >> 6) & 0x3F));
      byte(0x80 | (code & 0x3F));
    } else {
      byte(0xF0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 0x3F));
      byte(0x80 | ((code >> 6) & 0x3F));
      byte(0x80 | (code & 0x3F));
    }
  }

  void skipSpace() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) at_++;
  }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    at_++;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool afterComma_ = false;
};

}  // namespace detail

inline std::string Json::dump() const {
  detail::JsonWriter writer;
  writer.write(*this);
  return writer.text;
}

inline std::optional<Json> Json::parse(std::string_view text) {
  Json value;
  return detail::JsonReader(text).readAll(value) ? std::optional<Json>(std::move(value)) : std::nullopt;
}

}  // namespace lattice
