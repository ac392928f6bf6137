package db

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// warmConns is how many connections [Store.WarmUp] opens: about as many as the first calls use at a time.
const warmConns = 4

// WarmUp opens some connections, and runs on each the statements of placements and rooms for no row: connecting,
// parsing and filling the caches of a new backend would take the first calls up to half a second. It also reads the
// valves, which the first call would wait for. Errors: Unavailable; ctx ended.
func (s *Store) WarmUp(ctx context.Context) error {
	// Before the loop, which may hold all connections of the pool.
	if _, err := s.currentLines(ctx); err != nil {
		return err
	}
	var conns []*pgxpool.Conn
	defer func() {
		for _, conn := range conns {
			conn.Release()
		}
	}()
	// All are held until the last one is open: the pool would return the same connection again.
	for range min(warmConns, s.pool.Config().MaxConns) {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return frame.Classify(err)
		}
		conns = append(conns, conn)
	}
	var warming errgroup.Group
	for _, conn := range conns {
		warming.Go(func() error { return warmUp(ctx, query.New(conn)) })
	}
	return frame.Classify(warming.Wait())
}

// warmUp runs the statements by which placements and rooms are decided.
func warmUp(ctx context.Context, q *query.Queries) error {
	// With empty parameters the statements touch no row. Postgres caches their plans and the functions that they call.
	for _, run := range []func() error{
		func() error { _, err := q.ModesOfPools(ctx); return err },
		func() error { _, err := q.TryLocks(ctx, query.TryLocksParams{}); return err },
		func() error { _, err := q.SeatsAround(ctx, query.SeatsAroundParams{}); return err },
		func() error { _, err := q.AvoidedAround(ctx, query.AvoidedAroundParams{}); return err },
		func() error { _, err := q.FillForOne(ctx, query.FillForOneParams{}); return err },
		func() error { _, err := q.FillOpenSessions(ctx, query.FillOpenSessionsParams{}); return err },
		func() error { _, err := q.WaitForOpenSessions(ctx, query.WaitForOpenSessionsParams{}); return err },
		func() error { _, err := q.LockHosts(ctx, query.LockHostsParams{}); return err },
		func() error { _, err := q.StillPlaceable(ctx, query.StillPlaceableParams{}); return err },
		func() error { return q.OpenSessions(ctx, query.OpenSessionsParams{}) },
		func() error { return q.TakeSeats(ctx, query.TakeSeatsParams{}) },
		func() error { _, err := q.TakenRooms(ctx, query.TakenRoomsParams{}); return err },
		func() error { _, err := q.RoomHosts(ctx, query.RoomHostsParams{}); return err },
		func() error { _, err := q.RoomCandidates(ctx, query.RoomCandidatesParams{}); return err },
		func() error { _, err := q.LockAgentStates(ctx, query.LockAgentStatesParams{}); return err },
		func() error { _, err := q.ReserveRooms(ctx, query.ReserveRoomsParams{}); return err },
	} {
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}
