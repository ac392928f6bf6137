package baseline

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// Commits measures the minimal cost of a durable decision, as pgbench does: each caller has a connection and updates a
// row of its own, one commit after the other. The rows are in a table that is dropped at the end. When Postgres has too
// few free connections, fewer callers are used: see Callers of the result. Errors: a commit failed, or ctx ended.
func Commits(ctx context.Context, databaseURL string, callers int,
	warmUp, duration time.Duration) (bench.Result, error) {
	return commits(ctx, "commit", databaseURL, callers, warmUp, duration, func(caller int) int { return caller })
}

// CommitsOfOneRow is [Commits] of callers that all update the same row: each waits for the commit of another.
func CommitsOfOneRow(ctx context.Context, databaseURL string, callers int,
	warmUp, duration time.Duration) (bench.Result, error) {
	return commits(ctx, "commit-one-row", databaseURL, callers, warmUp, duration, func(int) int { return 1 })
}

func commits(
	ctx context.Context, scenario, databaseURL string, callers int, warmUp, duration time.Duration,
	row func(caller int) int,
) (res bench.Result, err error) {
	c, err := newCommitters(ctx, databaseURL, callers)
	if err != nil {
		return res, err
	}
	defer c.close(ctx)
	from := time.Now().Add(warmUp)
	took, err := c.run(ctx, from, from.Add(duration), row)
	if err != nil {
		return res, err
	}
	return bench.Result{
		Scenario: scenario, Callers: len(c.conns), WarmUp: warmUp.Seconds(), Seconds: time.Since(from).Seconds(),
		Figures: figures(took, time.Since(from)),
	}, nil
}

// committers are the callers' connections, and the table that they update.
type committers struct {
	pool  *pgxpool.Pool
	table string
	conns []*pgxpool.Conn
}

// newCommitters makes the connections, the table and a row for each. Pages have free space, so that updates stay on
// them, and few rows, so that callers seldom need the same page.
func newCommitters(ctx context.Context, databaseURL string, callers int) (c *committers, err error) {
	cfg, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(max(callers, 1))
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c = &committers{pool: pool, table: pgx.Identifier{"bench_commit_" + strings.ToLower(rand.Text()[:10])}.Sanitize()}
	if err := c.prepare(ctx, callers); err != nil {
		c.close(ctx)
		return nil, fmt.Errorf("committing a row: %w", err)
	}
	return c, nil
}

func (c *committers) prepare(ctx context.Context, callers int) error {
	var free int
	if err := c.pool.QueryRow(ctx, freeConnections).Scan(&free); err != nil {
		return err
	}
	callers = max(1, min(callers, free))
	if err := c.createTable(ctx); err != nil {
		return err
	}
	if _, err := c.pool.Exec(ctx, "INSERT INTO "+c.table+" SELECT caller, 0 FROM generate_series(1, $1) AS caller",
		callers); err != nil {
		return err
	}
	for range callers {
		conn, err := c.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		c.conns = append(c.conns, conn)
	}
	return nil
}

// createTable does not end with ctx: Postgres may still commit a statement whose client has gone, after close looked
// for the table.
func (c *committers) createTable(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	_, err := c.pool.Exec(ctx, "CREATE TABLE "+c.table+
		" (caller integer PRIMARY KEY, n bigint NOT NULL) WITH (fillfactor = 10)")
	return err
}

// freeConnections counts the connections that a login without privileges may still open, less a few for other programs.
const freeConnections = `
SELECT (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int - sum(numbackends) - 4)::int
FROM pg_stat_database`

// tableTimeout bounds creating and dropping the table.
const tableTimeout = 10 * time.Second

// close also works after ctx has ended.
func (c *committers) close(ctx context.Context) {
	for _, conn := range c.conns {
		conn.Release()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tableTimeout)
	defer cancel()
	// after a lost connection the table stays, under a name that shows its purpose
	_, _ = c.pool.Exec(ctx, "DROP TABLE IF EXISTS "+c.table)
	c.pool.Close()
}

// run returns the latencies of the commits that begin between from and until.
func (c *committers) run(ctx context.Context, from, until time.Time,
	row func(caller int) int) (*hdrhistogram.Histogram, error) {
	took := make([]*hdrhistogram.Histogram, len(c.conns))
	callers, ctx := errgroup.WithContext(ctx)
	for i, conn := range c.conns {
		took[i] = newHistogram()
		callers.Go(func() error { return c.loop(ctx, conn, row(i+1), took[i], from, until) })
	}
	if err := callers.Wait(); err != nil {
		return nil, err
	}
	all := newHistogram()
	for _, t := range took {
		all.Merge(t)
	}
	return all, nil
}

func (c *committers) loop(ctx context.Context, conn *pgxpool.Conn, row int, took *hdrhistogram.Histogram,
	from, until time.Time) error {
	update := "UPDATE " + c.table + " SET n = n + 1 WHERE caller = $1"
	for start := time.Now(); start.Before(until); start = time.Now() {
		if _, err := conn.Exec(ctx, update, row); err != nil {
			return err
		}
		if !start.Before(from) {
			_ = took.RecordValue(min(time.Since(start), slowest).Microseconds()) // fails only beyond slowest
		}
	}
	return nil
}

// slowest is the longest latency that the histogram holds.
const slowest = time.Minute

// newHistogram makes a histogram of microseconds.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, slowest.Microseconds(), 3) }

func figures(took *hdrhistogram.Histogram, over time.Duration) bench.Figures {
	at := func(percentile float64) float64 { return float64(took.ValueAtPercentile(percentile)) / 1000 }
	return bench.Figures{
		Calls: took.TotalCount(), Errors: map[string]int64{}, PerSecond: float64(took.TotalCount()) / over.Seconds(),
		Latency: bench.Latency{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(took.Max()) / 1000},
	}
}
