package main

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// The proofs of the friends find a room that was not one, a friend without a seat or with another session, and a change
// that somebody missed.
func TestWhatTheLobbyMustNotDo(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	session, _ := h.seat("ada", friendsServer, "left", 0, 9)
	for _, name := range friendNames[1:] {
		h.exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, connected_at, left_at, reason)
			SELECT region, session_id, $1, mode, party, $1, reserved_at, connected_at, left_at, reason FROM seat_history WHERE sub = 'ada'`, name)
	}
	h.together = together{
		replicaCount: 2, lineCount: 8, sameOrder: true, seatedAfter: 300 * time.Millisecond,
		sessionID:    "local." + session.String(),
		movedPlayers: []string{"cleo", "dan"}, backAfter: 400 * time.Millisecond, allResumed: true, sameState: true,
		matchOver: true,
	}
	for _, p := range []proof{h.friendsMet(), h.friendsPlayed(t.Context()), h.friendsStayed()} {
		require.True(t, p.holds, "%s: %s", p.claim, p.evidenceText)
	}
	require.Equal(t, "4 of 4 friends were admitted on arena-friends with tokens from the room of their match, within 0.3 s; the room knows that the match is over",
		h.friendsPlayed(t.Context()).evidenceText)

	h.together.replicaCount = 1
	h.broken(h.friendsMet(), "on 1 replicas")
	h.together.replicaCount, h.together.sameOrder = 2, false
	h.broken(h.friendsMet(), "not all in the same order")
	h.together.sameOrder, h.together.lineCount = true, 7
	h.broken(h.friendsMet(), "7 lines")

	h.together.matchOver = false
	h.broken(h.friendsPlayed(t.Context()), "does not know")
	h.together.matchOver = true
	h.exec(`UPDATE seat_history SET connected_at = NULL WHERE sub = 'bo'`)
	h.broken(h.friendsPlayed(t.Context()), "3 of 4")
	h.exec(`DELETE FROM seat_history WHERE sub = 'bo'`)
	h.broken(h.friendsPlayed(t.Context()), "3 of 4")
	h.together.sessionID = "local." + uuid.NewString()
	h.broken(h.friendsPlayed(t.Context()), "0 of 4 friends were admitted on no server")

	h.together.allResumed = false
	h.broken(h.friendsStayed(), "no or other sessions")
	h.together.allResumed, h.together.sameState = true, false
	h.broken(h.friendsStayed(), "not all friends see the same")
	h.together.sameState, h.together.movedPlayers = true, nil
	h.broken(h.friendsStayed(), " were connected to it")
}
