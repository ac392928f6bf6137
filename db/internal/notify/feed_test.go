package notify

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/internal/notify/notifytest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
)

func unchanged(*listener) {}

// woken waits for a signal and returns what the feed takes, sorted.
func woken(t *testing.T, f *Feed, why string) (keys []string, all bool) {
	t.Helper()
	notifytest.RequireWoken(t, f.Wake(), why)
	keys, all = f.TakeKeys()
	slices.Sort(keys)
	return keys, all
}

// listening returns a feed whose listener is connected.
func listening(t *testing.T, b *Bus) *Feed {
	t.Helper()
	f := b.SubscribeKeys("realtime", "eu")
	t.Cleanup(f.Stop)
	_, all := woken(t, f, "nothing listened before")
	require.True(t, all)
	return f
}

func TestAFeedTakesTheKeysThatItWatches(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	here, _ := newBus(t, url, url, unchanged)
	there, _ := newBus(t, url, url, unchanged)
	f := listening(t, here)
	for name, sender := range map[string]*Bus{"of this process": here, "of another one": there} {
		f.Watch("a")
		f.Watch("b")
		f.Watch("b")
		sender.Notify("realtime", "eu", "a", "other")
		keys, all := woken(t, f, name)
		require.Equal(t, []string{"a"}, keys, name)
		require.False(t, all, name)
		keys, all = f.TakeKeys()
		require.Empty(t, keys, "taken once")
		require.False(t, all)
		f.Unwatch("a")
		sender.Notify("realtime", "eu", "a")
		sender.Notify("realtime", "us", "b")
		sender.Notify("other", "eu", "b")
		sender.Notify("realtime", "eu", "b")
		keys, _ = woken(t, f, name)
		require.Equal(t, []string{"b"}, keys, name)
		sender.Notify("realtime", "eu")
		_, all = woken(t, f, "a notice without keys is about all")
		require.True(t, all)
		f.Unwatch("b")
	}
}

// After a reconnect, notices may have been lost.
func TestAFeedThatReconnectsMayHaveMissedAll(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	b, log := newBus(t, url, url, unchanged)
	f := listening(t, b)
	require.Eventually(t, func() bool { return log.Count("notifications arrive") == 1 }, 20*time.Second,
		time.Millisecond)
	f.Watch("a")
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	_, err = pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN "+Channel+"'")
	require.NoError(t, err)
	keys, all := woken(t, f, "the connection is new")
	require.True(t, all)
	require.Empty(t, keys)
}

// Pins a memory of notices that grows while the owner of a feed does not take them.
func TestAFeedRemembersItsOwnKeysOnly(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	b, _ := newBus(t, url, url, unchanged)
	f := listening(t, b)
	f.Watch("mine")
	for i := range 10_000 {
		b.Notify("realtime", "eu", fmt.Sprint("other", i), "mine")
	}
	f.mu.Lock()
	require.Len(t, f.wokenKeys, 1)
	f.mu.Unlock()
	keys, _ := woken(t, f, "its own")
	require.Equal(t, []string{"mine"}, keys)
}

// Two keys may have one short form: then both are taken, and neither hides the other.
func TestKeysWithOneShortForm(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	b, _ := newBus(t, url, url, unchanged)
	f := listening(t, b)
	const one, two = "costarring", "liquid" // a known collision of 32-bit FNV-1a
	require.Equal(t, shorten(one), shorten(two))
	f.Watch(one)
	f.Watch(two)
	b.Notify("realtime", "eu", two)
	keys, _ := woken(t, f, "one of two")
	require.Equal(t, []string{one, two}, keys)
	f.Unwatch(one)
	b.Notify("realtime", "eu", two)
	keys, _ = woken(t, f, "the other one")
	require.Equal(t, []string{two}, keys)
}
