package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/must"
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
		Rotate: func(context.Context, db.Act) ([]db.SigningKey, error) { return nil, nil },
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
		h.Set("Cookie", b.cookie(l))
	case strings.HasPrefix(path, "/ops"):
		h.Set("Authorization", "Bearer "+opsToken)
	case l.Name == "api":
		h.Set("X-Fleet-Token", fleetToken)
		h.Set("Authorization", "Bearer "+b.issuer.Token(fields{"sub": "alice"}))
	}
	return h
}

// cookie returns the cookie of a login that all requests share.
func (b *bundle) cookie(l server.Listener) string {
	if b.cookies == "" {
		b.cookies = b.login(l)
	}
	return b.cookies
}

// login logs in at the console, and returns the cookie.
func (b *bundle) login(l server.Listener) string {
	b.t.Helper()
	jar := must.Get(cookiejar.New(nil))(b.t)
	client := &http.Client{Jar: jar, Transport: b.plainTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	to := &url.URL{Scheme: "http", Host: l.Addr.String(), Path: "/login"}
	res, err := client.PostForm(to.String(), url.Values{"token": {opsToken}})
	require.NoError(b.t, err)
	text := must.Get(io.ReadAll(res.Body))(b.t)
	require.NoError(b.t, res.Body.Close())
	require.Equal(b.t, http.StatusSeeOther, res.StatusCode, "%s", text)
	cookie := jar.Cookies(to)[0]
	return cookie.Name + "=" + cookie.Value
}

// plainTransport makes a transport that validates nothing.
func (b *bundle) plainTransport() *http.Transport {
	wire := http.DefaultTransport.(*http.Transport).Clone()
	b.t.Cleanup(wire.CloseIdleConnections)
	return wire
}

var pathParameter = regexp.MustCompile(`[:*]\w+`)

// somePath fills in the parameters of a route.
func somePath(pattern, value string) string { return pathParameter.ReplaceAllString(pattern, value) }
