package realtime

import (
	"bytes"
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/server/realtime/wire"
)

// commitCutter cuts connections to Postgres right after a commit, whose answer the replica never gets.
type commitCutter struct{ armed, cuts atomic.Int64 }

func (c *commitCutter) forward(_ context.Context, client, server net.Conn) {
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	answers := make([]byte, 64<<10)
	for {
		n, err := server.Read(answers)
		if bytes.Contains(answers[:n], []byte("COMMIT\x00")) && c.armed.Add(-1) >= 0 {
			c.cuts.Add(1)
			return
		}
		if n > 0 {
			if _, err := client.Write(answers[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// cut cuts the next n commits.
func (c *commitCutter) cut(n int64) { c.armed.Store(n) }

// serveWithCutter starts a replica with a cutter between it and Postgres.
func serveWithCutter(t *testing.T, change ...func(*Options)) (*served, *commitCutter) {
	t.Helper()
	c := new(commitCutter)
	database := dbtest.New(t)
	// so that the replica commits nothing by itself
	require.NoError(t, storetest.Open(t, database).EnsureRealtimeProfiles(t.Context(), "global"))
	v := serveStore(t, database, storetest.Open(t, dbtest.NewProxy(t, database, c.forward).URL), change...)
	return v, c
}

// Where the outcome of a commit is unknown, the caller gets unavailable, may repeat what it asked for, and learns from
// the state what has happened.
func TestAnActionWhoseCommitIsUnknownMayBeRepeated(t *testing.T) {
	t.Parallel()
	v, commits := serveWithCutter(t)
	const room = "counter_plugin_room:default"
	c, other := v.client(), serveOn(t, v.database.URL).client()
	other.Join(t, "counter_plugin_room", room, nil)

	unknown := func(kind string, p map[string]any) {
		t.Helper()
		before := commits.cuts.Load()
		commits.cut(1)
		require.Equal(t, wire.CodeUnavailable, c.Ask(t, kind, room, p).Code(), kind)
		require.Equal(t, before+1, commits.cuts.Load(), kind)
		commits.cut(0)
	}
	unknown("room.join_or_create", map[string]any{"roomType": "counter_plugin_room"})
	c.Join(t, "counter_plugin_room", room, nil)
	other.Wait(t, "the join", func(e *realtimetest.View) bool { return len(e.Room(room).Members) == 2 })

	unknown("room.message", map[string]any{"type": "inc", "data": map[string]any{}})
	for _, member := range []*realtimetest.Client{c, other} {
		member.Wait(t, "the increment", func(e *realtimetest.View) bool {
			return counter(e.Room(room)) == 1 && e.Count("room.message", room) == 1
		})
		require.Zero(t, member.Resyncs())
	}

	unknown("room.leave", map[string]any{})
	other.Wait(t, "the leave", func(e *realtimetest.View) bool { return len(e.Room(room).Members) == 1 })
	require.Equal(t, "not_a_member", c.Ask(t, "room.leave", room, map[string]any{}).Code())
	c.Join(t, "counter_plugin_room", room, nil)
}

func TestAResumeWhoseCommitIsUnknownMayBeRepeated(t *testing.T) {
	t.Parallel()
	v, commits := serveWithCutter(t)
	c := v.client()
	room := c.Join(t, "chat", "", nil)
	id := c.SessionID()
	commits.cut(1)
	var refused *realtimetest.RefusedError
	require.ErrorAs(t, c.Reconnect(t.Context(), v.address()), &refused)
	require.Equal(t, closeTryLater, refused.Status)
	require.NoError(t, c.Reconnect(t.Context(), v.address()))
	require.True(t, c.Resumed())
	require.Equal(t, id, c.SessionID())
	c.Must(t, "room.message", room, map[string]any{"type": "say", "data": "back"})
}

// The client gives up. Its session would be this replica's for as long as it runs.
func TestASessionOfAnUnknownCommitIsSuspended(t *testing.T) {
	t.Parallel()
	v, commits := serveWithCutter(t, func(o *Options) { o.timing.lookEvery = 10 * time.Millisecond })
	stays := v.client()
	room := stays.Join(t, "chat", "", nil)
	gone := realtimetest.Dial(t, realtimetest.Options{URL: v.address(), Project: "p1"})
	gone.Join(t, "chat", "", nil)
	commits.cut(1)
	_, err := realtimetest.Connect(t.Context(),
		realtimetest.Options{URL: v.address(), Project: "p1", Session: gone.SessionID()})
	require.Error(t, err)
	stays.Wait(t, "its room to hear of it",
		func(e *realtimetest.View) bool { return e.Count("room.dropped", room) == 1 })
	require.Zero(t, stays.CloseStatus(), "sessions with a connection stay")
	stays.Must(t, "room.message", room, map[string]any{"type": "say", "data": "here"})
}
