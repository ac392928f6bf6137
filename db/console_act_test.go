package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins a reason that no event has, that replaces another one, or that events of other transactions get.
func TestConsoleActsForAReason(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.instance("eu", "arena", "1 minute", "duel")
	c.key("a", "-1 day", "1 day")
	s := c.session("eu", "arena", "duel", "ann")
	ctx := t.Context()
	c.Exec(`SELECT ops.drain('arena')`)
	require.True(t, must.Get(c.As("console:ada").Because("kernel update").Undrain(ctx, "arena"))(t))
	require.False(t, must.Get(c.As("console:ada").Because("again").Undrain(ctx, "arena"))(t))
	require.NoError(t, c.As("console:ada").Because("not this one").CloseSession(ctx, s, "cheating"))
	require.True(t, must.Get(c.As("console:ada").Because("it leaked").TaintKey(ctx, "a"))(t))
	require.Equal(t, []string{"instance.drained -", "instance.undrained kernel update", "key.tainted it leaked", "session.closed cheating"},
		c.Rows(`SELECT kind || ' ' || coalesce(detail ->> 'reason', '-') FROM ops.events WHERE kind IN ('instance.drained', 'instance.undrained', 'key.tainted', 'session.closed') ORDER BY kind`))
}
