package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

// Pins two rooms of one id, and a joiner that gets the unique violation of the other's transaction.
func TestTwoReplicasMakeOneRoom(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	stores := []*db.Store{l.Store, l.Replica(), l.Replica()}
	for i := range 30 {
		l.session(fmt.Sprint("s", i))
	}
	answers := make([]db.LobbyAnswer, 30)
	var race errgroup.Group
	for i := range answers {
		race.Go(func() (err error) {
			answers[i], err = stores[i%3].ActInLobby(t.Context(),
				l.joining(fmt.Sprint("s", i), "r", "counter_plugin_room"))
			return err
		})
	}
	require.NoError(t, race.Wait())
	room := l.snapshot(answers[0].LobbyUID)
	require.Len(t, room.Snapshot.Members, 30)
	for i, m := range room.Snapshot.Members {
		require.Equal(t, int64(i+1), m.JoinOrder)
	}
	for _, a := range answers {
		require.Equal(t, room.LobbyUID, a.LobbyUID)
	}
}

// If another transaction makes the room between the snapshot and the insert, the action runs again on that room.
func TestARoomThatIsMadeMeanwhile(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a")
	tx, err := l.Pool().Begin(t.Context())
	require.NoError(t, err)
	uid := uuid.New()
	_, err = tx.Exec(t.Context(), `INSERT INTO lobbies (region, uid, project, id, type, state, max_members, grace)
		VALUES ('eu', $1, 'p', 'r', 'counter_plugin_room', '{"counter":7}', 10, '1 min')`, uid)
	require.NoError(t, err)
	answer := make(chan db.LobbyAnswer, 1)
	go func() {
		a, err := l.ActInLobby(t.Context(), l.joining("a", "r", "counter_plugin_room"))
		if err != nil {
			t.Error(err)
		}
		answer <- a
	}()
	l.AwaitBlocked(1)
	require.NoError(t, tx.Commit(t.Context()))
	a := <-answer
	require.Equal(t, uid, a.LobbyUID)
	require.JSONEq(t, `{"counter":7}`, string(a.RoomSnapshot.State.JSON()))
}

// An action that comes in one batch behind the end of its room is decided by the next batch: the room is made anew, or
// not found.
func TestARoomThatEndsInABatch(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b", "c")
	old := l.act(l.Store, l.joining("a", "r", "counter_plugin_room")).LobbyUID
	release := l.Hold("SELECT FROM lobbies WHERE uid = $1 FOR UPDATE", old)
	running := l.begin(l.saying("a", "r", "inc"))
	l.AwaitBlocked(1)
	closing := l.begin(actionOf("a", "r", func(r *lobby.Room) error { r.IsClosed = true; return nil }))
	joining := l.begin(l.joining("b", "r", "counter_plugin_room"))
	release()
	require.NoError(t, (<-running).err)
	closed := <-closing
	require.True(t, closed.IsClosed)
	require.Equal(t, []lobby.Entry{{Kind: lobby.EntryLeft, Session: "a", Reason: "closed"}}, closed.LogRow.Entries)
	anew := <-joining
	require.NoError(t, anew.err)
	require.NotEqual(t, old, anew.LobbyUID)
	require.Len(t, anew.RoomSnapshot.Members, 1)
	_, err := l.ActInLobby(t.Context(), l.saying("a", "r", "inc"))
	require.ErrorIs(t, err, lobby.ErrNotMember)
}

type lobbyOutcome struct {
	db.LobbyAnswer

	err error
}

// begin puts an action into the next batch.
func (l *lobbies) begin(a db.LobbyAction) <-chan lobbyOutcome {
	out := make(chan lobbyOutcome, 1)
	wait := l.BeginInLobby(l.t.Context(), a)
	go func() { answer, err := wait(); out <- lobbyOutcome{answer, err} }()
	return out
}

// Pins a process that stops in the middle of a transaction and keeps its rooms locked: another replica acts in them
// within seconds.
func TestAFrozenReplicaHoldsNoRoom(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session("a", "b")
	room := l.act(l.Store, l.joining("a", "r", "counter_plugin_room")).LobbyUID
	frozen := l.Replica(func(c *db.Config) { c.HoldTimeout = 200 * time.Millisecond })
	goOn := make(chan struct{})
	stopped := actionOf("a", "r", func(r *lobby.Room) error { <-goOn; return adding(r) })
	outcome := make(chan error, 1)
	go func() { _, err := frozen.ActInLobby(t.Context(), stopped); outcome <- err }()
	require.Eventually(t, func() bool {
		return one[int](l.bundle, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'") == 1
	}, 30*time.Second, time.Millisecond)
	require.Len(t, l.act(l.Store, l.joining("b", "r", "counter_plugin_room")).RoomSnapshot.Members, 2)
	close(goOn)
	requireKind(t, fault.Unavailable, "unavailable", <-outcome)
	require.JSONEq(t, `{"counter":0}`, string(l.snapshot(room).Snapshot.State.JSON()), "what it does on waking is refused")
}
