package bench

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireMatches checks how many players a scenario of the director loop queued, and that its profiles do not stay.
func (d *fakeDirector) requireMatches(t *testing.T, r Result) {
	t.Helper()
	applied := map[string]bool{}
	for path := range d.calls {
		if name, ok := strings.CutPrefix(path, "/ops/profiles/"); ok {
			applied[name] = true
		}
	}
	retired := 0
	for what := range d.seen {
		if strings.HasPrefix(what, "retired ") {
			retired++
		}
	}
	require.Len(t, applied, retired)
	// one call a profile asks whether it is known
	queued, crowds := int64(d.calls["/tickets"]-len(applied)), int64(len(applied))
	switch r.Scenario {
	case "match-queue":
		require.Equal(t, 200*crowds, queued)
		require.EqualValues(t, 3*crowds, d.profileCalls(), "a version without matches, one with matches, and none")
	case "match-servers":
		require.Equal(t, 200*crowds, queued)
		require.EqualValues(t, 2*crowds, d.profileCalls())
	case "match-life":
		require.Equal(t, 2*r.Calls, queued)
	case "match-steady":
		require.Equal(t, 200+r.Calls, queued)
	case "match-idle":
		require.EqualValues(t, 200, queued)
		require.GreaterOrEqual(t, r.Latency.P50, 999.0)
	}
}

func (d *fakeDirector) profileCalls() (n int) {
	for path, calls := range d.calls {
		if strings.HasPrefix(path, "/ops/profiles/") {
			n += calls
		}
	}
	return n
}

// Pins tickets that fail for as long as a replica does not know a new profile.
func TestProfilesAreAwaited(t *testing.T) {
	t.Parallel()
	asked := 0
	d := startFakeDirector(t, map[string]http.HandlerFunc{"/tickets": func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(map[bool]int{true: http.StatusNotFound, false: http.StatusBadRequest}[asked < 3])
		fmt.Fprintf(w, `{"code":%q}`, map[bool]string{true: "profile_unknown", false: "invalid_request"}[asked < 3])
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
		d := startFakeDirector(t, map[string]http.HandlerFunc{"GET /tickets/{id}": func(w http.ResponseWriter,
			_ *http.Request) {
			fmt.Fprint(w, answer)
		}})
		w := worldOf(t, options(d, Find(LoopScenarios, "match-life")))
		err := w.awaitTicket(ticket{d.server.URL, "one", "token"}, "assigned")
		require.Equal(t, kind, KindOf(err))
	}
}
