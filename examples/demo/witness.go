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

// witness notes what the replicas told the players, at the last moment before the players hear it: every seat that was
// acknowledged, and by which replica.
type witness struct {
	next *http.Transport

	mu      sync.Mutex
	told    []testimony
	asked   map[string]time.Time // when a call was first made that bears an Idempotency-Key
	tickets map[string]ticket    // the newest, by player
	answers map[string]int       // calls answered well, by replica
}

// testimony is one answer that told a player of a seat.
type testimony struct {
	session, player string
	replica         string    // host:port
	asked, at       time.Time // a call that is repeated is answered with what was decided at the first attempt
}

// ticket is what a player was given to show to a game server.
type ticket struct {
	Session  string `json:"session_id"`
	Endpoint string `json:"endpoint"`
	Token    string `json:"session_token"`

	at time.Time
}

func newWitness() *witness {
	next := http.DefaultTransport.(*http.Transport).Clone()
	next.MaxIdleConnsPerHost = 64 // Sixty players in one process are sixty callers.
	return &witness{next: next, asked: map[string]time.Time{}, tickets: map[string]ticket{}, answers: map[string]int{}}
}

// RoundTrip implements http.RoundTripper.
func (w *witness) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := w.firstAsked(req.Header.Get("Idempotency-Key"))
	resp, err := w.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err // Half an answer acknowledges nothing.
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	w.note(req, asked, body)
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections through.
func (w *witness) CloseIdleConnections() { w.next.CloseIdleConnections() }

func (w *witness) firstAsked(key string) time.Time {
	now := time.Now()
	if key == "" {
		return now
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if first, ok := w.asked[key]; ok {
		return first
	}
	w.asked[key] = now
	return now
}

// note takes down answers to /matchmake and /resolve. Both tell the caller of a seat of its own; of the others of a party
// the first says nothing certain, and each of them asks the second.
func (w *witness) note(req *http.Request, asked time.Time, body []byte) {
	var told ticket
	if json.Unmarshal(body, &told) != nil || told.Session == "" {
		return
	}
	player := subject(req.Header.Get("Authorization"))
	told.at = time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, testimony{told.Session, player, req.URL.Host, asked, told.at})
	w.answers[req.URL.Host]++
	if told.Token != "" {
		w.tickets[player] = told
	}
}

// subject reads whose access token that is. Nothing needs to be verified: the players are ours.
func subject(authorization string) string {
	parts := strings.Split(strings.TrimPrefix(authorization, "Bearer "), ".")
	if len(parts) != 3 {
		return ""
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var claims struct {
		Sub string `json:"sub"`
	}
	_ = json.Unmarshal(raw, &claims) // Without a subject the seat is missed, and the proof says so.
	return claims.Sub
}

// ticketOf is the newest ticket of a player.
func (w *witness) ticketOf(player string) (ticket, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tickets[player]
	return t, ok
}

// answered is how many calls a replica has answered well.
func (w *witness) answered(replica string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answers[replica]
}

// testimonies are the answers that told of seats, and are wanted.
func (w *witness) testimonies(wanted func(testimony) bool) (found []testimony) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range w.told {
		if wanted(t) {
			found = append(found, t)
		}
	}
	return found
}
