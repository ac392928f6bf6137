package loop_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
)

// Pins a pause that nobody follows, that keeps other profiles from deciding, or that loses the tickets which came
// meanwhile.
func TestAPausedProfileMakesNoMatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	b.AddProfile("other", duel)
	edit := db.ProfileEdit{Universe: universe, Name: "duel", Reason: "the season ends"}
	change, err := b.PauseProfile(t.Context(), edit)
	require.NoError(t, err)
	require.True(t, change.Changed)
	b.worker()
	for _, sub := range []string{"ada", "bo"} {
		b.ticket(1000, party(sub), "duel")
	}
	for _, sub := range []string{"cy", "di"} { // they come later, and are matched
		b.ticket(1000, party(sub), "other")
	}
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM match_history WHERE profile = 'other'"))
	require.Equal(t, 2, b.Count("SELECT count(*) FROM tickets"))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM ops.profiles WHERE profile = 'duel' AND state = 'paused' AND pause_reason = 'the season ends' AND worker IS NOT NULL"))
	change, err = b.ResumeProfile(t.Context(), edit)
	require.NoError(t, err)
	require.True(t, change.Changed)
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	b.RequireInvariants()
}

// Pins a worker that owns a profile and does not follow its pause, or the end of it.
func TestAnOwnerFollowsThePause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.host("host-1", 100, "arena")
	b.AddProfile("duel", duel)
	followed := make(notices, 1)
	b.worker(func(o *loop.Options) { o.Log = slog.New(slog.NewTextHandler(followed, nil)) })
	pair := func(first, second string) {
		b.ticket(1000, party(first), "duel")
		b.ticket(1000, party(second), "duel")
	}
	pair("ada", "bo")
	b.Eventually(2, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 1, b.Count("SELECT ops.pause_profile($1, 'duel')::int", universe))
	require.Zero(t, b.Count("SELECT ops.pause_profile($1, 'duel')::int", universe))
	<-followed
	pair("cy", "di")
	b.AddProfile("after", duel) // decided by the same worker, after it has read the tickets before
	b.ticket(1000, party("eva"), "after")
	b.ticket(1000, party("fay"), "after")
	b.Eventually(4, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
	require.Equal(t, 1, b.Count("SELECT count(*) FROM match_history WHERE profile = 'after'"))
	require.Equal(t, 1, b.Count("SELECT ops.resume_profile($1, 'duel')::int", universe))
	b.Eventually(6, "SELECT count(*) FROM settled_tickets WHERE assignment IS NOT NULL")
}

// notices is a log that reports that a pause was followed.
type notices chan struct{}

func (n notices) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "the pause of a profile changed") {
		select {
		case n <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}
