package assistant

import (
	"encoding/json"
	"fmt"
	"time"
)

// Bounds of answers. What an assistant reads costs its user, and what is too long is not read.
const (
	maxAnswer       = 48 << 10 // bytes
	defaultRows     = 20
	maxRows         = 100
	maxRunningCalls = 2 // calls at a time: the command has two connections
	callTimeout     = time.Minute
	omittedWords    = "\n(the rest is omitted: it is longer than an answer may be)\n"
)

// cutText cuts a text to the length of an answer.
func cutText(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	cut := maxAnswer - len(omittedWords)
	for cut > 0 && text[cut]&0xC0 == 0x80 { // within a character
		cut--
	}
	return text[:cut] + omittedWords
}

// rowsAnswer is a list, and whether there are more rows than it has.
type rowsAnswer[T any] struct {
	Rows []T  `json:"rows"`
	More bool `json:"more"`
}

// rowsText returns rows as JSON, without the last ones where all are too long for an answer.
func rowsText[T any](rows []T, more bool) (string, error) {
	for {
		// Copied to a slice that is not nil: no rows are [], and not null.
		text, err := json.Marshal(rowsAnswer[T]{append([]T{}, rows...), more})
		if err != nil || len(text) <= maxAnswer || len(rows) == 0 {
			return string(text), err
		}
		// Rows are left out whole, so that the answer stays JSON.
		rows, more = rows[:len(rows)/2], true
	}
}

// rowLimit returns how many rows a call asks for.
func rowLimit(limit int) (int, error) {
	switch {
	case limit == 0:
		return defaultRows, nil
	case limit < 0 || limit > maxRows:
		return 0, fmt.Errorf("limit %d is not allowed: it must be 1 to %d", limit, maxRows)
	}
	return limit, nil
}
