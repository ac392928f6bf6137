package orchestrator

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

var everyRoute = [][2]string{
	{"GET", "/v1/stats"}, {"HEAD", "/v1/stats"}, {"GET", "/v1/instances"}, {"GET", "/v1/instances/a"},
	{"GET", "/v1/instances/a/rooms"},
	{"POST", "/v1/instances/a/drain"}, {"POST", "/v1/instances/a/undrain"}, {"GET", "/v1/rooms"},
	{"GET", "/v1/rooms/a"}, {"POST", "/v1/rooms"},
	{"DELETE", "/v1/rooms/a"}, {"GET", "/v1/events"}, {"HEAD", "/v1/events"},
}

// Callers get the same answer for every kind of wrong key.
func TestEveryRouteNeedsAnAdminKey(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"none": "", "wrong": "Bearer " + adminKey + "x", "an agent's": "Bearer " + gameKey,
		"other scheme": "Basic " + adminKey, "no scheme": adminKey, "empty": "Bearer ",
	} {
		b := newRig(t, duelFleet())
		for i, route := range everyRoute {
			r := httptest.NewRequest(route[0], route[1], nil)
			r.RemoteAddr = "192.0.2." + string(rune('1'+i/5)) + ":1"
			if header != "" {
				r.Header.Set("Authorization", header)
			}
			w := b.serve(r)
			require.Equal(t, 401, w.Code, "%s %v", name, route)
			rejected(t, w, 401, "UNAUTHORIZED")
		}
		require.Empty(t, b.commands)
		require.Empty(t, b.created)
		require.NotContains(t, b.log.String(), adminKey)
		require.NotContains(t, b.log.String(), gameKey)
		require.Equal(t, len(everyRoute), strings.Count(b.log.String(), "client=192.0.2."),
			"each failure is logged with its address")
		require.Contains(t, b.log.String(), "route=/v1/rooms/:id")
	}
}

func TestKeysInEitherCase(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	for _, header := range []string{"Bearer " + adminKey, "bearer   " + adminKey,
		"BEARER a-second-admin-key-of-32-chars-0", "beaRER  " + adminKey + " "} {
		require.Equal(t, 200, b.get("/v1/stats", "Authorization", header).Code, header)
	}
	require.Equal(t, 401, b.get("/v1/stats?key="+adminKey, "Authorization", "").Code)
}

// An address that fails too often gets 429 until it has a token again. Requests with a valid key from that address are
// always served.
func TestThrottle(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	from := func(address, key string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/v1/stats", nil)
		r.RemoteAddr = address + ":1"
		r.Header.Set("Authorization", "Bearer "+key)
		return b.serve(r)
	}
	for range 10 {
		rejected(t, from("192.0.2.7", "wrong"), 401, "UNAUTHORIZED")
	}
	for range 50 {
		rejected(t, from("192.0.2.7", "wrong"), 429, "AUTH_THROTTLED")
		require.Equal(t, 200, from("192.0.2.7", adminKey).Code)
	}
	rejected(t, from("192.0.2.8", "wrong"), 401, "UNAUTHORIZED")
	for range 20 {
		require.Equal(t, 200, b.get("/readyz", "Authorization", "").Code, "probes are not throttled")
	}
}

func TestThrottleGivesATokenBackEverySixSeconds(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet())
	synctest.Test(t, func(t *testing.T) {
		wrong := func() int { return b.get("/v1/stats", "Authorization", "Bearer wrong").Code }
		for range 10 {
			require.Equal(t, 401, wrong())
		}
		require.Equal(t, 429, wrong())
		<-time.After(5900 * time.Millisecond)
		require.Equal(t, 429, wrong())
		<-time.After(200 * time.Millisecond)
		require.Equal(t, 401, wrong())
		require.Equal(t, 429, wrong())
	})
}

func TestAudit(t *testing.T) {
	t.Parallel()
	f := duelFleet()
	f.answer.FinalState = db.CommandDone
	b := newRig(t, f, func(o *RESTOptions) { o.TrustedProxies = []string{"0.0.0.0/0", "::/0"} })
	b.create(`{"type":"match"}`, "X-Forwarded-For", "203.0.113.9, 10.0.0.1")
	b.create(`{`)
	b.call("DELETE", "/v1/rooms/lobby%20%231%0Aaudit?x=secret", "")
	b.call("POST", "/v1/instances/a/drain?keep=true", "")
	f.err = errAway
	b.call("POST", "/v1/instances/a/undrain", "")
	b.get("/v1/stats")
	b.get("/healthz")
	lines := regexp.MustCompile(`msg="(audit [^"]*)"`).FindAllStringSubmatch(b.log.String(), -1)
	by := rest.Fingerprint(adminKey)
	got := make([]string, len(lines))
	for i, line := range lines {
		got[i] = line[1]
	}
	require.Equal(t, []string{
		"audit route=POST /v1/rooms key=" + by + " ip=203.0.113.9 outcome=201",
		"audit route=POST /v1/rooms key=" + by + " ip=192.0.2.1 outcome=400",
		"audit route=DELETE /v1/rooms/lobby%20%231%0Aaudit key=" + by + " ip=192.0.2.1 outcome=200",
		"audit route=POST /v1/instances/a/drain key=" + by + " ip=192.0.2.1 outcome=200",
		"audit route=POST /v1/instances/a/undrain key=" + by + " ip=192.0.2.1 outcome=503",
	}, got)
	require.NotContains(t, b.log.String(), adminKey)
	require.NotContains(t, b.log.String(), "secret")
	require.NotContains(t, b.log.String(), "route=/v1/stats", "reads that succeed are not logged")
}

func TestForwardedForCountsFromTrustedProxies(t *testing.T) {
	t.Parallel()
	f := duelFleet()
	f.answer.FinalState = db.CommandDone
	b := newRig(t, f)
	b.call("DELETE", "/v1/rooms/a", "", "X-Forwarded-For", "203.0.113.9")
	require.Contains(t, b.log.String(), "ip=192.0.2.1 ")
	_, err := NewREST(RESTOptions{TrustedProxies: []string{"balancer"}})
	require.Error(t, err)
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	const page, other = "https://ops.example", "https://evil.example"
	preflight := []string{"Authorization", "", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,x-anything", "Origin"}
	off := newRig(t, duelFleet())
	w := off.get("/v1/stats", "Origin", page)
	require.Equal(t, 200, w.Code)
	require.Empty(t, w.Header()["Access-Control-Allow-Origin"])
	require.Empty(t, w.Header()["Vary"])
	rejected(t, off.call(http.MethodOptions, "/v1/rooms", "", append(preflight, page)...), 404, "NOT_FOUND")

	on := newRig(t, duelFleet(), func(o *RESTOptions) {
		o.CORSOrigins = []string{"https://Ops.example",
			"http://localhost:3000"}
	})
	for path, headers := range map[string][]string{"/v1/stats": nil, "/v1/nothing": nil, "/v1/rooms/x": nil,
		"/v1/instances": {"Authorization", ""}, "/v1/events": {"X", "y"}} {
		w = on.get(path, append(headers, "Origin", page)...)
		require.Equal(t, page, w.Header().Get("Access-Control-Allow-Origin"), path)
		require.Equal(t, []string{"Origin"}, w.Header()["Vary"])
		require.Empty(t, w.Header()["Access-Control-Allow-Credentials"])
	}
	w = on.get("/v1/stats", "Origin", other)
	require.Equal(t, 200, w.Code, "a browser hides the answer; others are served")
	require.Empty(t, w.Header()["Access-Control-Allow-Origin"])
	require.Equal(t, "Origin", w.Header().Get("Vary"))

	w = on.call(http.MethodOptions, "/v1/rooms", "", append(preflight, page)...)
	require.Equal(t, 204, w.Code)
	require.Equal(t, page, w.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "GET, HEAD, POST, DELETE", w.Header().Get("Access-Control-Allow-Methods"))
	require.Equal(t, "authorization,x-anything", w.Header().Get("Access-Control-Allow-Headers"))
	require.Empty(t, w.Body.String())
	w = on.call(http.MethodOptions, "/v1/rooms", "", append(preflight, other)...)
	require.Equal(t, 204, w.Code)
	require.Empty(t, w.Header()["Access-Control-Allow-Methods"])
	rejected(t, on.call(http.MethodOptions, "/v1/rooms", "", "Origin", page), 404, "NOT_FOUND")

	all := newRig(t, duelFleet(), func(o *RESTOptions) { o.CORSOrigins = []string{"*"} })
	w = all.get("/v1/stats", "Origin", other)
	require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"))
	require.Empty(t, w.Header()["Vary"])
	require.Equal(t, 204, all.call(http.MethodOptions, "/v1/events", "", append(preflight, other)...).Code)
}

// Calls beyond the limit are refused at once, in the usual error format. Probes are still answered.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	f := duelFleet()
	held := holding{fleet: f, entered: make(chan struct{}, maxCalls), leave: make(chan struct{})}
	b := newRig(t, f, func(o *RESTOptions) { o.Commander = held })
	var callers sync.WaitGroup
	for range maxCalls {
		callers.Go(func() { b.call("DELETE", "/v1/rooms/a", "") })
	}
	for range maxCalls {
		<-held.entered
	}
	rejected(t, b.get("/v1/stats"), 503, "NOT_READY")
	rejected(t, b.create(`{"type":"match"}`), 503, "NOT_READY")
	require.Equal(t, 200, b.get("/healthz").Code)
	close(held.leave)
	callers.Wait()
	require.Equal(t, 200, b.get("/v1/stats").Code)
}

func TestPanicsAreAnsweredInTheProtocol(t *testing.T) {
	t.Parallel()
	b := newRig(t, duelFleet(), func(o *RESTOptions) { o.Lookup = nil })
	rejected(t, b.get("/v1/rooms/a"), 500, "INTERNAL")
	require.Contains(t, b.log.String(), "msg=panic")

	b = newRig(t, duelFleet(), func(o *RESTOptions) { o.Commander = nil })
	rejected(t, b.call(http.MethodDelete, "/v1/rooms/a", ""), 500, "INTERNAL")
	require.Contains(t, b.log.String(), "audit route=DELETE /v1/rooms/a key="+rest.Fingerprint(adminKey)+
		" ip=192.0.2.1 outcome=500")
}
