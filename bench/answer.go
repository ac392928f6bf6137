package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// member is a required string of an answer.
type member struct {
	name string
	into *string
}

// readStrings extracts strings of an answer. An answer without one of them is a failure.
func readStrings(answer []byte, members ...member) error {
	for _, m := range members {
		text, isThere := findString(answer, m.name)
		if !isThere {
			return &Failure{"200 unreadable", fmt.Errorf("the answer has no %s", m.name)}
		}
		*m.into = text
	}
	return nil
}

// findString finds the first string of that name. It does not parse the answer: a director's answers are flat, and
// parsing would cost the load generator nearly as much as the call.
func findString(answer []byte, name string) (text string, isThere bool) {
	_, after, isNamed := bytes.Cut(answer, []byte(`"`+name+`":`))
	after = bytes.TrimLeft(after, " ")
	if !isNamed || len(after) == 0 || after[0] != '"' {
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
