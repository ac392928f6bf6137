package server_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/console"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/orchestrator"
	"github.com/lattice-director/director/server/projects"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

const (
	masterSecret  = "a-master-secret-for-tests-0123456789"
	controlSecret = "an-internal-token-for-tests-0123456789"
	noPort        = "127.0.0.1:0"
)

// everyFace serves everything that a replica can serve, with no limits for what one address may do.
func everyFace(c *config) {
	sealer := keytest.Sealer(c.t, 7)
	c.CallerRate, c.FailureRate = rest.Rate{PerSecond: -1}, rest.Rate{PerSecond: -1}
	c.MetricsAddr = noPort
	c.OpenMatch = &openmatch.Options{Addrs: []string{noPort}}
	c.Bevygap = &bevygap.Options{AllowsGuests: true, PerAddress: 10_000}
	c.NATS = &nats.Options{Addr: noPort}
	c.Orchestrator = &server.Orchestrator{
		Options: orchestrator.Options{AgentKeys: []string{rivalisKey}, Addr: noPort}, AdminKeys: []string{rivalisAdmin},
		MaxStreams: 1000,
	}
	c.Realtime = &realtime.Options{Addr: noPort, AuthMode: realtime.AuthOptional, MasterSecret: masterSecret}
	c.Projects = &server.Projects{
		Addr: noPort, Options: projects.Options{Tokens: []string{controlSecret},
			Secrets: token.ProjectSecrets{Master: masterSecret, Sealer: sealer}},
	}
	c.Console = &server.Console{Addr: noPort, Options: console.Options{
		Doctor: doctor.Doctor{}, Cookies: sealer.Cookies(), Tokens: []string{"ada=" + opsToken}, MaxStreams: 1000,
		Rotate: func(context.Context, db.Act, string) ([]db.SigningKey, error) { return nil, nil },
	}}
}

// credentials returns the headers that open every route of a listener.
func (b *bundle) credentials(l server.Listener, path string) http.Header {
	b.t.Helper()
	h := http.Header{}
	switch {
	case l.Name == "orchestrator":
		h.Set("Authorization", "Bearer "+rivalisAdmin)
	case l.Name == "control":
		h.Set("X-Nexis-Internal-Token", controlSecret)
	case l.Name == "console":
		if b.cookie == "" {
			b.cookie, b.csrf = b.login(l, opsToken)
		}
		h.Set("Cookie", b.cookie)
	case strings.HasPrefix(path, "/ops"):
		h.Set("Authorization", "Bearer "+opsToken)
	case l.Name == "api":
		h.Set("X-Fleet-Token", fleetToken)
		h.Set("Authorization", "Bearer "+b.issuer.Token(fields{"sub": "alice"}))
	}
	return h
}

// login logs in at the console, and returns the cookie, and the text that all forms of the login need.
func (b *bundle) login(l server.Listener, secret string) (cookie, csrf string) {
	b.t.Helper()
	client, url := b.plainClient(), "http://"+l.Addr.String()
	in := webtest.Send(b.t, client, webtest.Request(b.t, http.MethodPost, url+"/login", "token="+secret,
		"Content-Type", "application/x-www-form-urlencoded"))
	require.Equal(b.t, http.StatusSeeOther, in.Status, in.Body)
	cookie, _, _ = strings.Cut(in.Header.Get("Set-Cookie"), ";")
	page := webtest.Send(b.t, client, webtest.Request(b.t, http.MethodGet, url+"/keys", nil, "Cookie", cookie))
	return cookie, csrfField.FindStringSubmatch(page.Body)[1]
}

var csrfField = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

// plainClient makes a client that validates nothing, and follows no redirect.
func (b *bundle) plainClient() *http.Client {
	wire := http.DefaultTransport.(*http.Transport).Clone()
	b.t.Cleanup(wire.CloseIdleConnections)
	return &http.Client{Transport: wire,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

var pathParameter = regexp.MustCompile(`[:*]\w+`)

// somePath fills in the parameters of a route.
func somePath(pattern, value string) string { return pathParameter.ReplaceAllString(pattern, value) }
