package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// answers is the players' HTTP transport. It records every seat that a replica acknowledges, before the player reads it.
type answers struct {
	next *http.Transport

	mu    sync.Mutex
	all   []answer             // in the order of arrival
	asked map[string]time.Time // when a call was first made, by Idempotency-Key
}

// answer is an answer of /matchmake or /resolve that gives a player a seat.
type answer struct {
	Session  string `json:"session_id"`
	Endpoint string `json:"endpoint"`
	Token    string `json:"session_token"` // "" in an answer of /matchmake

	player, replica string    // replica as host:port
	asked, at       time.Time // asked is that of the first attempt: a retry returns what the first attempt decided
}

func newAnswers() *answers {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.MaxIdleConnsPerHost = 64 // one for each of sixty bots
	return &answers{next: next, asked: map[string]time.Time{}}
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := a.firstAsked(req.Header.Get("Idempotency-Key"))
	resp, err := a.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err // an incomplete answer acknowledges nothing
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	a.add(req, asked, body)
	return resp, nil
}

// CloseIdleConnections implements the interface that http.Client.CloseIdleConnections looks for.
func (a *answers) CloseIdleConnections() { a.next.CloseIdleConnections() }

func (a *answers) firstAsked(key string) time.Time {
	now := time.Now()
	if key == "" {
		return now
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if first, ok := a.asked[key]; ok {
		return first
	}
	a.asked[key] = now
	return now
}

// add records an answer that has a seat in it. It is the caller's seat; each other member of a party calls /resolve itself.
func (a *answers) add(req *http.Request, asked time.Time, body []byte) {
	var one answer
	if json.Unmarshal(body, &one) != nil || one.Session == "" {
		return
	}
	one.player, one.replica, one.asked, one.at = subject(req.Header.Get("Authorization")), req.URL.Host, asked, time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, one)
}

// subject reads the subject of an access token, without verifying it: this process made the token. Without a subject, "", the
// seat is not found in the database and the proof fails.
func subject(authorization string) string {
	parts := strings.Split(strings.TrimPrefix(authorization, "Bearer "), ".")
	if len(parts) != 3 {
		return ""
	}
	raw, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Sub string `json:"sub"`
	}
	_ = json.Unmarshal(raw, &claims)
	return claims.Sub
}

// where returns the answers that are wanted, in the order of arrival.
func (a *answers) where(wanted func(answer) bool) (found []answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.all {
		if wanted(one) {
			found = append(found, one)
		}
	}
	return found
}
