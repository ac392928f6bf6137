package bench

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// answer is the body of one that went well.
type answer []byte

// member is a string of an answer that is needed.
type member struct {
	name string
	into *string
}

// read takes out strings. An answer without one of them is unreadable.
func (a answer) read(members ...member) error {
	for _, m := range members {
		text, ok := a.text(m.name)
		if !ok {
			return &failure{http.StatusOK, "unreadable", "the answer has no " + m.name}
		}
		*m.into = text
	}
	return nil
}

// text finds the first string of that name. It only looks for the name: what a director answers is flat, and to parse
// all of it would cost the load nearly as much as the call.
func (a answer) text(name string) (text string, ok bool) {
	_, rest, found := bytes.Cut(a, []byte(`"`+name+`":`))
	rest = bytes.TrimLeft(rest, " ")
	if !found || len(rest) == 0 || rest[0] != '"' {
		return "", false
	}
	end := bytes.IndexByte(rest[1:], '"') + 1
	if end == 0 {
		return "", false
	}
	raw := rest[:end+1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:end]), true
	}
	err := json.NewDecoder(bytes.NewReader(rest)).Decode(&text)
	return text, err == nil
}

// problem is a director's words for a refusal (RFC 9457).
type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

// isToken tells that it has the form of a signed token.
func isToken(raw string) bool { return strings.Count(raw, ".") == 2 }
