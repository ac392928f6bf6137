package orchestrator

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// Header values are shared by all answers and must not be modified.
var typeJSON = []string{"application/json; charset=utf-8"}

// answer is a successful REST answer: JSON, or 304 "not modified".
type answer struct {
	status int
	etag   string // empty: the answer has none
	body   []byte // empty: not modified
}

// answerDone is the answer without data.
var answerDone = answer{status: http.StatusOK, body: []byte(`{"status":"OK"}`)}

// dataBegins is the beginning of an answer with data; closeObject ends it.
const dataBegins = `{"status":"OK","data":`

// dataAnswer returns an answer whose data is the JSON that appendData appends.
func dataAnswer(status int, appendData func(b []byte) []byte) answer {
	return answer{status: status, body: closeObject(appendData([]byte(dataBegins)))}
}

// listAnswer returns an answer whose data is the list that appendList appends. next is the cursor of the next page; ""
// means that this is the last page.
func listAnswer(appendList func(b []byte) (_ []byte, next string)) answer {
	b, next := appendList([]byte(dataBegins))
	if next != "" {
		b = append(append(append(b, `,"next":"`...), next...), '"')
	}
	return answer{status: http.StatusOK, body: closeObject(b)}
}

func closeObject(b []byte) []byte { return append(b, '}') }

// Answer implements rest.Answerer.
func (a answer) Answer(w http.ResponseWriter, _ *http.Request) {
	header := w.Header()
	if a.etag != "" {
		header["Etag"] = []string{a.etag}
	}
	if len(a.body) == 0 {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	writeBody(w, a.status, a.body)
}

// writeBody writes an answer. The answer to HEAD has the Content-Length of the answer to GET.
func writeBody(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = typeJSON
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // A failed write means that the client has disconnected.
}

// rejection is an error that callers see; its cause is an error code of the protocol.
type rejection struct {
	status int
	cause  string
}

// Error implements error.
func (r rejection) Error() string { return r.cause }

// The rejections that this package itself creates.
var (
	errInvalid         = rejection{http.StatusBadRequest, db.CodeValidation}
	errUnauthorized    = rejection{http.StatusUnauthorized, "UNAUTHORIZED"}
	errNotFound        = rejection{http.StatusNotFound, "NOT_FOUND"}
	errTooLarge        = rejection{http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE"}
	errUnsupportedType = rejection{http.StatusUnsupportedMediaType, db.CodeValidation}
	errThrottled       = rejection{http.StatusTooManyRequests, "AUTH_THROTTLED"}
	errElsewhere       = rejection{http.StatusMisdirectedRequest, "REGION_ELSEWHERE"}
	errTooManyStreams  = rejection{http.StatusTooManyRequests, "SSE_LIMIT"}
	errInternal        = rejection{http.StatusInternalServerError, "INTERNAL"}
	errCommandFailed   = rejection{http.StatusBadGateway, "COMMAND_FAILED"}
	errNotReady        = rejection{http.StatusServiceUnavailable, "NOT_READY"}
	errCommandTimeout  = rejection{http.StatusGatewayTimeout, "COMMAND_TIMEOUT"}
)

// statuses maps the codes with which the database refuses a call to HTTP statuses.
var statuses = map[string]int{
	db.CodeValidation:           http.StatusBadRequest,
	db.CodeInstanceNotFound:     http.StatusNotFound,
	db.CodeRoomNotFound:         http.StatusNotFound,
	db.CodeNoCandidate:          http.StatusConflict,
	db.CodeRoomExists:           http.StatusConflict,
	db.CodeInstanceDraining:     http.StatusConflict,
	db.CodeInstanceBusy:         http.StatusTooManyRequests,
	db.CodeInstanceDisconnected: http.StatusBadGateway,
}

// tooManyStreams is the error code with which package roster refuses a stream.
const tooManyStreams = "too_many_streams"

// rejectionOf converts an error to the rejection that callers see. Of an error without a code of the protocol, callers
// learn only whether a retry may succeed.
func rejectionOf(err error) rejection {
	var own rejection
	var stored *fault.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &stored):
		return rejectionOfStore(stored)
	}
	switch problem := rest.ProblemOf(err); problem.Status {
	case http.StatusBadRequest, http.StatusRequestTimeout:
		return errInvalid
	case http.StatusUnauthorized:
		return errUnauthorized
	case http.StatusNotFound:
		return errNotFound
	case http.StatusRequestEntityTooLarge:
		return errTooLarge
	case http.StatusUnsupportedMediaType:
		return errUnsupportedType
	case http.StatusTooManyRequests:
		return errThrottled
	case http.StatusServiceUnavailable:
		return errNotReady
	default:
		return errInternal
	}
}

func rejectionOfStore(err *fault.Error) rejection {
	if status, ok := statuses[err.Code]; ok {
		return rejection{status, err.Code}
	}
	if err.Code == tooManyStreams {
		return errTooManyStreams
	}
	switch err.Kind {
	case fault.Elsewhere:
		return errElsewhere
	// Superseded means that this replica was ended and continues under another id.
	case fault.Unavailable, fault.TooMany, fault.Superseded:
		return errNotReady
	default:
		return errInternal
	}
}

// writeError is the rest.ErrorWriter of this API.
func writeError(w http.ResponseWriter, err error) string {
	r := rejectionOf(err)
	writeBody(w, r.status, []byte(`{"status":"rejected","cause":"`+r.cause+`"}`))
	return strings.ToLower(r.cause)
}
