package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxBody  = 64 << 10 // bytes
	maxDepth = 32       // objects and lists inside each other, the body itself included
)

// bodyBuffer is where a body is read to. The limiter lives beside it to be reused with it.
type bodyBuffer struct {
	bytes.Buffer
	src io.LimitedReader
}

var bodyBuffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

// decode reads the body, which has to be one JSON object of at most 64 KiB and 32 levels, into the struct that into
// points to. Unknown fields are ignored, so that older and newer callers work. null leaves a field as it is: absent.
// Names match as in encoding/json, that is, in any case. Of a name that comes twice the last value wins, except that
// objects, and the elements of lists, are merged into the earlier ones. A missing Content-Type is read as JSON.
// Every error is a *Problem of the 4xx kind.
func decode(r *http.Request, into any) error {
	if err := checkMedia(r.Header); err != nil {
		return err
	}
	if r.ContentLength > maxBody {
		return errBodyTooLarge
	}
	buf := bodyBuffers.Get().(*bodyBuffer)
	defer bodyBuffers.Put(buf)
	body, err := buf.read(r.Body)
	if err != nil {
		return err
	}
	return parse(body, into)
}

// checkMedia refuses what says of itself that it is not plain JSON in UTF-8.
func checkMedia(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return errUnsupportedMedia
	}
	contentType := h.Get("Content-Type")
	if contentType == "" || contentType == "application/json" {
		return nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	switch {
	case err != nil,
		media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")),
		charset != "" && !strings.EqualFold(charset, "utf-8"):
		return errUnsupportedMedia
	}
	return nil
}

func (b *bodyBuffer) read(src io.Reader) ([]byte, error) {
	b.Reset()
	b.src = io.LimitedReader{R: src, N: maxBody + 1}
	_, err := b.ReadFrom(&b.src)
	b.src.R = nil
	switch {
	case err == nil && b.Len() > maxBody:
		return nil, errBodyTooLarge
	case err == nil:
		return b.Bytes(), nil
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return nil, errBodyTooSlow
	default:
		return nil, notJSON("the body could not be read to its end")
	}
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
