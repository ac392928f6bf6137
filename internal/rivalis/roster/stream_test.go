package roster

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// A stream that is not read does not delay the others. Once the events that it has not received are dropped from
// memory, it continues from the database.
func TestASlowStream(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	slow, quick := f.stream(""), f.stream("")
	b.writes(func(c *change) { c.joins(agentID(1)) })
	slow.gets(InstanceJoined + " " + agentID(1))
	quick.gets(InstanceJoined+" "+agentID(1), Sync)
	const rounds, rooms = 7, 1500
	var last string
	for round := range rounds {
		b.writes(func(c *change) {
			for i := range rooms {
				last = fmt.Sprintf("r%d-%d", round, i)
				c.logs(db.EventRoomCreated, agentID(1), db.RoomInfo{ID: last})
			}
		})
		got := quick.until(func(e Event) bool { return describe(t, e) == RoomCreated+" "+last })
		require.Len(t, got, rooms)
	}
	f.events.recent.mu.Lock()
	kept := len(f.events.recent.entries)
	f.events.recent.mu.Unlock()
	require.LessOrEqual(t, kept, 2*keptEvents+rooms+rounds)
	got := slow.until(func(e Event) bool { return describe(t, e) == RoomCreated+" "+last })
	require.Len(t, got, rounds*rooms)
	for i, e := range got {
		require.Equal(t, fmt.Sprintf("%s r%d-%d", RoomCreated, i/rooms, i%rooms), describe(t, e))
	}
}

// A stream with too many events to replay gets a Resync, and then the new events.
func TestTooMuchToReplay(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	s := f.stream("")
	b.writes(func(c *change) { c.joins(agentID(1)) })
	first := s.gets(InstanceJoined + " " + agentID(1))
	b.writes(func(c *change) {
		c.do("INSERT INTO events (region, kind, detail) SELECT $1, $2, '{}' FROM generate_series(0, $3)", region,
			db.EventRoomCreated, maxReplay)
	})
	for range maxReplay + 1 {
		s.gets(RoomCreated + " ")
	}
	elsewhere := b.follow(t) // which has none of these events in memory
	elsewhere.run(alert)
	resumed := elsewhere.stream(first.ID)
	var e Event
	for n := 0; e.Type != Resync; n++ {
		e = resumed.next()
		require.LessOrEqual(t, n, maxReplay)
	}
	b.writes(func(c *change) { c.joins(agentID(2)) })
	resumed.gets(InstanceJoined + " " + agentID(2))
}

// Ids from another server, expired ids, and invented ids.
func TestIDsThatAreNotInTheLog(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	b.writes(func(c *change) { c.joins(agentID(1), "r1") })
	s := f.stream("")
	b.writes(func(c *change) { c.creates(agentID(1), "r2") })
	known := s.until(func(e Event) bool { return describe(t, e) == RoomCreated+" r2" })
	at, ok := parsePosition(known[len(known)-1].ID)
	require.True(t, ok)
	b.Exec("UPDATE events SET at = at - interval '2 days' WHERE tx <> $1", at.rowTx)
	for _, unknown := range []position{{at.rowTx, uuid.New(), 0}, {1 << 60, at.rowID, 0}, {3, uuid.UUID{}, 0}} {
		other := f.stream(unknown.String())
		require.Contains(t, string(other.gets(Resync).Data), `"rooms":2`)
	}
	var old position
	require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT tx, id FROM events WHERE tx <> $1 ORDER BY tx, id LIMIT 1",
		at.rowTx).Scan(&old.rowTx, &old.rowID))
	elsewhere := b.follow(t) // which has none of these events in memory
	elsewhere.run(alert)
	elsewhere.stream(old.String()).gets(Resync)
	for _, none := range []string{"", "x", "1.2.3", known[0].ID + "x", "-" + known[0].ID,
		"01." + at.rowID.String() + ".0", at.String() + ".0"} {
		f.stream(none).quiet()
	}
	f.stream(known[len(known)-1].ID).gets(Sync)
}

// The number of streams is limited, the log is not read while there are none, and streams end with the replica.
func TestStreamsBeginAndEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	f.events.maxStreams = 1
	stop := f.run(alert)
	s := f.stream("")
	_, err := f.events.OpenStream(t.Context(), "")
	require.True(t, fault.Is(err, fault.TooMany))
	s.Close()
	s.Close()
	require.Zero(t, f.events.Streams())
	b.writes(func(c *change) { c.joins(agentID(1)) })
	s = f.stream("")
	b.writes(func(c *change) { c.joins(agentID(2)) })
	s.until(func(e Event) bool { return describe(t, e) == InstanceJoined+" "+agentID(2) })
	stop()
	_, err = s.Next(t.Context())
	for err == nil {
		_, err = s.Next(t.Context())
	}
	require.True(t, fault.Is(err, fault.Unavailable))
	s.Close()
	_, err = f.events.OpenStream(t.Context(), "")
	require.True(t, err == nil || fault.Is(err, fault.Unavailable))
	require.Error(t, f.events.Run(t.Context()))
}

func FuzzParsePosition(f *testing.F) {
	f.Add("1.01234567-89ab-cdef-0123-456789abcdef.0")
	f.Add("18446744073709551615.{01234567-89ab-cdef-0123-456789abcdef}.99999999999")
	f.Fuzz(func(t *testing.T, id string) {
		if p, ok := parsePosition(id); ok {
			require.Equal(t, id, p.String())
			require.GreaterOrEqual(t, p.rowIndex, 0)
		}
	})
}

// Pins events that were repeated by a replica that had read less of the log than the stream had replayed.
func TestResumingAheadOfTheReplica(t *testing.T) {
	t.Parallel()
	b, first := started(t)
	s := first.stream("")
	behind := b.follow(t)
	log := &pausedLog{EventStore: behind.store, resume: make(chan struct{})}
	behind.run(alert, func(f *follower) { f.events.store = log })
	_ = behind.stream("") // begins to read
	a := agentID(1)
	b.writes(func(c *change) { c.joins(a) })
	s.gets(InstanceJoined + " " + a)
	b.writes(func(c *change) { c.creates(a, "r1") })
	last := s.gets(RoomCreated + " r1")
	resumed := behind.stream(last.ID)
	resumed.gets(Sync)
	close(log.resume)
	b.writes(func(c *change) { c.creates(a, "r2") })
	resumed.gets(RoomCreated + " r2")
}

// pausedLog is a store from which events are not read until resume is closed.
type pausedLog struct {
	EventStore

	resume chan struct{}
}

func (l *pausedLog) AgentEventsAfter(ctx context.Context, region string,
	after db.AgentEventPoint) (db.AgentEventPage, error) {
	select {
	case <-l.resume:
		return l.EventStore.AgentEventsAfter(ctx, region, after)
	case <-ctx.Done():
		return db.AgentEventPage{}, ctx.Err()
	}
}
