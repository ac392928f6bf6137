package baseline

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
)

// Scenarios are loads on a Postgres alone. URLs are those of its database.
var Scenarios = []bench.Scenario{
	committing("commit", "each caller updates a row of its own, one commit after the other, as pgbench does",
		func(caller int) int { return caller }),
	committing("commit-one-row", "all callers update the same row: each waits for the commit of another",
		func(int) int { return 0 }),
	{Name: "notice", About: "a notification goes from one connection to another, 200 times a second",
		Usual: bench.Load{Callers: 1}, Begin: beginNotices},
}

// committing is the minimal cost of a durable decision. The rows are in a table that is dropped at the end. When
// Postgres has too few free connections, fewer callers are used: see Callers of the result.
func committing(name, about string, row func(caller int) int) bench.Scenario {
	return bench.Scenario{Name: name, About: about, Usual: bench.Load{Callers: 32},
		Begin: func(ctx context.Context, job *bench.Job) (bench.TurnFunc, error) {
			c, err := newCommitters(ctx, job)
			return func(ctx context.Context, caller *bench.Caller) error {
				return caller.Timed(name, func() error {
					_, err := c.conns[caller.Number].Exec(ctx, c.update, row(caller.Number))
					return err
				})
			}, err
		}}
}

// committers are the callers' connections, and the table that they update.
type committers struct {
	update string
	conns  []*pgx.Conn // one for each caller
}

const (
	// freeConnections counts the connections that a login without privileges may still open, less a few for other
	// programs.
	freeConnections = `
SELECT (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int - sum(numbackends) - 4)::int
FROM pg_stat_database`

	// tableTimeout bounds creating and dropping the table.
	tableTimeout = 10 * time.Second
)

// newCommitters makes the connections, the table and a row for each. It changes the job's callers to as many as Postgres
// has free connections.
func newCommitters(ctx context.Context, job *bench.Job) (*committers, error) {
	// it asks how many others there may be, and becomes the first caller's
	first, err := connect(ctx, job)
	if err != nil {
		return nil, err
	}
	var free int
	if err := first.QueryRow(ctx, freeConnections).Scan(&free); err != nil {
		return nil, err
	}
	// as many as Postgres admits: the result says how many that were
	job.Options.Load.Callers = max(1, min(job.Options.Load.Callers, free))
	table := pgx.Identifier{"bench_commit_" + strings.ToLower(rand.Text()[:10])}.Sanitize()
	c := &committers{update: "UPDATE " + table + " SET n = n + 1 WHERE caller = $1", conns: []*pgx.Conn{first}}
	for range job.Options.Load.Callers - 1 {
		conn, err := connect(ctx, job)
		if err != nil {
			return nil, err
		}
		c.conns = append(c.conns, conn)
	}
	// The table is dropped over a connection of its own: after the end of ctx the others are closed.
	job.OnEnd(func() error { return execApart(ctx, job, "DROP TABLE IF EXISTS "+table) })
	// Pages have free space, so that updates stay on them, and few rows, so that callers seldom need the same page.
	err = execApart(ctx, job, "CREATE TABLE "+table+
		" (caller integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 10);"+
		fmt.Sprintf("INSERT INTO %s SELECT caller, 0 FROM generate_series(0, %d) AS caller", table, job.Options.Load.Callers-1))
	return c, err
}

// connect opens a connection that lasts until the end of the run.
func connect(ctx context.Context, job *bench.Job) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, job.Options.URLs[0])
	if err != nil {
		return nil, err
	}
	job.OnEnd(func() error { return conn.Close(context.WithoutCancel(ctx)) })
	return conn, nil
}

// execApart runs statements over a connection of their own, also after ctx has ended: Postgres may still commit a
// statement whose client has gone.
func execApart(ctx context.Context, job *bench.Job, statements string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, job.Options.URLs[0])
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statements)
	return err
}

// noticeInterval is the time between two notifications: long enough that no notification waits for another.
const noticeInterval = 5 * time.Millisecond

// beginNotices makes turns that last from the transaction that sends a notification until a connection that listens has
// it: the least time in which one process learns of another one's commit.
func beginNotices(ctx context.Context, job *bench.Job) (bench.TurnFunc, error) {
	sender, err := connect(ctx, job)
	if err != nil {
		return nil, err
	}
	receiver, err := connect(ctx, job)
	if err != nil {
		return nil, err
	}
	channel := "bench_" + rand.Text()
	if _, err := receiver.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return nil, fmt.Errorf("listening for notifications: %w", err)
	}
	return func(ctx context.Context, c *bench.Caller) error {
		if err := c.Unmeasured(func() error { return bench.Pause(ctx, noticeInterval) }); err != nil {
			return err
		}
		return c.Timed("notice", func() error {
			if _, err := sender.Exec(ctx, "SELECT pg_notify($1, '')", channel); err != nil {
				return err
			}
			_, err := receiver.WaitForNotification(ctx)
			return err
		})
	}, nil
}
