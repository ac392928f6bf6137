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
			conns, err := connectCallers(ctx, job)
			if err != nil {
				return nil, err
			}
			table := pgx.Identifier{"bench_commit_" + strings.ToLower(rand.Text()[:10])}.Sanitize()
			update := "UPDATE " + table + " SET n = n + 1 WHERE caller = $1"
			return func(ctx context.Context, c *bench.Caller) error {
				return c.Timed(name, func() error {
					_, err := conns[c.Number].Exec(ctx, update, row(c.Number))
					return err
				})
			}, makeTable(ctx, job, table)
		}}
}

// freeConnections counts the connections that a login without privileges may still open, less a few for other programs.
const freeConnections = `
SELECT (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int - sum(numbackends) - 4)::int
FROM pg_stat_database`

// connectCallers opens a connection for each caller. It changes the job's callers to as many as Postgres has free
// connections: the result says how many that were.
func connectCallers(ctx context.Context, job *bench.Job) ([]*pgx.Conn, error) {
	// The first caller's connection also asks how many more Postgres has room for.
	first, err := connect(ctx, job, 1)
	if err != nil {
		return nil, err
	}
	var free int
	if err := first[0].QueryRow(ctx, freeConnections).Scan(&free); err != nil {
		return nil, err
	}
	job.Options.Load.Callers = max(1, min(job.Options.Load.Callers, free))
	otherConns, err := connect(ctx, job, job.Options.Load.Callers-1)
	return append(first, otherConns...), err
}

// connect opens n connections that last until the end of the run.
func connect(ctx context.Context, job *bench.Job, n int) (conns []*pgx.Conn, err error) {
	for range n {
		conn, err := pgx.Connect(ctx, job.Options.URLs[0])
		if err != nil {
			return nil, err
		}
		job.OnEnd(conn.Close)
		conns = append(conns, conn)
	}
	return conns, nil
}

// makeTable makes a table with a row for each caller. Its connection does not end with ctx: Postgres may still commit a
// statement whose client has gone, after the table was dropped.
func makeTable(ctx context.Context, job *bench.Job, table string) error {
	conns, err := connect(context.WithoutCancel(ctx), job, 1)
	if err != nil {
		return err
	}
	job.OnEnd(func(ctx context.Context) error {
		_, err := conns[0].Exec(ctx, "DROP TABLE IF EXISTS "+table)
		return err
	})
	// Pages have free space, so that updates stay on them, and few rows, so that callers seldom need the same page.
	_, err = conns[0].Exec(context.WithoutCancel(ctx), "CREATE TABLE "+table+
		" (caller integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 10);"+
		fmt.Sprintf("INSERT INTO %s SELECT caller, 0 FROM generate_series(0, %d) AS caller", table, job.Options.Load.Callers-1))
	return err
}

// noticeInterval is the time between two notifications: long enough that no notification waits for another.
const noticeInterval = 5 * time.Millisecond

// beginNotices makes turns that last from the transaction that sends a notification until a connection that listens has
// it: the least time in which one process learns of another one's commit.
func beginNotices(ctx context.Context, job *bench.Job) (bench.TurnFunc, error) {
	conns, err := connect(ctx, job, 2)
	if err != nil {
		return nil, err
	}
	sender, receiver := conns[0], conns[1]
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
