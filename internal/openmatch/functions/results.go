package functions

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// restClient calls user code over HTTP. It follows no redirects, and has no timeout: a match function may run as long
// as its cycle.
type restClient struct {
	http           *http.Client
	urlScheme      string
	maxAnswerBytes int64  // bytes of an answer
	answerMemory   memory // nil: not bounded
	closeIdle      func() // closes idle connections
}

func newRESTClient(d dialer) *restClient {
	transport := d.newTransport()
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &restClient{
		http: &http.Client{Transport: d.tracing.wrapTransport(transport), CheckRedirect: noRedirect}, urlScheme: d.httpScheme(),
		maxAnswerBytes: maxAnswer, closeIdle: transport.CloseIdleConnections,
	}
}

// readResults sends a request and reads the answer of a gRPC stream mapped to REST: JSON objects, each with a result or
// an error. Errors: one in the stream, or the one that each returned. answered is false if nothing in the response
// looks like such a stream.
func (c *restClient) readResults(request *http.Request, each func(result []byte) error) (answered bool, err error) {
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return false, httpError(err)
	}
	defer response.Body.Close()
	body := &answerBody{source: http.MaxBytesReader(nil, response.Body, c.maxAnswerBytes), memory: c.answerMemory}
	defer body.releaseAll()
	objects := json.NewDecoder(body)
	for {
		var object answerObject
		err := objects.Decode(&object)
		switch {
		// This case is first, because asError would take the refusal for an answer that cannot be read.
		case body.refusal != nil:
			return true, body.refusal
		case errors.Is(err, io.EOF) && response.StatusCode == http.StatusOK:
			return true, nil
		case err != nil:
			_, tooMuch := errors.AsType[*http.MaxBytesError](err)
			return answered || tooMuch, object.asError(response, err)
		case object.Result == nil || response.StatusCode != http.StatusOK:
			return answered || object.isAnswer(), object.asError(response, nil)
		}
		answered = true
		if err := each(object.Result); err != nil {
			return true, err
		}
		// A decoded object is a proposal by now, whose memory is counted with the call's.
		body.releaseUpTo(objects.InputOffset())
	}
}

// memory counts the bytes of answers while they are read; see [cycle.Engine.Hold].
type memory interface {
	Hold(bytes int) error
	Release(bytes int)
}

const (
	// maxObject bounds, in bytes, one object of an answer: a match of maxMatch in JSON.
	maxObject = 8 << 20
	// decodingCost is how many bytes of memory a byte of JSON takes until it is decoded: in the decoder's buffer, which
	// doubles, in a copy, and in the message.
	decodingCost = 4
)

// answerBody reads an answer, and counts the bytes of it that are in memory.
type answerBody struct {
	source        io.Reader
	memory        memory
	readBytes     int64
	decodedBytes  int64 // of readBytes, those of objects that were decoded
	bufferedBytes int   // what memory holds for the others
	refusal       error // why nothing more is read
}

// Read implements [io.Reader].
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.source.Read(p)
	b.readBytes += int64(n)
	// Without this bound one object could take the whole answer's limit in memory before it is decoded.
	if b.readBytes-b.decodedBytes > maxObject {
		b.refusal = status.Errorf(codes.ResourceExhausted, "an object of the answer has more than %d bytes", maxObject)
		return 0, b.refusal
	}
	if b.memory != nil {
		b.refusal = b.memory.Hold(n * decodingCost)
		if b.refusal != nil {
			return 0, b.refusal
		}
		b.bufferedBytes += n * decodingCost
	}
	return n, err
}

// releaseUpTo releases the memory of the answer up to an offset.
func (b *answerBody) releaseUpTo(offset int64) {
	b.decodedBytes = offset
	if b.memory != nil {
		left := int(b.readBytes-b.decodedBytes) * decodingCost
		b.memory.Release(b.bufferedBytes - left)
		b.bufferedBytes = left
	}
}

func (b *answerBody) releaseAll() { b.releaseUpTo(b.readBytes) }

// answerObject is a result or an error of a stream that gRPC's gateway maps to JSON.
type answerObject struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	// The fields of an error from before the stream began, which is not below Error.
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
}

// restError is what Error has.
type restError struct {
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
}

// isAnswer reports whether the object has a field of a match function's answer.
func (o answerObject) isAnswer() bool { return o.Result != nil || o.Error != nil || o.Message != "" }

// failureText says what is wrong with a response that has no message itself. unread is the error of decoding it, or nil.
func failureText(response *http.Response, unread error) string {
	switch {
	case response.StatusCode != http.StatusOK:
		return "answered HTTP " + response.Status
	case unread != nil:
		return "the answer cannot be read: " + unread.Error()
	}
	return "the answer has neither a result nor an error"
}

// asError returns the object as an error. unread is the error of decoding it, or nil.
func (o answerObject) asError(response *http.Response, unread error) error {
	if tooMuch, ok := errors.AsType[*http.MaxBytesError](unread); ok {
		return status.Errorf(codes.ResourceExhausted, "the answer has more than %d bytes", tooMuch.Limit)
	}
	failed := restError{Code: o.Code, Message: o.Message}
	if o.Error != nil && json.Unmarshal(o.Error, &failed) != nil {
		failed.Message = string(o.Error) // an error of another form is shown as it is
	}
	if failed.Message == "" {
		failed.Message = failureText(response, unread)
	}
	// User code chooses the number. OK would be no error, and gRPC knows no code above Unauthenticated.
	if failed.Code == codes.OK || failed.Code > codes.Unauthenticated {
		failed.Code = codes.Internal
	}
	return status.Error(failed.Code, failed.Message[:min(len(failed.Message), maxAnswerText)])
}
