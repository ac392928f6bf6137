package projects

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// reply is an answer, which is written as JavaScript's JSON.stringify writes it.
type reply struct {
	status int
	value  any
}

// Answer implements rest.Answerer.
func (a reply) Answer(w http.ResponseWriter, _ *http.Request) {
	writeBody(w, a.status, "application/json", encodeJSON(a.value))
}

// encodeJSON encodes values that always encode: they hold texts, numbers and times only.
func encodeJSON(v any) []byte {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	// JSON.stringify leaves < > & as they are.
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
	return bytes.TrimSuffix(body.Bytes(), []byte("\n"))
}

func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header["Content-Type"], header["Content-Length"] = []string{contentType}, []string{strconv.Itoa(len(body))}
	header["Cache-Control"] = []string{"no-store"} // answers hold secrets and tokens
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has disconnected
}

// failure is an error document. Nexis has the field error only.
type failure struct {
	Error   string `json:"error"`
	Code    string `json:"code"`
	Region  string `json:"region,omitempty"`  // that another cell serves
	Address string `json:"address,omitempty"` // of the control API there
}

// frameworkErrors are the answers of Nexis' framework, which are no JSON, by the code of the problem.
var frameworkErrors = map[string]struct {
	status int
	body   string
}{
	"route_not_found":        {http.StatusNotFound, "NOT_FOUND"},
	"invalid_json":           {http.StatusBadRequest, "Bad Request"},
	"unsupported_media_type": {http.StatusBadRequest, "Bad Request"},
}

// writeError is the rest.ErrorWriter of this API.
func writeError(w http.ResponseWriter, err error) string {
	p := rest.ProblemOf(err)
	// Scripts for Nexis compare these bodies.
	if text, ok := frameworkErrors[p.Code]; ok {
		writeBody(w, text.status, "text/plain;charset=utf-8", []byte(text.body))
		return p.Code
	}
	f := failure{Error: p.Detail, Code: p.Code}
	// Another cell serves the project: the script calls that one.
	if cell := fault.CellOf(err); cell != nil {
		f.Region, f.Address = cell.Region, cell.Addresses[fault.ListenerControl]
	}
	switch p.Status {
	// Nexis has one text, whatever is wrong with the token.
	case http.StatusUnauthorized:
		f.Error = "unauthorized"
	// Nexis has no 413: its scripts know a bad request.
	case http.StatusRequestEntityTooLarge:
		p.Status = http.StatusBadRequest
		f.Error = "the body must not be longer than 64 KiB"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		// At least 1: with 0, clients would retry at once.
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(p.RetryAfter.Round(time.Second).Seconds()))))
		if p.Status == http.StatusServiceUnavailable {
			f.Error = "temporarily unavailable"
		}
	// The detail may quote the database, so the client gets this text instead.
	case http.StatusInternalServerError:
		f.Error = "internal error"
	}
	writeBody(w, p.Status, "application/json", encodeJSON(f))
	return p.Code
}

// invalidError is the answer to a body that has a wrong field.
func invalidError(field, text string) error {
	return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: field, Detail: text}
}

// postgresTime formats a time as Postgres does in UTC, without trailing zeros of the fraction.
func postgresTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999") + "+00" }
