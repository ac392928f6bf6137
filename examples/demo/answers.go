package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/sdk"
)

// answers is the players' HTTP transport. It records every seat that a replica acknowledges, before the player reads
// it.
type answers struct {
	transport *http.Transport

	playerLogin   devlogin.Issuer
	skillByPlayer map[string]float64 // as the login knows them

	mu            sync.Mutex
	inOrder       []answer             // in the order of arrival
	firstCalledAt map[string]time.Time // when a call was first made, by Idempotency-Key
	playerByToken map[string]string    // by the header Authorization
}

// answer is an answer of /matchmake or /resolve that gives a player a seat.
type answer struct {
	matchTicket sdk.Ticket // without a token in an answer of /matchmake

	playerName string
	replicaURL string // base URL of the replica that answered
	// firstCalledAt is when the first attempt began: a retry returns what the first attempt decided.
	firstCalledAt, answeredAt time.Time
}

func newAnswers(login devlogin.Issuer) *answers {
	// A connection for each bot: Go keeps only two idle ones by itself.
	transport := &http.Transport{MaxIdleConnsPerHost: botCount}
	return &answers{transport: transport, playerLogin: login, firstCalledAt: map[string]time.Time{},
		playerByToken: map[string]string{}}
}

// accessToken makes an access token of a player, whom RoundTrip finds by the token.
func (a *answers) accessToken(_ context.Context, player string) (string, error) {
	claims := devlogin.Claims{Subject: player}
	if skill, known := a.skillByPlayer[player]; known {
		claims.Game = map[string]float64{"skill": skill}
	}
	token, _, err := a.playerLogin.Mint(claims, 10*time.Minute) // when it has expired, the SDK asks for another one
	if err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.playerByToken["Bearer "+token] = player
	return token, nil
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	firstCalledAt := a.noteCall(req.Header.Get("Idempotency-Key"))
	resp, err := a.transport.RoundTrip(req)
	// Only an acknowledged seat is a promise.
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return nil, err // an incomplete answer acknowledges nothing
	}
	// For the SDK, which reads the body after this.
	resp.Body = io.NopCloser(bytes.NewReader(body))
	a.addAnswer(req, firstCalledAt, body)
	return resp, nil
}

// noteCall returns when a call with this key was first made, which is now if there was none before.
func (a *answers) noteCall(key string) time.Time {
	now := time.Now()
	// A call without a key is a new one each time.
	if key == "" {
		return now
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if first, isRetry := a.firstCalledAt[key]; isRetry {
		return first
	}
	a.firstCalledAt[key] = now
	return now
}

// addAnswer records an answer that has a seat in it. The seat is the caller's: each other member of a party calls
// /resolve itself.
func (a *answers) addAnswer(req *http.Request, firstCalledAt time.Time, body []byte) {
	one := answer{replicaURL: "http://" + req.URL.Host, firstCalledAt: firstCalledAt, answeredAt: time.Now()}
	if json.Unmarshal(body, &one.matchTicket) != nil || one.matchTicket.SessionID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	one.playerName = a.playerByToken[req.Header.Get("Authorization")]
	a.inOrder = append(a.inOrder, one)
}

// findWhere returns the answers for which wanted returns true, in the order of arrival.
func (a *answers) findWhere(wanted func(answer) bool) (found []answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.inOrder {
		if wanted(one) {
			found = append(found, one)
		}
	}
	return found
}
