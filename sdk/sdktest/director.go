// Package sdktest is a director in memory. It lets tests of game servers and of players' programs run without a
// database and without a network.
//
// It follows the contract of api/openapi.yaml for the routes that package sdk calls, one request at a time. It has no
// limits, no replicas and no persistence, and nothing expires in it unless a test calls [Director.Expire],
// [Director.CloseSession] or [Director.Reap]. It matches no tickets unless a test calls [Director.Match].
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
	// FleetToken is required with every fleet call; empty requires none.
	FleetToken string
	// Enrolment is the token of an enrolment, which is accepted beside FleetToken: a server that registers with it gets a
	// credential, which its other calls have to have. Empty: there is no enrolment.
	Enrolment string
	// Access returns the player of an access token. Nil uses the token itself as the player's name.
	Access func(accessToken string) (sub string, err error)
	// TokenTTL is the lifetime of session tokens. Default 2 minutes.
	TokenTTL time.Duration
	// MaxPlayers is the size of a session when the request gives none. Default 8.
	MaxPlayers int
}

// Director is an http.Handler that answers like a director. Safe for concurrent use.
type Director struct {
	opts Options
	ring *token.Ring
	mux  *http.ServeMux

	mu               sync.Mutex
	instances        map[string]*instance
	endedDeployments map[string]bool         // deployments that have ended, by id
	credentials      map[string]string       // ids of instances, by the secret that they got by the enrolment
	latest           map[string]*instance    // by id, the last one that registered, whether or not it still exists
	sessions         []*session              // in the order they were opened
	redeemed         map[string]redemption   // by jti
	answers          map[string]storedAnswer // by caller and Idempotency-Key
	tickets          map[string]*ticket      // by id
	changed          chan struct{}           // closed when a ticket or a session may have changed
}

// New returns a director without instances, with its own signing key.
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
		opts: opts, ring: ring, mux: http.NewServeMux(), instances: map[string]*instance{},
		latest: map[string]*instance{}, endedDeployments: map[string]bool{}, credentials: map[string]string{},
		redeemed: map[string]redemption{}, answers: map[string]storedAnswer{}, tickets: map[string]*ticket{},
		changed: make(chan struct{}),
	}
	d.addRoutes()
	return d, nil
}

func newRing() (*token.Ring, error) {
	kek := make([]byte, token.KEKBytes)
	_, _ = rand.Read(kek) // Documented never to fail.
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
	key := token.Key{Material: material, PublishAt: now.Add(-long), SignFrom: now.Add(-long), SignUntil: now.Add(long),
		VerifyUntil: now.Add(long)}
	return token.NewRing([]token.Key{key}, sealer, now, long)
}

func (d *Director) addRoutes() {
	d.mux.HandleFunc("POST /fleet/register", d.fleetHandler(d.registerInstance))
	d.mux.HandleFunc("POST /fleet/heartbeat", d.fleetHandler(d.takeHeartbeat))
	d.mux.HandleFunc("POST /fleet/deregister", d.fleetHandler(d.deregisterInstance))
	d.mux.HandleFunc("POST /fleet/drain", d.fleetHandler(d.drainInstance))
	d.mux.HandleFunc("POST /fleet/seats", d.fleetHandler(d.reportSeats))
	d.mux.HandleFunc("GET /fleet/sessions", d.fleetHandler(d.readRosters))
	d.mux.HandleFunc("POST /matchmake", d.playerHandler(d.matchmakePlayer))
	d.mux.HandleFunc("POST /resolve", d.playerHandler(d.resolveSeat))
	d.mux.HandleFunc("GET /sessions/{id}", d.playerHandler(d.readSession))
	d.mux.HandleFunc("GET /.well-known/jwks.json", d.serveJWKS)
	d.ticketRoutes()
}

// ServeHTTP implements http.Handler, for httptest.NewServer.
func (d *Director) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Request-ID", rand.Text())
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mux.ServeHTTP(w, r)
	if r.Method != http.MethodGet {
		d.wakeWaiting()
	}
}

// wakeWaiting makes waiting calls check again.
func (d *Director) wakeWaiting() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// Transport returns a RoundTripper that calls the director without a network, whatever the URL's host. Unlike a socket
// it works in a bubble of testing/synctest.
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

// Sign returns a session token with any claims, for tests of tokens that a game server must refuse.
func (d *Director) Sign(c token.SessionClaims) (string, error) { return d.ring.Sign(time.Now(), c) }

func (d *Director) serveJWKS(w http.ResponseWriter, r *http.Request) {
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
