package delivery

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a match.found that a session gets twice: news of a match overtake what the session was resumed with, from before
// the match.
func TestNewsThatOvertakeAResumeAreToldOnce(t *testing.T) {
	t.Parallel()
	c := &listener{Session: db.SessionEpoch{ID: "s-1", Epoch: 2}}
	s := newSession(c)
	match := db.RealtimeInvitation{LobbyUID: uuid.New(), RoomID: "x:match:1", RoomType: "x", MatchSize: 2,
		Participants: []string{"s-1", "s-2"}}
	news := db.RealtimeNews{SessionID: "s-1", Invitations: []db.RealtimeInvitation{match}}
	s.takeNews(news, 0)
	s.addInvitations(nil)
	s.takeNews(news, 0)
	require.Len(t, c.frames, 1)
	s.takeNews(db.RealtimeNews{SessionID: "s-1"}, 0) // it was declined
	s.takeNews(news, 0)
	require.Len(t, c.frames, 2)
}
