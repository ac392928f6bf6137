package edgegaptest

import (
	"net/http"
	"strings"
)

// Fault is a failure of one call.
type Fault int

// The faults. Those of the second group execute the call first.
const (
	None              Fault = iota
	CutBefore               // the connection breaks, nothing was executed
	TooMany                 // 429 without Retry-After
	TooManyRetryAfter       // 429, retry after 7 s
	Refuse                  // 503 in the form of the API, nothing was executed
	Proxy404                // 404 with the page of a proxy
	NotKnown                // 404 in the form of the API: it does not know the deployment yet
	Redirect                // 307 to another host

	LoseAnswer // the connection breaks after the execution
	Fail500    // 500
	NotJSON    // 202 with a page of HTML
	NoID       // 202 without a request id
	Huge       // 5 MiB
	InError    // a Deploy answers 422: the deployment exists, in error
	Echo       // a Deploy is refused with a message that repeats the request and the key
)

// applyBefore answers where a fault prevents the execution.
func (f Fault) applyBefore(w http.ResponseWriter) (answered bool) {
	switch f {
	case CutBefore:
		// net/http closes the connection without an answer.
		panic(http.ErrAbortHandler)
	case Refuse:
		write(w, http.StatusServiceUnavailable, message("Try again"))
	case NotKnown:
		write(w, http.StatusNotFound, message("Deployment not found"))
	case Proxy404:
		page(w, http.StatusNotFound)
	case Redirect:
		// A client that followed it would send its key to another host.
		w.Header().Set("Location", "http://127.0.0.1:1/stolen")
		w.WriteHeader(http.StatusTemporaryRedirect)
	default:
		return false
	}
	return true
}

// applyAfter answers where a fault replaces the answer.
func (f Fault) applyAfter(w http.ResponseWriter) (answered bool) {
	switch f {
	case LoseAnswer:
		panic(http.ErrAbortHandler)
	case Fail500:
		write(w, http.StatusInternalServerError, message("Internal error"))
	case NotJSON:
		page(w, http.StatusAccepted)
	case NoID:
		write(w, http.StatusAccepted, object{"request_id": nil})
	case Huge:
		// More than httpcall.MaxAnswer.
		write(w, http.StatusOK, object{"message": strings.Repeat("x", 5<<20)})
	default:
		return false
	}
	return true
}

func page(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<html>gateway</html>"))
}
