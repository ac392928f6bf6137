package realtimetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds what a test waits for.
const patience = 20 * time.Second

// Join joins a room as the SDK's joinOrCreate does, and waits for its snapshot. room "" is the default of the type.
func (c *Client) Join(t testing.TB, kind, room string, options map[string]any) (id string) {
	t.Helper()
	p := map[string]any{"roomType": kind}
	if room != "" {
		p["roomId"] = room
	}
	if options != nil {
		p["options"] = options
	}
	answer := c.Must(t, "room.join_or_create", room, p)
	id = answer.Room()
	require.NotEmpty(t, id)
	c.Wait(t, "the snapshot", func(v *View) bool { return v.Room(id).Snapshots > 0 })
	return id
}

// Leave leaves a room.
func (c *Client) Leave(t testing.TB, room string) {
	t.Helper()
	c.Must(t, "room.leave", room, map[string]any{})
}

// Must is RPC with an answer that has to be a success.
func (c *Client) Must(t testing.TB, kind, room string, p map[string]any) Response {
	t.Helper()
	answer := c.Ask(t, kind, room, p)
	require.True(t, answer.OK(), "%s: %v", kind, answer)
	return answer
}

// Ask is RPC with an answer that has to come.
func (c *Client) Ask(t testing.TB, kind, room string, p map[string]any) Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := c.RPC(ctx, kind, room, p)
	require.NoError(t, err)
	return answer
}

// Tell sends a room message without rid, as the SDK's send does.
func (c *Client) Tell(t testing.TB, room, kind string, data any) {
	t.Helper()
	require.NoError(t, c.Send(t.Context(), "room.message", room, map[string]any{"type": kind, "data": data}))
}

// Wait is Await with a condition that has to be met.
func (c *Client) Wait(t testing.TB, what string, done func(*View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, c.Await(ctx, what, done), "%v", c.HeardEvents())
}

// Hear waits for the first event of a kind.
func (c *Client) Hear(t testing.TB, kind string) Event {
	t.Helper()
	c.Wait(t, kind, func(v *View) bool { return v.Count(kind, "") > 0 })
	return c.EventsOf(kind, "")[0]
}
