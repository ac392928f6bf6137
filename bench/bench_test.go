package bench

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // these close idle connections, and end when none is left
		goleak.IgnoreTopFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*Client).mCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"))
}

// fakeDirector accepts every call and counts calls.
type fakeDirector struct {
	server *httptest.Server

	mu    sync.Mutex
	calls map[string]int
	subs  map[string]int // calls of players, by method, path and token
	seen  map[string]int // bodies of matchmake and register, by region and modes
}

func startFakeDirector(t *testing.T, handlers map[string]http.HandlerFunc) *fakeDirector {
	t.Helper()
	d := &fakeDirector{calls: map[string]int{}, subs: map[string]int{}, seen: map[string]int{}}
	mux := http.NewServeMux()
	for path, handler := range d.defaults() {
		if other := handlers[path]; other != nil {
			handler = other
		}
		method := "POST "
		if strings.Contains(path, " ") {
			method = ""
		}
		mux.HandleFunc(method+path, func(w http.ResponseWriter, r *http.Request) { d.note(r); handler(w, r) })
	}
	d.server = httptest.NewServer(mux)
	t.Cleanup(d.server.Close)
	return d
}

func (d *fakeDirector) note(r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[r.URL.Path]++
	if who := r.Header.Get("Authorization"); who != "" {
		d.subs[r.Method+" "+r.URL.Path+" "+who]++
	}
}

func (d *fakeDirector) defaults() map[string]http.HandlerFunc {
	var endpoint atomic.Value
	jwt := "e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"jti":"the-token"}`)) + ".sig"
	return map[string]http.HandlerFunc{
		"/fleet/register": func(w http.ResponseWriter, r *http.Request) {
			var body registration
			_ = json.NewDecoder(r.Body).Decode(&body)
			endpoint.Store(body.Endpoint)
			d.saw("register", body.Region, body.Modes...)
			fmt.Fprintf(w, `{"instance_id":%q,"incarnation":"one"}`, body.ID)
		},
		"/fleet/heartbeat":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
		"/fleet/deregister": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"/fleet/seats": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"results":[{"result":"ok","status":200}]}`)
		},
		"/noop":       func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
		"/fleet/noop": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
		"/matchmake": func(w http.ResponseWriter, r *http.Request) {
			var body placeRequest
			_ = json.NewDecoder(r.Body).Decode(&body)
			d.saw("matchmake", body.Region, body.Mode)
			fmt.Fprintf(w, `{"session_id":"s","session_handle":"h","endpoint":%q}`, endpoint.Load())
		},
		"PUT /ops/profiles/{name}": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
		"DELETE /ops/profiles/{name}": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Content-Type") == "" {
				d.saw("retired", r.PathValue("name"))
			}
			fmt.Fprint(w, `{}`)
		},
		"/tickets": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, `{"ticket_id":%q,"state":"queued","version":1}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		},
		"/login-queue":      func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"state":"admitted"}`) },
		"GET /tickets/{id}": d.moveTicket(),
		"/resolve":          func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"session_token":%q}`, jwt) },
	}
}

// moveTicket answers polls of a ticket: matches wait for a game server before they are assigned.
func (d *fakeDirector) moveTicket() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("version") == "1" {
			fmt.Fprint(w, `{"state":"waiting_for_server","version":2}`)
			return
		}
		fmt.Fprint(w, `{"state":"assigned","version":3}`)
	}
}

// saw counts a body by the number of its region and by its modes.
func (d *fakeDirector) saw(what, region string, modes ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[what+" "+region[strings.LastIndex(region, "-")+1:]+" "+strings.Join(modes, ",")]++
}

func options(d *fakeDirector, scenario Scenario) Options {
	return Options{
		Scenario: scenario, URLs: []string{d.server.URL}, Load: Load{Callers: 4, Instances: 2, Tickets: 200},
		WarmUp: 20 * time.Millisecond, Duration: 100 * time.Millisecond,
		AccessToken: func(sub string) (string, error) { return sub, nil },
	}
}

// Pins calls that are lost or counted twice, a player who calls often enough to be rate-limited, and a fleet that is
// not deregistered.
func TestScenarios(t *testing.T) {
	t.Parallel()
	steps := map[string][]string{"match-life": {"create", "and assigned"},
		"session-life": {"matchmake", "resolve", "joined", "left"}}
	paths := map[string]string{
		"matchmake": "/matchmake", "resolve": "/resolve", "heartbeat": "/fleet/heartbeat", "session-life": "/matchmake",
		"noop": "/noop", "fleet-noop": "/fleet/noop", "login-queue": "/login-queue",
	}
	for _, scenario := range slices.Concat(Scenarios, LoopScenarios, NoOps) {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			d := startFakeDirector(t, nil)
			o := options(d, scenario)
			o.WarmUp, o.Duration, o.Load.Turns = 0, time.Hour, 8
			res, err := Run(t.Context(), o)
			require.NoError(t, err)
			require.EqualValues(t, 8, res.Calls)
			require.Empty(t, res.Errors)
			require.Zero(t, res.Failed)
			require.InDelta(t, float64(res.Calls)/res.Seconds, res.PerSecond, 0.01)
			var names []string
			for _, s := range res.Steps {
				names = append(names, s.Step)
			}
			require.ElementsMatch(t, steps[scenario.Name], names)
			if scenario.Name == "register" { // which leaves its game servers to their leases
				require.EqualValues(t, d.calls["/fleet/register"], res.Calls+2)
				return
			}
			require.Equal(t, d.calls["/fleet/register"], d.calls["/fleet/deregister"])
			if strings.HasPrefix(scenario.Name, "match-") {
				d.requireMatches(t, res)
				return
			}
			require.EqualValues(t, d.calls[paths[scenario.Name]], res.Calls)
			require.Equal(t, res.Instances, d.calls["/fleet/register"])
			if scenario.Name != "resolve" { // whose parties have a leader that also asks for the seats
				for who, n := range d.subs {
					require.Equal(t, 1, n, who)
				}
			}
		})
	}
}

// Pins regions or modes without players, and a hot mode with no more players than the others.
func TestPlaces(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for hotShare, want := range map[float64]float64{0: 0.25, 0.9: 0.9, 1: 1} {
		p := newPlaces("x", Load{Regions: 3, Modes: 4, HotShare: hotShare})
		drawn := map[string]float64{}
		for range 10_000 {
			at := p.draw(rng)
			drawn[at.region] += 0.0001
			drawn[at.mode] += 0.0001
			require.Equal(t, hotShare > 0 && at.mode == "bench-0", at.isHot)
			require.JSONEq(t, fmt.Sprintf(`{"region":%q,"mode":%q}`, at.region, at.mode), string(at.body))
		}
		require.InDelta(t, want, drawn["bench-0"], 0.02)
		require.InDelta(t, (1-want)/3, drawn["bench-3"], 0.02)
		require.InDelta(t, 1.0/3, drawn["bench-x-2"], 0.02)
	}
}

// Pins regions that have players and no game servers.
func TestFleetIsEverywhere(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	o := options(d, Find(Scenarios, "matchmake"))
	o.Load.Instances, o.Load.Regions, o.Load.Modes, o.Load.HotShare, o.Duration = 1, 3, 2, 0.5, time.Second
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, 3, res.Instances)
	for _, what := range []string{"register 0 bench-0,bench-1", "register 1 bench-0,bench-1",
		"register 2 bench-0,bench-1", "matchmake 2 bench-1"} {
		require.Positive(t, d.seen[what], what)
	}
	require.Len(t, res.Steps, 2)
	require.Equal(t, res.Calls, res.Steps[0].Calls+res.Steps[1].Calls)
}

// worldOf is the world of a run before its first call.
func worldOf(t *testing.T, o Options) *world {
	t.Helper()
	require.NoError(t, o.Check())
	job := &Job{Options: o, ID: "test"}
	t.Cleanup(func() { require.NoError(t, job.end(context.WithoutCancel(t.Context()))) })
	return newWorld(t.Context(), job, 1)
}

// Pins seats that are used after they expired, or twice, and tokens that are not made before the run.
func TestReservedSeatsAreUsedOnce(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	w := worldOf(t, options(d, Find(Scenarios, "resolve")))
	require.NoError(t, w.registerFleet(t.Context()))
	require.NoError(t, w.prepareTokens(t.Context(), 3*partySize))
	require.NoError(t, w.reserve(0, w.places.list[0]))
	w.reserved[0][0].reservedAt = time.Now().Add(-reservationTTL - time.Second)
	seen := map[string]bool{w.reserved[0][0].player.sub: true}
	c := (&run{job: w.job}).newCaller(0)
	for range 2 * partySize {
		s, err := w.reservedSeat(c)
		require.NoError(t, err)
		require.False(t, seen[s.player.sub])
		require.Equal(t, s.player.sub, s.player.token)
		seen[s.player.sub] = true
	}
	require.Equal(t, 3, d.calls["/matchmake"])
}

// Pins wrong percentiles: with failures among them, or in another unit.
func TestPercentiles(t *testing.T) {
	t.Parallel()
	s := newSeries()
	for ms := 1; ms <= 1000; ms++ {
		s.add(time.Duration(ms)*time.Millisecond, "")
	}
	s.add(time.Hour, "503 unavailable")
	f := s.figures(2 * time.Second)
	require.EqualValues(t, 1001, f.Calls)
	require.EqualValues(t, 1, f.Failed)
	require.InDelta(t, 500, f.PerSecond, 0)
	for want, got := range map[float64]float64{500: f.Latency.P50, 900: f.Latency.P90, 990: f.Latency.P99,
		999: f.Latency.P999, 1000: f.Latency.Max} {
		require.InEpsilon(t, want, got, 0.002)
	}
	s.add(time.Hour, "") // beyond the histogram's range
	f = s.figures(time.Second)
	require.InEpsilon(t, float64(maxLatency.Milliseconds()), f.Latency.Max, 0.002)
	require.InEpsilon(t, float64(maxLatency.Milliseconds()), f.FailedLatency.P50, 0.002)
}

// Pins a warm-up that is measured.
func TestWarmUpIsNotMeasured(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	o := options(d, Find(Scenarios, "matchmake"))
	o.WarmUp, o.Duration = 200*time.Millisecond, time.Nanosecond
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Greater(t, d.calls["/matchmake"], o.Load.Callers)
	require.LessOrEqual(t, res.Calls, int64(o.Load.Callers))
}

// Pins failures that count as answers, or that have no distinct kinds.
func TestFailuresAreCountedByKind(t *testing.T) {
	t.Parallel()
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if status == 429 {
				w.Header().Set("Retry-After", "1")
			}
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	for _, c := range []struct {
		path, kind string
		handler    http.HandlerFunc
	}{
		{"/matchmake", "429 rate_limited", answers(429, `{"code":"rate_limited"}`)},
		{"/matchmake", "503 unavailable without Retry-After", answers(503, `{"code":"unavailable","detail":"…"}`)},
		{"/matchmake", "502 Bad Gateway", answers(502, `<html>`)},
		{"/matchmake", "200 unreadable", answers(200, `<html>`)},
		{"/matchmake", "placed on an unknown game server", answers(200, `{"session_id":"s","session_handle":"h","endpoint":"elsewhere:1"}`)},
		{"/matchmake", "no answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"/resolve", "no token", answers(200, `{"session_token":"a.b"}`)},
		{"/fleet/seats", "410 seat_gone", answers(200, `{"results":[{"result":"seat_gone","status":410}]}`)},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			d := startFakeDirector(t, map[string]http.HandlerFunc{c.path: c.handler})
			o := options(d, Find(Scenarios, "session-life"))
			o.WarmUp = 0
			res, err := Run(t.Context(), o)
			require.NoError(t, err)
			require.Positive(t, res.Failed)
			require.Equal(t, res.Calls, res.Failed)
			require.Equal(t, map[string]int64{c.kind: res.Failed}, res.Errors)
			require.Zero(t, res.PerSecond)
			require.Zero(t, res.Latency)
			require.Positive(t, res.FailedLatency.Max)
		})
	}
}

// Pins a run that continues after Ctrl-C, waits for an answer that does not come, or does not deregister its game
// servers.
func TestCancelEndsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a closed connection only after it has read the body
		cancel()
		<-r.Context().Done()
	}
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/matchmake": hang})
	o := options(d, Find(Scenarios, "matchmake"))
	o.Duration = time.Hour
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, d.calls["/fleet/deregister"])
}
