package openmatch

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// restClient calls user code over HTTP. It follows nobody elsewhere, and has no timeout: a match function may take as long
// as the cycle does.
type restClient struct {
	http   *http.Client
	scheme string
	most   int64  // bytes of an answer
	memory memory // nil: not bounded
	close  func() // hangs up where nobody is talking
}

func newRESTClient(d dialer) *restClient {
	transport := d.transport()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &restClient{
		http: &http.Client{Transport: d.tracing.ofHTTP(transport), CheckRedirect: stay}, scheme: d.scheme(), most: maxAnswer, close: transport.CloseIdleConnections,
	}
}

// results sends a request and reads the stream that the REST mapping makes of one: an object after the other, each with
// a result or an error. It ends with the stream, the error in it, or the one that each returned. Where nothing came that
// could be an answer to it, it was not answered.
func (c *restClient) results(request *http.Request, each func(result []byte) error) (answered bool, err error) {
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return false, toldOfHTTP(err)
	}
	defer response.Body.Close()
	body := &answerBody{Reader: http.MaxBytesReader(nil, response.Body, c.most), memory: c.memory}
	defer body.close()
	objects := json.NewDecoder(body)
	for {
		var object answerObject
		err := objects.Decode(&object)
		switch {
		case body.refused != nil:
			return true, body.refused
		case errors.Is(err, io.EOF) && response.StatusCode == http.StatusOK:
			return true, nil
		case err != nil:
			_, tooMuch := errors.AsType[*http.MaxBytesError](err)
			return answered || tooMuch, object.failure(response, err)
		case object.Result == nil || response.StatusCode != http.StatusOK:
			return answered || object.says(), object.failure(response, nil)
		}
		answered = true
		if err := each(object.Result); err != nil {
			return true, err
		}
		body.release(objects.InputOffset())
	}
}

// memory is what answers take a share of while they are read; see [cycle.Engine.Hold].
type memory interface {
	Hold(bytes int) error
	Release(bytes int)
}

const (
	// maxObject bounds, in bytes, one object of an answer: a match of maxMatch in JSON.
	maxObject = 8 << 20
	// decodingCost is what a byte of JSON takes until it is decoded: in the decoder's buffer, which doubles, in a copy and in the message.
	decodingCost = 4
)

// answerBody reads an answer, and counts what is in memory of it.
type answerBody struct {
	io.Reader
	memory  memory
	read    int64 // bytes
	decoded int64 // of those
	held    int
	refused error // why nothing more is read
}

// Read implements [io.Reader].
func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if b.read-b.decoded > maxObject {
		b.refused = status.Errorf(codes.ResourceExhausted, "an object of the answer has more than %d bytes", maxObject)
		return 0, b.refused
	}
	if b.memory != nil {
		if b.refused = b.memory.Hold(n * decodingCost); b.refused != nil {
			return 0, b.refused
		}
		b.held += n * decodingCost
	}
	return n, err
}

// release gives back what the answer up to an offset took.
func (b *answerBody) release(offset int64) {
	b.decoded = offset
	if b.memory != nil {
		left := int(b.read-b.decoded) * decodingCost
		b.memory.Release(b.held - left)
		b.held = left
	}
}

func (b *answerBody) close() { b.release(b.read) }

// answerObject is a result, or why there is none: within an error or, where there was no stream yet, in its place.
type answerObject struct {
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	restError
}

type restError struct {
	Code    codes.Code `json:"code"`
	Message string     `json:"message"`
}

// says tells whether there is anything in the object that a match function's answer has.
func (o answerObject) says() bool { return o.Result != nil || o.Error != nil || o.Message != "" }

// failure is the object as an error. unread is why there is no object, or nil.
func (o answerObject) failure(response *http.Response, unread error) error {
	if tooMuch, ok := errors.AsType[*http.MaxBytesError](unread); ok {
		return status.Errorf(codes.ResourceExhausted, "the answer has more than %d bytes", tooMuch.Limit)
	}
	told := o.restError
	if o.Error != nil && json.Unmarshal(o.Error, &told) != nil {
		told.Message = string(o.Error) // by somebody who has errors of another form
	}
	switch {
	case told.Message != "":
	case response.StatusCode != http.StatusOK:
		told.Message = "answered HTTP " + response.Status
	case unread != nil:
		told.Message = "the answer cannot be read: " + unread.Error()
	default:
		told.Message = "the answer has neither a result nor an error"
	}
	if told.Code == codes.OK || told.Code > codes.Unauthenticated {
		told.Code = codes.Internal
	}
	return status.Error(told.Code, told.Message[:min(len(told.Message), maxAnswerText)])
}
