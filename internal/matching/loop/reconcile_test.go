package loop

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// A comparison finds what no change said: tickets that are gone, that are there, and that an older release changed.
// Pins workers that, without a profile in the universe, compared the whole queue each minute although they keep none of
// it, and tickets that waited unseen.
func TestTheQueueIsCompared(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	s := storetest.Open(t, url)
	sql, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(sql.Close)
	q := newQueue(Options{Store: s, Universe: "global", PlayerArg: "player", MaxCandidates: 100, Memory: 1 << 20},
		undecided{})
	q.beginComparing()
	require.NoError(t, q.comparePage(t.Context()))
	require.Empty(t, q.entryByID, "a queue that is not kept is not compared")

	var ids []string
	for range 3 {
		created, err := s.CreateTicket(t.Context(), "global",
			db.NewTicket{EncodeBody: func(id string, _ time.Time) []byte { return playable(len(id)) }})
		require.NoError(t, err)
		ids = append(ids, created.ID)
	}
	require.NoError(t, q.startFollowing(t.Context()))
	require.NoError(t, q.loadPage(t.Context()))
	require.True(t, q.isFullyRead)
	require.Len(t, q.entryByID, 3)
	for i, statement := range []string{"DELETE FROM tickets WHERE id = $1",
		"UPDATE tickets SET tx = '7', paused_at = now() WHERE id = $1"} {
		_, err := sql.Exec(t.Context(), statement, ids[i])
		require.NoError(t, err)
	}
	delete(q.entryByID, ids[2])
	q.beginComparing()
	q.comparison.beganAt = q.comparison.beganAt.Add(1) // undecided has one moment
	for !q.comparison.beganAt.IsZero() {
		require.NoError(t, q.comparePage(t.Context()))
	}
	require.Len(t, q.entryByID, 2)
	require.True(t, q.entryByID[ids[1]].isPaused)
	require.NotNil(t, q.entryByID[ids[2]])
	require.Zero(t, q.leftOut)

	q.removeTicket(ids[2])
	q.memoryLimit.maxTickets = 1 // beside the one that is there
	q.beginComparing()
	for !q.comparison.beganAt.IsZero() {
		require.NoError(t, q.comparePage(t.Context()))
	}
	require.Equal(t, 1, q.leftOut, "a ticket without a place is counted")
}
