package baseline

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
)

// noticeInterval is the time between two notifications: long enough that no notification waits for another.
const noticeInterval = 5 * time.Millisecond

// Notices measures how long a Postgres notification takes from the transaction that sends it to a connection that
// listens: the least time in which one process learns of another one's commit. Errors: a notification failed, or ctx
// ended.
func Notices(ctx context.Context, databaseURL string, warmUp, duration time.Duration) (res bench.Result, err error) {
	sender, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return res, err
	}
	defer func() { _ = sender.Close(context.WithoutCancel(ctx)) }()
	receiver, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return res, err
	}
	defer func() { _ = receiver.Close(context.WithoutCancel(ctx)) }()
	channel := "bench_" + rand.Text()
	if _, err := receiver.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return res, fmt.Errorf("listening for notifications: %w", err)
	}
	took := newHistogram()
	from := time.Now().Add(warmUp)
	ticks := time.NewTicker(noticeInterval)
	defer ticks.Stop()
	for start := time.Now(); start.Before(from.Add(duration)); start = time.Now() {
		if _, err := sender.Exec(ctx, "SELECT pg_notify($1, '')", channel); err != nil {
			return res, err
		}
		if _, err := receiver.WaitForNotification(ctx); err != nil {
			return res, err
		}
		if !start.Before(from) {
			_ = took.RecordValue(min(time.Since(start), slowest).Microseconds()) // fails only beyond slowest
		}
		<-ticks.C
	}
	return bench.Result{
		Scenario: "notice", Callers: 1, WarmUp: warmUp.Seconds(), Seconds: time.Since(from).Seconds(),
		Figures: figures(took, time.Since(from)),
	}, nil
}
