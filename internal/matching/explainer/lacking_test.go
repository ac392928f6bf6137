package explainer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a queue of tickets that can never match, of which nobody hears, and one whose tickets only have to wait and is
// called broken.
func TestSurveyCountsTicketsWithoutMatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("ranked", "teams: [{name: a, players: 8, count: 2}]\nrules: [{near: skill, within: 10}]\n")
	b.AddProfile("near", "teams: [{name: a, players: 8, count: 2}]\nrules: [{latency: 60ms}]\n")
	b.AddProfile("pooled", "pool: {strings: {playlist: fun}}\nteams: [{name: a, players: 8, count: 2}]\n")
	b.QueuePlayer("waits", 1, "ranked")
	b.QueuePlayer("one-of-two", 1, "near", "ranked")
	for i := range 3 {
		b.QueuePlayer(fmt.Sprint("far-", i), 1, "near")
	}
	b.QueuePlayer("unnamed", 1)
	b.QueuePlayer("misspelt", 1, "rankd")
	s, err := b.Survey(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, s.Tickets)
	require.Equal(t, 5, s.WithoutMatch())
	require.False(t, s.Partial)
	for i, want := range []explainer.Lacking{
		{Profile: "near", Why: "the ticket measured no latency, which rule latency needs", Tickets: 3},
		{Profile: "", Why: "it names no profile, and no pool of a profile admits it", Tickets: 1},
		{Profile: "rankd", Why: "there is no live profile of this name", Tickets: 1},
	} {
		got := s.Lacking[i]
		require.Positive(t, got.Oldest)
		require.GreaterOrEqual(t, s.Oldest, got.Oldest)
		got.Oldest = 0
		require.Equal(t, want, got)
	}

	bounded := explainer.New(explainer.Options{Store: b.Store, Universe: universe, MaxCandidates: 2})
	s, err = bounded.Survey(t.Context())
	require.NoError(t, err)
	require.True(t, s.Partial)
	require.Equal(t, 2, s.Tickets)
}

// Pins a ticket whose profile is live and is called unknown, because the installation has more profiles than a survey
// reads.
func TestSurveyKnowsTheNamesOfAllProfiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 201 {
		b.AddProfile(fmt.Sprintf("duel-%03d", i), storetest.Duel)
	}
	b.QueuePlayer("last", 1, "duel-200")
	b.QueuePlayer("unnamed", 1)
	b.QueuePlayer("misspelt", 1, "duel-201")
	s, err := b.Survey(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, s.Tickets)
	require.Len(t, s.Lacking, 1)
	require.Equal(t, "there is no live profile of this name", s.Lacking[0].Why)
	require.Equal(t, "duel-201", s.Lacking[0].Profile)
}
