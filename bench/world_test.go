package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
)

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
			res := must.Get(Run(t.Context(), o))(t)
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

// requireMatches checks how many players a scenario of the director loop queued, and that its profiles do not stay.
func (d *fakeDirector) requireMatches(t *testing.T, r Result) {
	t.Helper()
	applied, retired, changes := 0, 0, int64(0)
	for path, calls := range d.calls {
		switch method, _, _ := strings.Cut(path, "/ops/profiles/"); method {
		case "PUT ":
			applied++
			changes += int64(calls)
		case "DELETE ":
			retired++
			changes += int64(calls)
		}
	}
	require.Equal(t, applied, retired)
	// one call a profile asks whether it is known
	queued, crowds := int64(d.calls["/tickets"]-applied), int64(applied)
	switch r.Scenario {
	case "match-queue":
		require.Equal(t, 200*crowds, queued)
		require.Equal(t, 3*crowds, changes, "a version without matches, one with matches, and none")
	case "match-servers":
		require.Equal(t, 200*crowds, queued)
		require.Equal(t, 2*crowds, changes)
	case "match-life":
		require.Equal(t, 2*r.Calls, queued)
	case "match-steady":
		require.Equal(t, 200+r.Calls, queued)
	case "match-idle":
		require.EqualValues(t, 200, queued)
		require.GreaterOrEqual(t, r.Latency.P50, 999.0)
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
			require.Equal(t, hotShare > 0 && at.mode == "bench-0", at.step == "matchmake, hot mode")
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
	res := must.Get(Run(t.Context(), o))(t)
	require.Equal(t, 3, res.Instances)
	for _, what := range []string{"/fleet/register 0 bench-0,bench-1", "/fleet/register 1 bench-0,bench-1",
		"/fleet/register 2 bench-0,bench-1", "/matchmake 2 bench-1"} {
		require.Positive(t, d.seen[what], what)
	}
	require.Len(t, res.Steps, 2)
	require.Equal(t, res.Calls, res.Steps[0].Calls+res.Steps[1].Calls)
}

// Pins game servers whose leases expire in a long run, and heartbeats of deregistered ones.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	w := worldOf(t, options(d, Find(Scenarios, "matchmake")))
	require.NoError(t, w.registerFleet(t.Context()))
	old := time.Now().Add(-maxHeartbeatAge - time.Second).UnixNano()
	w.fleet[0].lastHeartbeat.Store(old)
	w.fleet[1].lastHeartbeat.Store(0)

	stop := background.Run(t, w.keepAlive)
	require.Eventually(t, func() bool { return w.fleet[0].lastHeartbeat.Load() > old }, 10*time.Second, time.Millisecond)
	stop()
	require.Equal(t, 1, d.calls["/fleet/heartbeat"])
}

// Pins seats that are used after they expired, or twice, and tokens that are not made before the run.
func TestReservedSeatsAreUsedOnce(t *testing.T) {
	t.Parallel()
	d := startFakeDirector(t, nil)
	w := worldOf(t, options(d, Find(Scenarios, "resolve")))
	require.NoError(t, w.registerFleet(t.Context()))
	require.NoError(t, w.makeTokens(t.Context()))
	require.NoError(t, w.reserve(0, w.places.list[0]))
	w.reserved[0][0].reservedAt = time.Now().Add(-reservationTTL - time.Second)
	seen := map[string]bool{w.reserved[0][0].player.sub: true}
	c := (&run{job: w.job}).newCaller(0)
	for range 2 * partySize {
		s := must.Get(w.reservedSeat(c))(t)
		require.False(t, seen[s.player.sub])
		require.Equal(t, s.player.sub, s.player.token)
		seen[s.player.sub] = true
	}
	require.Equal(t, 3, d.calls["/matchmake"])
}

// Pins tickets that fail for as long as a replica does not know a new profile.
func TestProfilesAreAwaited(t *testing.T) {
	t.Parallel()
	asked := 0
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/tickets": func(w http.ResponseWriter, r *http.Request) {
		asked++
		if asked < 3 {
			says(http.StatusNotFound, `{"code":"profile_unknown"}`)(w, r)
			return
		}
		says(http.StatusBadRequest, `{"code":"invalid_request"}`)(w, r)
	}})
	w := worldOf(t, options(d, Find(LoopScenarios, "match-life")))
	require.NoError(t, w.applyDuels(t.Context()))
	require.Equal(t, []string{w.profile}, w.profiles)
	require.Equal(t, 3, asked)
}

// Pins players that wait in vain and count as assigned.
func TestTicketsThatEnd(t *testing.T) {
	t.Parallel()
	for answer, kind := range map[string]string{
		`{"state":"expired","version":2}`: "200 ticket is expired",
		`{"state":"queued","version":1}`:  "ticket stays queued",
	} {
		d := startFakeDirector(t, map[string]http.HandlerFunc{"GET /tickets/{id}": says(http.StatusOK, answer)})
		w := worldOf(t, options(d, Find(LoopScenarios, "match-life")))
		require.Equal(t, kind, KindOf(w.awaitTicket(ticket{d.server.URL, "one", "token"}, "assigned")))
	}
}
