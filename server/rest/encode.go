package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/gin-gonic/gin"
)

// Header values are shared by all answers, so that setting one costs no allocation. Nobody may write to them.
var (
	typeJSON    = []string{"application/json"}
	typeProblem = []string{"application/problem+json"}
	noStore     = []string{"no-store"}
)

// jsonBuffer is a buffer with an encoder that writes into it.
type jsonBuffer struct {
	bytes.Buffer
	enc *json.Encoder
}

var jsonBuffers = sync.Pool{New: func() any {
	b := new(jsonBuffer)
	b.enc = json.NewEncoder(&b.Buffer)
	b.enc.SetEscapeHTML(false)
	return b
}}

// writeJSON answers with v. It is encoded whole before the first byte is sent, so that a value that cannot be encoded
// is still answered with a problem. Answers hold handles and tokens, therefore no cache may keep them.
func writeJSON(c *gin.Context, status int, contentType []string, v any) error {
	buf := jsonBuffers.Get().(*jsonBuffer)
	defer jsonBuffers.Put(buf)
	buf.Reset()
	if err := buf.enc.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	header := c.Writer.Header()
	header["Content-Type"] = contentType
	header["Cache-Control"] = noStore
	c.Status(status)
	// A failed write means that the client has gone: nobody is left to be told.
	_, _ = c.Writer.Write(buf.Bytes())
	return nil
}
