package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

func TestConsoleEventsPageBackAndFollow(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	for i := range 5 {
		c.Exec(`INSERT INTO events (region, kind, instance_id, detail) VALUES ('eu', $1, $2, '{"n": 1}')`,
			[]string{"session.opened", "session.closed"}[i%2], []string{"a1", "b1"}[i%2])
	}
	kinds := func(events []opsview.Event) (all []string) {
		for _, e := range events {
			all = append(all, e.Kind)
		}
		return all
	}
	p, err := c.events(opsview.LatestEvent(), opsview.EventFilter{}, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"session.opened", "session.closed", "session.opened"}, kinds(p.Events))
	p, err = c.events(*p.Next, opsview.EventFilter{}, 3)
	require.NoError(t, err)
	require.Equal(t, []string{"session.closed", "session.opened"}, kinds(p.Events))
	require.Nil(t, p.Next)
	p, err = c.events(opsview.LatestEvent(), opsview.EventFilter{Kinds: "session.c"}, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"session.closed", "session.closed"}, kinds(p.Events))
	require.Nil(t, p.Next)
	p, err = c.events(opsview.LatestEvent(), opsview.EventFilter{Instance: "a1"}, 50)
	require.NoError(t, err)
	require.Len(t, p.Events, 3)

	p, err = c.events(opsview.LatestEvent(), opsview.EventFilter{Session: "eu." + uuid.NewString()}, 50)
	require.NoError(t, err, "events without a session")
	require.Empty(t, p.Events)

	from, err := read(c, opsview.FeedEnd)
	require.NoError(t, err)
	c.Exec(`INSERT INTO events (region, kind) VALUES ('us', 'key.made')`)
	var tail []opsview.Event
	require.Eventually(t, func() bool { // the feed waits for the transactions of other tests, for earlier events as well
		tail, _, err = list(c, opsview.EventFeed, opsview.FeedFilter{}, opsview.Page{After: from.Key()})
		return err != nil || len(tail) > 0 && tail[len(tail)-1].Kind == "key.made"
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, err)
	last := tail[len(tail)-1]
	require.True(t, opsview.EventFilter{Kinds: "key."}.Selects(last))
	require.False(t, opsview.EventFilter{Region: "eu"}.Selects(last))
}

// Pins a filter that selects nothing, for which a page reads the whole log.
func TestConsoleEventsEndAfterSoManyRows(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	c.Exec(`INSERT INTO events (kind) SELECT CASE n WHEN 1 THEN 'rare.event' ELSE 'common.event' END FROM generate_series(1, 6000) n`)
	c.Exec(`UPDATE events SET id = '00000000-0000-0000-0000-000000000000' WHERE kind = 'rare.event'`)
	p, err := c.events(opsview.LatestEvent(), opsview.EventFilter{Kinds: "rare."}, 50)
	require.NoError(t, err)
	require.Empty(t, p.Events)
	require.NotNil(t, p.Next)
	p, err = c.events(*p.Next, opsview.EventFilter{Kinds: "rare."}, 50)
	require.NoError(t, err)
	require.Len(t, p.Events, 1)
	require.Nil(t, p.Next)
}

// Pins a search for the events of a time that finds later ones, or misses earlier ones: at, between, before and after
// those that there are, and in an empty log.
func TestConsoleEventsUntilATime(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	night := time.Now().UTC().Truncate(time.Hour)
	until := func(at time.Time) (found []string) {
		before, err := c.EventsUntil(t.Context(), at)
		require.NoError(t, err)
		p, err := c.events(before, opsview.EventFilter{}, 50)
		require.NoError(t, err)
		for _, e := range p.Events {
			found = append(found, e.Kind)
		}
		return found
	}
	require.Empty(t, until(night))
	for i, kind := range []string{"a.a", "b.b", "c.c", "d.d"} {
		c.Exec(`INSERT INTO events (kind, at) VALUES ($1, $2), ($1, $2)`, kind, night.Add(time.Duration(i)*time.Minute))
		c.Exec(`SELECT pg_current_xact_id() FROM generate_series(1, 3)`) // transactions without events, as others are
	}
	require.Empty(t, until(night))
	require.Equal(t, []string{"a.a", "a.a"}, until(night.Add(time.Second)))
	require.Equal(t, []string{"b.b", "b.b", "a.a", "a.a"}, until(night.Add(2*time.Minute)), "not those of the time itself")
	require.Len(t, until(night.Add(2*time.Minute+time.Second)), 6)
	require.Len(t, until(night.Add(time.Hour)), 8)
	require.Empty(t, until(time.Time{}))
}
