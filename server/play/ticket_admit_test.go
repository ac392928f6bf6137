package play_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/play"
)

func parsed(t require.TestingT, documents ...string) known {
	all := known{}
	for _, document := range documents {
		p := must.Get(profile.Parse([]byte(document)))(t)
		all[p.Name] = p
	}
	return all
}

// Pins tickets that wait for ten minutes although director explain says at once that they can never match.
func TestTicketsThatCannotMatch(t *testing.T) {
	t.Parallel()
	e, _ := ticketEngine(t, parsed(t,
		"name: near\nteams: [{name: a, players: 1, count: 2}]\nrules:\n- latency: 60ms\n  widen: [{after: 10s, latency: 90ms}]\n",
		"name: skilled\nteams: [{name: a, players: 2, count: 2}]\nrules:\n- near: skill\n  within: 100\n  widen: [{after: 20s, within: 300}]\n",
		"name: roles\nteams: [{name: a, players: 2, count: 2, roles: {tank: 1, healer: 1}}]\n",
		"name: filled\nautofill: 60s\nteams: [{name: a, players: 2, count: 2, roles: {tank: 1, healer: 1}}]\n",
		"name: pooled\npool: {strings: {queue: ranked}}\nteams: [{name: a, players: 1, count: 2}]\n",
	))
	for body, want := range map[string]string{
		`{"profiles":["near"]}`:                                  "measured no latency",
		`{"profiles":["near"],"latencies":{"eu":200,"us":91}}`:   "within 90ms, the widest limit",
		`{"profiles":["skilled"]}`:                               "player alice has no value of attribute skill",
		`{"profiles":["skilled"],"attributes":{"skill":"1500"}}`: "player alice has no value of attribute skill",
		`{"profiles":["skilled"],"party":["alice","bo"],"attributes":{"skill":1},"players":{"bo":{"attributes":{"skill":400}}}}`: "its own party breaks rule",
		`{"profiles":["roles"],"attributes":{"role":"tnak"}}`:                                                                    "the roles are healer and tank",
		`{"profiles":["roles"],"party":["alice","bo"],"attributes":{"role":"tank"}}`:                                             "no team has places",
		`{"profiles":["pooled"]}`:                               "the pool's filter on string queue does not hold",
		`{"attributes":{"queue":"casual"}}`:                     "the pool's filter on string queue does not hold",
		`{"profiles":["near","skilled"],"latencies":{"eu":10}}`: `profile \"skilled\" can never match this ticket`,
	} {
		w := post(e, body)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %s", body, w.Body)
		var problem struct{ Code, Detail string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &problem))
		require.Equal(t, "cannot_match", problem.Code, body)
		require.Contains(t, w.Body.String(), want, body)
	}
	for _, body := range []string{
		`{"profiles":["near"],"latencies":{"eu":90,"us":500}}`,
		`{"profiles":["skilled"],"party":["alice","bo"],"attributes":{"skill":1},"players":{"bo":{"attributes":{"skill":301}}}}`,
		`{"profiles":["roles"],"attributes":{"role":["dps","tank"]}}`,
		`{"profiles":["roles"],"party":["alice","bo"],"attributes":{"role":["tank","healer"]}}`,
		`{"profiles":["filled"],"attributes":{"role":"dps"}}`,
		`{"profiles":["pooled"],"attributes":{"queue":"ranked"}}`, `{"attributes":{"queue":"ranked"}}`,
	} {
		require.Equal(t, http.StatusCreated, post(e, body).Code, body)
	}
}

// stale has profiles that were replaced since they were read.
type stale struct {
	known

	fresh known
	reads *int
}

func (s stale) Refresh(context.Context, time.Time) error {
	*s.reads++
	maps.Copy(s.known, s.fresh)
	return nil
}

// Nobody is refused because a replica has not read the version that an operator has just applied.
func TestARefusalIsJudgedOnFreshProfiles(t *testing.T) {
	t.Parallel()
	reads := 0
	narrow, wide := "name: duel\nteams: [{name: a, players: 1, count: 2}]\nrules: [{latency: 60ms}]\n", "name: duel\nteams: [{name: a, players: 1, count: 2}]\n"
	e, _ := ticketEngine(t, stale{parsed(t, narrow), parsed(t, wide), &reads})
	require.Equal(t, http.StatusCreated, post(e, `{"profiles":["duel"]}`).Code)
	require.Equal(t, 1, reads)
	require.Equal(t, http.StatusCreated, post(e, `{"profiles":["duel"]}`).Code)
	require.Equal(t, 1, reads, "a ticket that is not refused reads nothing")
	require.Equal(t, http.StatusNotFound, post(e, `{"profiles":["other"]}`).Code)
	require.Equal(t, 2, reads)
}

// oneProfile is a database with one profile, which counts the readings of the list.
type oneProfile struct {
	name, document string
	lists          int
}

func (o *oneProfile) ProfileOwners(context.Context, string) ([]db.ProfileOwner, error) {
	o.lists++
	return []db.ProfileOwner{{ProfileName: o.name, LiveVersion: 1}}, nil
}

func (o *oneProfile) Profile(context.Context, string, string, int) (db.ProfileVersion, error) {
	return db.ProfileVersion{Name: o.name, Version: 1, Document: "name: " + o.name + o.document}, nil
}

// A reading that began before a request came is not fresh for it; requests that came before a reading began share that
// one.
func TestRefreshReadsWhatIsOlderThanTheRequest(t *testing.T) {
	t.Parallel()
	stored := &oneProfile{name: "duel", document: "\nteams: [{name: a, players: 1, count: 2}]\n"}
	live := play.NewLiveProfiles(stored, "global")
	early := time.Now()
	_, err := live.LiveProfile(t.Context(), "duel")
	require.NoError(t, err)
	require.NoError(t, live.Refresh(t.Context(), early))
	require.Equal(t, 1, stored.lists)
	require.NoError(t, live.Refresh(t.Context(), time.Now()))
	require.Equal(t, 2, stored.lists)
}
