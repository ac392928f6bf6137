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
	skillByPlayer map[string]float64 // by player, as the login knows them

	mu            sync.Mutex
	inOrder       []answer             // in the order of arrival
	firstCalledAt map[string]time.Time // when a call was first made, by Idempotency-Key
	playerByToken map[string]string    // by access token
}

// answer is an answer of /matchmake or /resolve that gives a player a seat.
type answer struct {
	matchTicket sdk.Ticket // without a token in an answer of /matchmake

	playerName, replicaURL string // replica as its base URL
	// firstCalledAt is that of the first attempt: a retry returns what the first attempt decided.
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
	token, _, err := a.playerLogin.Mint(claims, 10*time.Minute)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.playerByToken["Bearer "+token] = player
	return token, err
}

// RoundTrip implements http.RoundTripper.
func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := a.firstAsked(req.Header.Get("Idempotency-Key"))
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
	a.addAnswer(req, asked, body)
	return resp, nil
}

func (a *answers) firstAsked(key string) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	first, ok := a.firstCalledAt[key]
	// A call without a key is a new one each time.
	if key == "" || !ok {
		first = time.Now()
		a.firstCalledAt[key] = first
	}
	return first
}

// addAnswer records an answer that has a seat in it. It is the caller's seat; each other member of a party calls
// /resolve itself.
func (a *answers) addAnswer(req *http.Request, asked time.Time, body []byte) {
	one := answer{replicaURL: "http://" + req.URL.Host, firstCalledAt: asked, answeredAt: time.Now()}
	if json.Unmarshal(body, &one.matchTicket) != nil || one.matchTicket.SessionID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	one.playerName = a.playerByToken[req.Header.Get("Authorization")]
	a.inOrder = append(a.inOrder, one)
}

// findWhere returns the answers that are wanted, in the order of arrival.
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
