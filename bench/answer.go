package bench

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
)

// answer is the body of a successful response.
type answer []byte

// member is a required string of an answer.
type member struct {
	name string
	into *string
}

// read extracts strings. An answer without one of them is a failure.
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

// text finds the first string of that name. It does not parse the answer: a director's answers are flat, and parsing
// would cost the load generator nearly as much as the call.
func (a answer) text(name string) (text string, ok bool) {
	_, after, found := bytes.Cut(a, []byte(`"`+name+`":`))
	after = bytes.TrimLeft(after, " ")
	if !found || len(after) == 0 || after[0] != '"' {
		return "", false
	}
	end := bytes.IndexByte(after[1:], '"') + 1
	if end == 0 {
		return "", false
	}
	raw := after[:end+1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:end]), true
	}
	err := json.NewDecoder(bytes.NewReader(after)).Decode(&text)
	return text, err == nil
}

// problem is a director's error response (RFC 9457).
type problem struct {
	Code   string `json:"code"`
	Detail string `json:"detail"`
	Cause  string `json:"cause"` // of the orchestrator of Rivalis, instead of a code
}

// isToken reports whether the text has the form of a signed token.
func isToken(raw string) bool { return strings.Count(raw, ".") == 2 }
