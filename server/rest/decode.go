package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"unicode/utf8"
)

const maxDepth = 32 // nested objects and lists, including the body itself

// OptionalBody is implemented by request types that an empty body stands for, or null, as for any absent value. Their
// schemas are nullable, and their bodies are not required.
type OptionalBody interface {
	OptionalBody() // does nothing
}

// decodeBody reads the body into the struct that into points to. The body must be one JSON object of at most 64 KiB and
// 32 levels.
//
// Unknown fields are ignored, so that older and newer callers work, unless they resemble one of the type's. null counts
// as absent. As in encoding/json, names match case-insensitively, and the last of several members with one name wins,
// except that objects and list elements are merged into the earlier ones. A missing Content-Type counts as JSON. Every
// error is a *Problem with a 4xx status.
func decodeBody(r *http.Request, into any) error {
	if body, ok := r.Body.(*bodyBuffer); ok { // [Bodies.Read] has read it.
		return ParseBody(body.Bytes(), into)
	}
	body, err := readBody(r, checkMedia)
	if err != nil {
		return err
	}
	defer bodyBuffers.Put(body)
	return ParseBody(body.Bytes(), into)
}

// ParseBody reads a body, or any text that is to be as one, into the struct that into points to, by the rules of
// decodeBody. Every error is a *Problem with a 4xx status.
func ParseBody(body []byte, into any) error {
	if !utf8.Valid(body) {
		return notJSON("the body is not valid UTF-8")
	}
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if _, optional := into.(OptionalBody); optional && (len(trimmed) == 0 || string(trimmed) == "null") {
		return nil
	}
	if len(trimmed) == 0 || trimmed[0] != '{' {
		return notJSON("the body must be one JSON object")
	}
	if nestingDepth(body) > maxDepth {
		return notJSON("the body is nested too deeply")
	}
	if err := checkStrings(body); err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return explainDecoding(body, into, err)
	}
	return checkSpelling(body, into)
}

// nestingDepth returns the nesting depth of the body, or an upper bound that is within the limit: counting brackets is
// enough for most bodies.
func nestingDepth(body []byte) int {
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

// stringEnd returns the index of the quote that closes the string opened at i, or at least the length of the body.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body) && body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i
}
