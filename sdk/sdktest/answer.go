package sdktest

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// problem is an answer with an error.
type problem struct {
	status       int
	code, detail string
	incarnation  string // for instance_taken
}

func newProblem(status int, code, detail string, args ...any) *problem {
	return &problem{status: status, code: code, detail: fmt.Sprintf(detail, args...)}
}

func (p *problem) writeTo(w http.ResponseWriter) {
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	document := map[string]any{
		"type": "/docs#" + p.code, "title": http.StatusText(p.status), "status": p.status,
		"detail": p.detail, "code": p.code, "request_id": w.Header().Get("X-Request-ID"),
	}
	if p.incarnation != "" {
		document["incarnation"] = p.incarnation
	}
	writeJSON(w, p.status, "application/problem+json", document)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, body any) {
	if stream, ok := body.(events); ok {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(stream)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func readBody(r *http.Request, into any) *problem {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return newProblem(http.StatusBadRequest, "invalid_json", "%v", err)
	}
	return nil
}

// events are a stream, which writeJSON sends as it is.
type events []byte
