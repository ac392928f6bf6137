package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxPath bounds, in bytes, the field names of a request that an answer repeats.
const maxPath = 200

// cursor walks a JSON text token by token and tracks the path of the current value. It is slow; only bodies with errors
// or with \u escapes need it.
type cursor struct {
	body        []byte
	decoder     *json.Decoder
	tokenBegins int64 // where the previous token ended
	levels      []level
}

// level is an object or a list that encloses the current value.
type level struct {
	isList     bool
	index      int    // of the element in a list, -1 before the first
	memberName string // of the member in an object
	inValue    bool   // the key was read and its value comes next
}

func newCursor(body []byte) *cursor {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // Without it, a number that does not fit a float64 would be an error.
	return &cursor{body: body, decoder: dec}
}

// pathAt returns the path of the value whose first or only token ends at offset.
func pathAt(body []byte, offset int64) string {
	cur := newCursor(body)
	for cur.decoder.InputOffset() < offset {
		if _, err := cur.nextToken(); err != nil {
			break
		}
	}
	return cur.currentPath()
}

// nextToken reads one token. The names of an object's members are tokens too.
func (cur *cursor) nextToken() (json.Token, error) {
	cur.tokenBegins = cur.decoder.InputOffset()
	token, err := cur.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('}'), json.Delim(']'):
		cur.levels = cur.levels[:len(cur.levels)-1]
		return token, nil
	}
	cur.stepLevel(token)
	switch token {
	case json.Delim('{'):
		cur.levels = append(cur.levels, level{})
	case json.Delim('['):
		cur.levels = append(cur.levels, level{isList: true, index: -1})
	}
	return token, nil
}

// stepLevel updates the position in the innermost level for the token just read.
func (cur *cursor) stepLevel(token json.Token) {
	if len(cur.levels) == 0 {
		return
	}
	at := &cur.levels[len(cur.levels)-1]
	switch {
	case at.isList:
		at.index++
	case at.inValue:
		at.inValue = false
	default:
		at.memberName, _ = token.(string)
		at.inValue = true
	}
}

// rawToken returns the source text of the token just read, with the separators before it.
func (cur *cursor) rawToken() []byte { return cur.body[cur.tokenBegins:cur.decoder.InputOffset()] }

// currentPath returns the path of the value just read, as in joined[2].sub.
func (cur *cursor) currentPath() string {
	var path strings.Builder
	for _, at := range cur.levels {
		switch {
		case at.isList && at.index >= 0:
			path.WriteString("[" + strconv.Itoa(at.index) + "]")
		case at.memberName != "":
			path.WriteString("." + at.memberName)
		}
	}
	return boundPath(strings.TrimPrefix(path.String(), "."))
}
