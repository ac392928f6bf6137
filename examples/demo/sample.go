package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// sample is what the ops views say at one moment.
type sample struct {
	servers                        []serverRow
	placements, matches, connected int
	broken                         []brokenRow
}

// serverRow is a game server as ops.fleet knows it.
type serverRow struct {
	Name, Status      string
	Alive             bool
	Silent            *time.Duration // since the last heartbeat; nil when it is gone
	Sessions, Players int
	Reserved          int // seats that its sessions take
	Capacity          int
}

// over says that somebody was promised a seat that is not there.
func (s serverRow) over() bool { return s.Reserved > s.Capacity || s.Players > s.Capacity }

// brokenRow is an invariant that does not hold.
type brokenRow struct {
	Name       string
	Violations int
}

func takeSample(ctx context.Context, db *pgxpool.Pool) (s sample, err error) {
	rows, _ := db.Query(ctx, `
		SELECT instance, status, alive, lease_age, open_sessions, players::int, reserved_seats, capacity
		FROM ops.fleet ORDER BY length(instance), instance`) // The error comes again from the rows.
	s.servers, err = pgx.CollectRows(rows, pgx.RowToStructByPos[serverRow])
	totals := db.QueryRow(ctx, `
		SELECT (SELECT coalesce(sum(placements), 0)::int FROM ops.placements_per_minute),
		       (SELECT count(*) FROM ops.sessions) + (SELECT count(*) FROM ops.session_lifetimes),
		       (SELECT coalesce(sum(connected), 0)::int FROM ops.sessions)`).Scan(&s.placements, &s.matches, &s.connected)
	rows, _ = db.Query(ctx, `SELECT name, violations FROM ops.invariants WHERE violations > 0`)
	var broken error
	s.broken, broken = pgx.CollectRows(rows, pgx.RowToStructByPos[brokenRow])
	return s, errors.Join(err, totals, broken)
}
