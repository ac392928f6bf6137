// Package sdktest is a director in memory, for tests of game servers and of players' programs that should need neither
// a database nor a network.
//
// It keeps the contract of api/openapi.yaml as far as one caller at a time can see it, and nothing of what makes a
// director: no leases that run out by themselves, no limits, no replicas, no memory of its own. A test says when
// something bad happens: [Director.Expire], [Director.CloseSession], [Director.Reap].
package sdktest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/lattice-director/director/token"
)

// Options tune a [Director]; the zero value is usable.
type Options struct {
	// FleetToken must come with every fleet call; empty asks for none.
	FleetToken string
	// Access tells whose access token that is. Nil takes the token itself as the player's name.
	Access func(accessToken string) (sub string, err error)
	// TokenTTL is the life of session tokens. Default 2 minutes.
	TokenTTL time.Duration
	// MaxPlayers is the size of sessions for which none is asked. Default 8.
	MaxPlayers int
}

// Director answers as a director would. Safe for concurrent use.
type Director struct {
	opts Options
	ring *token.Ring
	mux  *http.ServeMux

	mu        sync.Mutex
	instances map[string]*instance
	latest    map[string]*instance // the last registered of each id, alive or not
	sessions  []*session           // in the order they were opened
	redeemed  map[string]redemption
	answers   map[string]storedAnswer // by caller and Idempotency-Key
}

// New makes a director without instances, and with a signing key of its own.
func New(opts Options) (*Director, error) {
	if opts.Access == nil {
		opts.Access = func(raw string) (string, error) { return raw, nil }
	}
	if opts.TokenTTL == 0 {
		opts.TokenTTL = 2 * time.Minute
	}
	if opts.MaxPlayers == 0 {
		opts.MaxPlayers = 8
	}
	ring, err := newRing()
	if err != nil {
		return nil, err
	}
	d := &Director{
		opts: opts, ring: ring, mux: http.NewServeMux(), instances: map[string]*instance{}, latest: map[string]*instance{},
		redeemed: map[string]redemption{}, answers: map[string]storedAnswer{},
	}
	d.routes()
	return d, nil
}

func newRing() (*token.Ring, error) {
	kek := make([]byte, token.KEKBytes)
	_, _ = rand.Read(kek) // Never fails, by its documentation.
	sealer, err := token.NewSealer(kek)
	if err != nil {
		return nil, err
	}
	material, err := sealer.Mint(token.AlgEdDSA)
	if err != nil {
		return nil, err
	}
	const long = 1000 * time.Hour
	now := time.Now()
	key := token.Key{Material: material, PublishAt: now.Add(-long), SignFrom: now.Add(-long), SignUntil: now.Add(long), VerifyUntil: now.Add(long)}
	return token.NewRing([]token.Key{key}, sealer, now, long)
}

func (d *Director) routes() {
	d.mux.HandleFunc("POST /fleet/register", d.fleet(d.register))
	d.mux.HandleFunc("POST /fleet/heartbeat", d.fleet(d.heartbeat))
	d.mux.HandleFunc("POST /fleet/deregister", d.fleet(d.deregister))
	d.mux.HandleFunc("POST /fleet/drain", d.fleet(d.drain))
	d.mux.HandleFunc("POST /fleet/seats", d.fleet(d.seats))
	d.mux.HandleFunc("POST /matchmake", d.player(d.matchmake))
	d.mux.HandleFunc("POST /resolve", d.player(d.resolve))
	d.mux.HandleFunc("GET /sessions/{id}", d.player(d.session))
	d.mux.HandleFunc("GET /.well-known/jwks.json", d.jwks)
}

// ServeHTTP implements http.Handler, for httptest.NewServer.
func (d *Director) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-ID", rand.Text())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mux.ServeHTTP(w, r)
}

// Transport reaches the director without a network, under any host name. Unlike a socket it may be used in a bubble of
// testing/synctest.
func (d *Director) Transport() http.RoundTripper { return transport{d} }

type transport struct{ director *Director }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	served := req.Clone(req.Context())
	if served.Body == nil {
		served.Body = http.NoBody
	}
	defer served.Body.Close()
	recorder := httptest.NewRecorder()
	t.director.ServeHTTP(recorder, served)
	resp := recorder.Result()
	resp.Request = req
	return resp, nil
}

// Sign makes a session token, for tests of what a game server must refuse.
func (d *Director) Sign(c token.SessionClaims) (string, error) { return d.ring.Sign(time.Now(), c) }

func (d *Director) jwks(w http.ResponseWriter, r *http.Request) {
	document, etag := d.ring.JWKS(time.Now())
	w.Header().Set("Cache-Control", "public, max-age=300")
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document)
}

// refusal is an answer that says no.
type refusal struct {
	status       int
	code, detail string
	incarnation  string // for instance_taken
}

func refuse(status int, code, detail string, args ...any) *refusal {
	return &refusal{status: status, code: code, detail: fmt.Sprintf(detail, args...)}
}

func (no *refusal) write(w http.ResponseWriter) {
	if no.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	problem := map[string]any{
		"type": "/docs#" + no.code, "title": http.StatusText(no.status), "status": no.status,
		"detail": no.detail, "code": no.code, "request_id": w.Header().Get("X-Request-ID"),
	}
	if no.incarnation != "" {
		problem["incarnation"] = no.incarnation
	}
	writeJSON(w, no.status, "application/problem+json", problem)
}

func writeJSON(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func read(r *http.Request, into any) *refusal {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "invalid_json", "%v", err)
	}
	return nil
}
