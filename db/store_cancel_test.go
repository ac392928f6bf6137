package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

// Pins callers that leave while their query runs, and whose connection is closed: each costs Postgres a new backend, so
// clients that reset their requests slow down all others.
func TestCallersThatLeaveCostNoConnection(t *testing.T) {
	t.Parallel()
	const session = "eu.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10"
	for name, call := range map[string]func(ctx context.Context, s *db.Store) error{
		"register": func(ctx context.Context, s *db.Store) error {
			_, err := s.Register(ctx, db.Registration{InstanceID: "a", Endpoint: "a:1", Region: "eu",
				Modes: []string{"duel"}, Capacity: 16})
			return err
		},
		"drain": func(ctx context.Context,
			s *db.Store) error {
			_, err := s.SetDrain(ctx, ref("a"), true)
			return err
		},
		"deregister": func(ctx context.Context, s *db.Store) error { return s.Deregister(ctx, ref("a")) },
		"session":    func(ctx context.Context, s *db.Store) error { _, err := s.Session(ctx, session); return err },
		"report on an unknown session": func(ctx context.Context, s *db.Store) error {
			_, err := s.ReportSeats(ctx, db.SeatReport{InstanceRef: ref("a"), SessionID: "none"})
			return err
		},
		"create backfill": func(ctx context.Context, s *db.Store) error {
			_, err := s.CreateBackfill(ctx, "eu",
				db.NewBackfill{EncodeBody: func(string, time.Time) []byte { return []byte{} }})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.AddServer("a", 16)
			s := b.Replica()
			_ = call(t.Context(), s)
			before := s.Pool().Stat().NewConnsCount()
			for range 20 {
				b.leave(func(ctx context.Context) { _ = call(ctx, s) })
			}
			require.LessOrEqual(t, s.Pool().Stat().NewConnsCount()-before, int64(3),
				"a machine that pauses for a second may cost one")
			b.AddServer("a", 16)
			b.RequireInvariants()
		})
	}
}

// Pins a transaction that begins for a caller that has left already.
func TestNoTransactionBeginsForCallersThatHaveLeft(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := b.Register(gone, db.Registration{InstanceID: "a", Endpoint: "a:1", Region: "eu", Modes: []string{"duel"},
		Capacity: 16})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, one[int](b, "SELECT count(*) FROM instance_directory"))
}

// leave makes a call, cancels it while one of its queries waits for a lock, and waits until it has returned.
func (b *bundle) leave(call func(ctx context.Context)) {
	b.t.Helper()
	tx := must.Get(b.Pool().Begin(b.t.Context()))(b.t)
	defer func() { _ = tx.Rollback(context.Background()) }()
	must.Get(tx.Exec(b.t.Context(), "LOCK TABLE instance_directory, instances, sessions, tickets, backfills IN ACCESS EXCLUSIVE MODE"))(b.t)
	ctx, leave := context.WithCancel(b.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); call(ctx) }()
	b.AwaitBlocked(1)
	leave()
	require.NoError(b.t, tx.Rollback(b.t.Context()))
	<-done
}
