package db_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// lobbyModel is a few sessions that act in two rooms through three replicas.
type lobbyModel struct {
	*lobbies

	t        *rapid.T
	replicas []*db.Store
	prefix   string // of the ids of rooms, for each run another

	mu   sync.Mutex
	rows map[uuid.UUID]map[int64]db.LobbyRow // that members on the acting replica were given
	made map[string][]uuid.UUID              // uids by room, in the order in which answers named them first

	readers map[uuid.UUID]*logReader
}

// logReader is a member's copy of a room, and how much of its log that contains.
type logReader struct {
	copied *memberCopy
	pos    int64
	rows   int
}

var lobbySessions = []string{"a", "b", "c", "d"}

// Pins rows of a log that are lost, doubled or out of order, patches that do not lead to the room's state, and answers
// that differ from the log.
func TestAllMembersOfARoomSeeOneOrder(t *testing.T) {
	t.Parallel()
	l := setupLobbies(t)
	l.session(lobbySessions...)
	replicas := []*db.Store{l.Store, l.Replica(), l.Replica()}
	runs := 0
	rapid.Check(t, func(rt *rapid.T) {
		runs++
		m := &lobbyModel{
			lobbies: l, t: rt, replicas: replicas, prefix: fmt.Sprintf("run%d", runs),
			rows: map[uuid.UUID]map[int64]db.LobbyRow{}, made: map[string][]uuid.UUID{},
			readers: map[uuid.UUID]*logReader{},
		}
		rt.Repeat(map[string]func(*rapid.T){"burst": m.burst, "": m.check})
		m.readers = map[uuid.UUID]*logReader{}
		m.check(rt) // from the first row, so that a row that came in behind a reader is noticed
	})
}

// burst runs random actions at the same time, so that some share transactions and others compete.
func (m *lobbyModel) burst(t *rapid.T) {
	var all errgroup.Group
	for range rapid.IntRange(1, 12).Draw(t, "actions") {
		store, a := m.replicas[rapid.IntRange(0, len(m.replicas)-1).Draw(t, "replica")], m.draw(t)
		all.Go(func() error {
			answer, err := store.ActInLobby(context.Background(), a)
			if _, refused := errors.AsType[*lobby.Error](err); refused {
				return nil
			}
			m.note(answer)
			return err
		})
	}
	require.NoError(t, all.Wait())
}

func (m *lobbyModel) draw(t *rapid.T) db.LobbyAction {
	session := rapid.SampledFrom(lobbySessions).Draw(t, "session")
	room := m.prefix + rapid.SampledFrom([]string{":1", ":2"}).Draw(t, "room")
	switch rapid.IntRange(0, 9).Draw(t, "action") {
	case 0, 1, 2:
		return m.joining(session, room, "counter_plugin_room")
	case 3:
		return m.leaving(session, room)
	case 4:
		return actionOf(session, room, m.types.MarkAway(session))
	case 5:
		return actionOf(session, room, m.types.MarkBack(session))
	case 6:
		return actionOf(session, room, func(r *lobby.Room) error { _ = adding(r); return lobby.ErrLocked })
	}
	return m.saying(session, room, "inc")
}

func (m *lobbyModel) note(a db.LobbyAnswer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.RoomSnapshot == nil || a.LogRow == nil {
		return
	}
	if m.rows[a.LobbyUID] == nil {
		m.rows[a.LobbyUID] = map[int64]db.LobbyRow{}
		m.made[a.RoomSnapshot.ID] = append(m.made[a.RoomSnapshot.ID], a.LobbyUID)
	}
	m.rows[a.LobbyUID][a.LogRow.LogPos] = *a.LogRow
}

// check lets a reader of each room go on, and compares it with the room and with what the answers said.
func (m *lobbyModel) check(t *rapid.T) {
	ctx := context.Background()
	for _, uids := range m.made {
		for _, uid := range uids {
			f := m.follow(ctx, t, uid)
			if f.rows == 0 {
				require.Len(t, m.rows[uid], 1, "a room that ends in the transaction that makes it has no log")
				continue
			}
			require.Len(t, m.rows[uid], f.rows, "each row is in the answers of its transaction")
			snapshots := must.Get(m.LobbySnapshots(ctx, "eu", []uuid.UUID{uid}))(t)
			if len(snapshots) == 0 {
				require.Empty(t, f.copied.members, "a room ends with its last member")
				continue
			}
			f.copied.requireEqual(t, snapshots[0].Snapshot)
		}
	}
}

// follow applies the rows of a room's log that its reader has not read.
func (m *lobbyModel) follow(ctx context.Context, t *rapid.T, uid uuid.UUID) *logReader {
	f := m.readers[uid]
	if f == nil {
		f = &logReader{copied: &memberCopy{state: lobby.State{"counter": []byte("0")}, members: map[string]bool{},
			seq: 1}}
		m.readers[uid] = f
	}
	for _, row := range m.restOfLog(ctx, t, db.LobbyPos{LobbyUID: uid, LogPos: f.pos}) {
		f.copied.apply(t, row)
		said := m.rows[uid][row.LogPos]
		require.Equal(t, said.Patch, row.Patch)
		require.Equal(t, said.Entries, row.Entries)
		require.Equal(t, said.StateSeq, row.StateSeq)
		var members []string
		for _, m := range said.Members {
			members = append(members, m.Session)
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(f.copied.members)), members)
		f.pos, f.rows = row.LogPos, f.rows+1
	}
	return f
}

// restOfLog reads all pages of a room's log after a position.
func (m *lobbyModel) restOfLog(ctx context.Context, t *rapid.T, from db.LobbyPos) (rows []db.LobbyRow) {
	for more := true; more; {
		var page []db.LobbyRow
		var err error
		page, more, err = m.LobbyLog(ctx, "eu", []db.LobbyPos{from})
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		rows = append(rows, page...)
		from.LogPos = page[len(page)-1].LogPos
	}
	return rows
}
