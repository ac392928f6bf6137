package proof

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
)

// quiet is the second part: many servers run, and nothing happens until one of them dies.
type quiet struct {
	*testbed

	cloud   *cloud
	servers int
	over    time.Duration

	used  bench.Reading
	calls int           // of the provider's API
	found time.Duration // from the end of the dead server's lease until it was found
}

func (q *quiet) run(ctx context.Context) error {
	q.options.say("%d servers run", q.servers)
	if err := q.sql(ctx, "provision_servers.sql", q.servers, serverCapacity); err != nil {
		return err
	}
	if err := q.sql(ctx, "settle.sql"); err != nil {
		return err
	}
	before, calls, err := q.begin(ctx)
	if err != nil {
		return err
	}
	select {
	case <-time.After(q.over):
	case <-ctx.Done():
		return ctx.Err()
	}
	after, err := q.Read(ctx)
	if err != nil {
		return err
	}
	q.used, q.calls = after.Sub(before), q.allCalls()-calls
	return q.dies(ctx)
}

func (q *quiet) begin(ctx context.Context) (bench.Reading, int, error) {
	r, err := q.Read(ctx)
	return r, q.allCalls(), err
}

func (q *quiet) allCalls() (n int) {
	for _, op := range []string{"deploy", "get", "list", "stop"} {
		n += q.cloud.fake.Calls(op)
	}
	return n
}

//go:embed provision_found.sql
var foundText string

// dies lets the last heartbeat of a server be one of now, and waits until its deployment is known to be lost.
func (q *quiet) dies(ctx context.Context) error {
	q.options.say("one of them dies")
	if err := q.sql(ctx, "provision_dies.sql"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		var late float64
		err := q.pool.QueryRow(ctx, foundText).Scan(&late)
		if err == nil {
			q.found = time.Duration(late * float64(time.Second))
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func inCores(v float64) string { return fmt.Sprintf("%.2f cores", v) }

func (q *quiet) findings() []Finding {
	cores := (q.used.ServerCPU + q.used.PostgresCPU).Seconds() / q.over.Seconds()
	return []Finding{
		noted(atMost("CPU while nothing happens", cores, 0.2, inCores),
			"%d servers; director %.3f, Postgres %.3f cores, %d calls of the API",
			q.servers, q.used.ServerCPU.Seconds()/q.over.Seconds(), q.used.PostgresCPU.Seconds()/q.over.Seconds(),
			q.calls),
		atMost("a dead server is found after the end of its lease within", float64(q.found.Milliseconds()), 2000,
			millis),
		q.cloud.withinLimits(),
	}
}
