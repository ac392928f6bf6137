package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// follower reads ops.event_feed as its comment says to.
type follower struct {
	d      *opsDB
	tx, id string
	seen   []string
}

func (d *opsDB) follow() *follower {
	return &follower{d: d, tx: "0", id: "00000000-0000-0000-0000-000000000000"}
}

// read reads the feed to its end, a few events at a time, and returns the kinds of all events read so far.
func (f *follower) read() []string {
	for {
		page := f.d.Rows(`SELECT tx, id, kind FROM ops.event_feed WHERE (tx, id) > ($1::xid8, $2::uuid) ORDER BY tx, id LIMIT 3`, f.tx, f.id)
		for _, row := range page {
			column := strings.Split(row, "|")
			f.tx, f.id = column[0], column[1]
			f.seen = append(f.seen, column[2])
		}
		if len(page) < 3 {
			return f.seen
		}
	}
}

// until reads until n events were read. Transactions of other tests on the same server may delay the feed.
func (f *follower) until(n int) {
	f.d.t.Helper()
	for deadline := time.Now().Add(time.Minute); len(f.read()) < n; {
		require.True(f.d.t, time.Now().Before(deadline), "seen only %d of %d", len(f.seen), n)
	}
}

// The later transaction commits first. A reader in the order of time or id would move its cursor past the rows of the
// earlier one, and never return them.
func TestEventFeedWaitsForTheOlderTransaction(t *testing.T) {
	t.Parallel()
	d, ctx := newOpsDB(t), context.Background()
	older, err := d.Pool().Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = older.Rollback(ctx) }()
	_, err = older.Exec(ctx, `INSERT INTO events (region, kind, instance_id, session_id, detail)
		VALUES ('eu', 'older', 'arena', '7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10', '{"n": 1}')`)
	require.NoError(t, err)
	d.Exec(`INSERT INTO events (kind, actor) VALUES ('younger', 'sql:alice')`)

	f := d.follow()
	require.Equal(t, []string{"younger"}, d.Rows(`SELECT kind FROM ops.events`))
	require.Empty(t, f.read())
	require.NoError(t, older.Commit(ctx))
	f.until(2)
	require.Equal(t, []string{"older", "younger"}, f.seen)
	require.Equal(t, []string{
		"eu|older|director|arena|eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10|{\"n\": 1}|t", "|younger|sql:alice|||{}|t",
	}, d.Rows(`SELECT region, kind, actor, instance, session, detail, at <= now() FROM ops.event_feed`))
}

func TestEventFeedHasNoGapsNorRepeatsUnderConcurrentCommits(t *testing.T) {
	t.Parallel()
	d := newOpsDB(t)
	const writers, rounds = 4, 10
	var want []string
	var work errgroup.Group
	for w := range writers {
		for r := range rounds {
			want = append(want, fmt.Sprintf("%d-%d-a", w, r), fmt.Sprintf("%d-%d-b", w, r))
		}
		work.Go(func() error { // others are rolled back, and overlap at random with those of other writers
			for r := range rounds {
				kinds := []string{fmt.Sprintf("%d-%d-a", w, r), fmt.Sprintf("%d-%d-b", w, r)}
				if err := d.inOneTransaction(pgx.Tx.Rollback, "lost"); err != nil {
					return err
				}
				if err := d.inOneTransaction(pgx.Tx.Commit, kinds...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	done := make(chan error, 1)
	go func() { done <- work.Wait() }()

	f := d.follow()
	for writing := true; writing; {
		select {
		case err := <-done:
			require.NoError(t, err)
			writing = false
		default:
			f.read()
		}
	}
	f.until(len(want))
	require.ElementsMatch(t, want, f.seen)
}

func (d *opsDB) inOneTransaction(end func(pgx.Tx, context.Context) error, kinds ...string) error {
	ctx := context.Background()
	tx, err := d.Pool().Begin(ctx)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if _, err := tx.Exec(ctx, `INSERT INTO events (kind) VALUES ($1)`, kind); err != nil {
			return errors.Join(err, tx.Rollback(ctx))
		}
		for range rand.IntN(4) { // take some time, in round trips
			if _, err := tx.Exec(ctx, `SELECT`); err != nil {
				return errors.Join(err, tx.Rollback(ctx))
			}
		}
	}
	return end(tx, ctx)
}
