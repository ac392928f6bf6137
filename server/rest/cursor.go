package rest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// maxPath bounds, in bytes, what of a caller's own field names is repeated in an answer.
const maxPath = 200

// cursor walks a JSON text token by token and knows the path of the value it stands on. It is for the few bodies that
// are looked at closely; the others never meet it.
type cursor struct {
	body   []byte
	dec    *json.Decoder
	from   int64 // where the token before this one ended
	levels []level
}

// level is an object or a list that the cursor is in.
type level struct {
	list    bool
	index   int    // of the element in a list, -1 before the first
	key     string // of the member in an object
	inValue bool   // the key was read, its value comes next
}

func newCursor(body []byte) *cursor {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // A number too large for a float64 is no reason to stop.
	return &cursor{body: body, dec: dec}
}

// pathAt is the path of the value whose first or only token ends at offset.
func pathAt(body []byte, offset int64) string {
	cur := newCursor(body)
	for cur.dec.InputOffset() < offset {
		if _, err := cur.next(); err != nil {
			break
		}
	}
	return cur.path()
}

// next reads one token. Names of members are tokens too.
func (cur *cursor) next() (json.Token, error) {
	cur.from = cur.dec.InputOffset()
	token, err := cur.dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('}'), json.Delim(']'):
		cur.levels = cur.levels[:len(cur.levels)-1]
		return token, nil
	}
	cur.step(token)
	switch token {
	case json.Delim('{'):
		cur.levels = append(cur.levels, level{})
	case json.Delim('['):
		cur.levels = append(cur.levels, level{list: true, index: -1})
	}
	return token, nil
}

// step moves on inside the innermost level.
func (cur *cursor) step(token json.Token) {
	if len(cur.levels) == 0 {
		return
	}
	at := &cur.levels[len(cur.levels)-1]
	switch {
	case at.list:
		at.index++
	case at.inValue:
		at.inValue = false
	default:
		at.key, _ = token.(string)
		at.inValue = true
	}
}

// raw is the token just read as it is written, with what stands between it and the one before.
func (cur *cursor) raw() []byte { return cur.body[cur.from:cur.dec.InputOffset()] }

// path names the value just read, as in joined[2].sub.
func (cur *cursor) path() string {
	var path strings.Builder
	for _, at := range cur.levels {
		switch {
		case at.list && at.index >= 0:
			path.WriteString("[" + strconv.Itoa(at.index) + "]")
		case at.key != "":
			path.WriteString("." + at.key)
		}
	}
	name := strings.TrimPrefix(path.String(), ".")
	return strings.ToValidUTF8(name[:min(len(name), maxPath)], "")
}
