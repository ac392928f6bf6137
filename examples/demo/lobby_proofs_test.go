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
	session, _ := h.writeSeat("ada", friendsServer, "left", 0, 9)
	for _, name := range friendNames[1:] {
		h.exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, connected_at, left_at, reason)
			SELECT region, session_id, $1, mode, party, $1, reserved_at, connected_at, left_at, reason FROM seat_history WHERE sub = 'ada'`, name)
	}
	h.friendsFacts = friendsFacts{
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

	h.friendsFacts.replicaCount = 1
	h.requireBroken(h.friendsMet(), "on 1 replicas")
	h.friendsFacts.replicaCount, h.friendsFacts.sameOrder = 2, false
	h.requireBroken(h.friendsMet(), "not all in the same order")
	h.friendsFacts.sameOrder, h.friendsFacts.lineCount = true, 7
	h.requireBroken(h.friendsMet(), "7 lines")

	h.friendsFacts.matchOver = false
	h.requireBroken(h.friendsPlayed(t.Context()), "does not know")
	h.friendsFacts.matchOver = true
	h.exec(`UPDATE seat_history SET connected_at = NULL WHERE sub = 'bo'`)
	h.requireBroken(h.friendsPlayed(t.Context()), "3 of 4")
	h.exec(`DELETE FROM seat_history WHERE sub = 'bo'`)
	h.requireBroken(h.friendsPlayed(t.Context()), "3 of 4")
	h.friendsFacts.sessionID = "local." + uuid.NewString()
	h.requireBroken(h.friendsPlayed(t.Context()), "0 of 4 friends were admitted on no server")

	h.friendsFacts.allResumed = false
	h.requireBroken(h.friendsStayed(), "no or other sessions")
	h.friendsFacts.allResumed, h.friendsFacts.sameState = true, false
	h.requireBroken(h.friendsStayed(), "not all friends see the same")
	h.friendsFacts.sameState, h.friendsFacts.movedPlayers = true, nil
	h.requireBroken(h.friendsStayed(), " were connected to it")
}
