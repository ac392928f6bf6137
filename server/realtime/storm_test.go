package realtime

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// More sessions join the largest room at once than it may have members: it is exactly full, and all members know each
// other.
func TestABurstOfJoinsFillsTheLargestRoom(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const most, over = 200, 12 // of a chat
	const room = "chat:crowded"
	clients := crowd(most+over, a, b)
	answers := make([]func() (realtimetest.Response, error), len(clients))
	for i, c := range clients {
		_, answers[i] = c.Begin(t.Context(), "room.join_or_create", room, map[string]any{"roomType": "chat"})
	}
	var inside []*realtimetest.Client
	for i, answer := range answers {
		r, err := answer()
		require.NoError(t, err)
		if r.OK() {
			inside = append(inside, clients[i])
			continue
		}
		require.Equal(t, "room_full", r.Code())
	}
	require.Len(t, inside, most)
	for _, c := range inside {
		c.Wait(t, "the members", func(v *realtimetest.View) bool {
			return len(v.Room(room).Members) == most && v.Room(room).Snapshots > 0
		})
	}
	inside[0].Leave(t, room)
	inside[0].Join(t, "chat", room, nil)
	inside[1].Must(t, "room.message", room, map[string]any{"type": "say", "data": "all"})
	for _, c := range inside {
		c.Wait(t, "the message", func(v *realtimetest.View) bool { return v.Count("room.message", room) == 1 })
		require.Zero(t, c.Resyncs())
	}
}

// Ten times the clients that a replica takes connect again and again: it never holds more, those that it takes are
// served, and in the end all were.
func TestAStormOfConnectsIsBounded(t *testing.T) {
	t.Parallel()
	const most = 8
	v := serve(t, func(o *Options) { o.MaxConnections = most })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var storm sync.WaitGroup
	var inside, highest, refused atomic.Int64
	for range 10 * most {
		storm.Go(func() {
			for ctx.Err() == nil {
				c, err := realtimetest.Connect(ctx, realtimetest.Options{URL: v.address(), Project: "p1"})
				if err != nil {
					refused.Add(1)
					continue
				}
				now := inside.Add(1)
				for high := highest.Load(); now > high && !highest.CompareAndSwap(high, now); high = highest.Load() {
				}
				answer, err := c.RPC(ctx, "room.list", "", nil)
				inside.Add(-1)
				if err != nil || !answer.OK() {
					t.Errorf("%v %v", answer, err)
				}
				c.Drop()
				return
			}
		})
	}
	storm.Wait()
	require.NoError(t, ctx.Err(), "all were served")
	require.LessOrEqual(t, highest.Load(), int64(most))
	require.Positive(t, refused.Load())
	require.Eventually(t, func() bool { return v.connSlots.Count() == 0 }, patience, patience/1000)
}
