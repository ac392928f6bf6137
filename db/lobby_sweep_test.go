package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// sweep closes empty rooms and returns how many it saw and closed.
func (l *lobbies) sweep() [2]int {
	l.t.Helper()
	seen, closed, err := l.CloseEmptyLobbies(l.t.Context(), "eu", 100)
	require.NoError(l.t, err)
	return [2]int{seen, closed}
}

// due makes a room that a session has left, and whose grace is over.
func (l *lobbies) due(session, room string) db.LobbyAnswer {
	l.t.Helper()
	made := l.act(l.Store, l.joining(session, room, "chat"))
	l.act(l.Store, l.leaving(session, room))
	l.Exec("UPDATE lobbies SET closes_at = closes_at - interval '1 hour' WHERE uid = $1", made.LobbyUID)
	return made
}

// Pins a room that closes under a member that has just joined.
func TestARoomStaysOpenForAMemberThatJoinsMeanwhile(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	room := l.due("a", "chat:1")
	release := l.Hold("SELECT FROM lobbies WHERE uid = $1 FOR UPDATE", room.LobbyUID)
	joined := l.begin(l.joining("b", "chat:1", "chat"))
	l.AwaitBlocked(1)
	require.Equal(t, [2]int{}, l.sweep(), "the room is locked")
	release()
	b := <-joined
	require.NoError(t, b.err)
	require.Equal(t, room.LobbyUID, b.LobbyUID)
	require.Equal(t, [2]int{}, l.sweep())
	require.Len(t, l.snapshot(room.LobbyUID).Snapshot.Members, 1)
	l.RequireInvariants()
}

// Pins a member of a room that was deleted while the join waited for its lock.
func TestASessionThatJoinsARoomWhileItClosesMakesItAnew(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	room := l.due("a", "chat:1")
	closing, err := l.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = closing.Exec(t.Context(), "DELETE FROM lobbies WHERE uid = $1", room.LobbyUID)
	require.NoError(t, err)
	joined := l.begin(l.joining("b", "chat:1", "chat"))
	l.AwaitBlocked(1)
	require.NoError(t, closing.Commit(t.Context()))
	b := <-joined
	require.NoError(t, b.err)
	require.NotEqual(t, room.LobbyUID, b.LobbyUID)
	require.Len(t, l.snapshot(b.LobbyUID).Snapshot.Members, 1)
	l.RequireInvariants()
}

// Pins an invitation to a room that has closed: the member that invited left in the same transaction.
func TestARoomStaysOpenForAnInvitation(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	room := l.due("a", "chat:1")
	l.Exec(`INSERT INTO lobby_members (region, lobby, session, player, state, expires_at) VALUES ('eu', $1, 'b', 'b', 'invited', now() + interval '5 minutes')`, room.LobbyUID)
	require.Equal(t, [2]int{1, 0}, l.sweep())
	require.Equal(t, [2]int{}, l.sweep(), "it no longer has a time to close")
	l.Exec("UPDATE lobby_members SET expires_at = now() - interval '1 second'")
	n, err := l.DropExpiredInvitations(t.Context(), "eu", 100)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, [2]int{}, l.sweep(), "it has its grace again")
	l.Exec("UPDATE lobbies SET closes_at = closes_at - interval '1 hour'")
	require.Equal(t, [2]int{1, 1}, l.sweep())
	require.Empty(t, l.Rows("SELECT 1 FROM lobby_members"))
	l.RequireInvariants()
}
