package loop_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// A shadow decides about the same tickets and commits nothing: only its numbers show. They end with it.
func TestAShadowDecidesBesideTheLiveVersion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 1000, "arena")
	b.AddProfile("duel", duel)
	strict := []byte("name: duel\nmode: arena\nattributes: {skill: {type: number}}\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\nrules: [{near: skill, within: 20}]\n")
	edit := db.ProfileEdit{Universe: universe, Name: "duel", Author: "test"}
	_, err := b.ApplyShadow(t.Context(), edit, strict)
	require.NoError(t, err)
	pairs := 0
	queue := func() { // two who suit both, and two who suit the live version only
		for i, skill := range []float64{1000, 1010, 5000, 5090} {
			b.ticket(skill, party(fmt.Sprint("player-", pairs, "-", i)), "duel")
		}
		pairs++
	}
	queue() // before the worker begins, so that both find all four
	b.worker()
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.Eventually(2, "SELECT matches::int FROM ops.shadow_quality WHERE side = 'live' AND version = 1 AND measure = 'near-skill' AND p50 = 50 AND mean = 50")
	require.Equal(t, 2, b.Count("SELECT count(*) FROM match_history"))
	for range 5 {
		queue()
	}
	b.Eventually(24, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 12, b.Count("SELECT count(*) FROM match_history"))
	require.Equal(t, 12, b.Count("SELECT count(*) FROM sessions"))
	require.Zero(t, b.Count("SELECT count(*) FROM match_history WHERE version <> 1"))
	require.Zero(t, b.Count("SELECT count(*) FROM shadow_matches WHERE side = 'shadow' AND (measures->>'near-skill')::float8 > 20"))
	b.RequireInvariants()

	_, err = b.EndShadow(t.Context(), edit)
	require.NoError(t, err)
	b.Eventually(0, "SELECT count(*) FROM ops.shadow_quality")
}

// A shadow records at most a number of matches, the latest, and none once the profile has other versions.
func TestAComparisonIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", duel)
	_, err := b.ShadowProfile(t.Context(), db.ProfileEdit{Universe: universe, Name: "duel"}, 1)
	require.NoError(t, err)
	m := db.ShadowMatches{Profile: "duel", LiveVersion: 1, ShadowVersion: 1}
	for i := range 4000 {
		m.Sides, m.DecidedAt = append(m.Sides, "shadow"), append(m.DecidedAt, b.Now())
		m.Measures = append(m.Measures, fmt.Sprintf(`{"near-skill": %d}`, i))
	}
	for range 4 {
		require.NoError(t, b.RecordShadow(t.Context(), universe, m))
	}
	require.LessOrEqual(t, b.Count("SELECT count(*) FROM shadow_matches"), 14_000)
	require.Equal(t, 16_000, b.Count("SELECT max(n)::int FROM shadow_matches"))
	m.LiveVersion = 2
	require.NoError(t, b.RecordShadow(t.Context(), universe, m))
	require.Equal(t, 16_000, b.Count("SELECT max(n)::int FROM shadow_matches"))
}
