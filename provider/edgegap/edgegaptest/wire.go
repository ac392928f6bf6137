package edgegaptest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, nil
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

type object = map[string]any

func message(text string) object { return object{"message": text} }

func newID() string { return strings.ToLower(rand.Text()[:12]) }

// stamp is a time in the form of the API.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000")
}

func host(id string) string { return fmt.Sprintf("%s.pr.edgegap.example", id) }
