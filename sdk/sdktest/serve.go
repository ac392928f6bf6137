package sdktest

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/lattice-director/director/token"
)

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
