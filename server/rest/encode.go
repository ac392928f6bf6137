package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// Header values are shared by all answers, so that setting one costs no allocation. They must not be modified.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
)

// jsonBuffer is a buffer with an encoder that writes into it.
type jsonBuffer struct {
	content bytes.Buffer
	enc     *json.Encoder
}

var jsonBuffers = sync.Pool{New: func() any {
	b := new(jsonBuffer)
	b.enc = json.NewEncoder(&b.content)
	b.enc.SetEscapeHTML(false) // answers are no HTML, and people read them
	return b
}}

// writeJSON answers with v. It encodes the whole value before it sends the first byte, so that a value that cannot be
// encoded can still be answered with a problem. Answers hold session handles and tokens, so no cache may store them.
func writeJSON(w http.ResponseWriter, status int, contentType []string, v any) error {
	buf := jsonBuffers.Get().(*jsonBuffer)
	defer jsonBuffers.Put(buf)
	buf.content.Reset()
	if err := buf.enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	header := w.Header()
	header["Content-Type"] = contentType
	header["Cache-Control"] = noStore
	w.WriteHeader(status)
	_, _ = w.Write(buf.content.Bytes()) // A failed write means that the client has disconnected.
	return nil
}
