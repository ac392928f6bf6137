package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

const maxDepth = 32 // objects and lists inside each other, the body itself included

// decode reads the body, which has to be one JSON object of at most 64 KiB and 32 levels, into the struct that into
// points to. Unknown fields are ignored, so that older and newer callers work. null leaves a field as it is: absent.
// Names match as in encoding/json, that is, in any case. Of a name that comes twice the last value wins, except that
// objects, and the elements of lists, are merged into the earlier ones. A missing Content-Type is read as JSON.
// Every error is a *Problem of the 4xx kind.
func decode(r *http.Request, into any) error {
	if body, ok := r.Body.(*bodyBuffer); ok { // [Bodies] has read it
		return parse(body.Bytes(), into)
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	defer bodyBuffers.Put(body)
	return parse(body.Bytes(), into)
}

func parse(body []byte, into any) error {
	if !utf8.Valid(body) {
		return notJSON("the body is not valid UTF-8")
	}
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return notJSON("the body must be one JSON object")
	}
	if depth(body) > maxDepth {
		return notJSON("the body is nested too deeply")
	}
	if err := checkStrings(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return explain(body, into, err)
	}
	return nil
}

// depth counts how many objects and lists the body opens inside each other; few bodies need the exact count.
func depth(body []byte) int {
	opened := bytes.Count(body, []byte{'{'}) + bytes.Count(body, []byte{'['})
	if opened <= maxDepth {
		return opened
	}
	level, deepest := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = stringEnd(body, i)
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// stringEnd is the index of the quote that closes the string opened at i, or the length of the body.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body) && body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i
}
