package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ledger asks the tables for what has been: seats and sessions, those that are and those that were.
type ledger struct{ db *pgxpool.Pool }

// past is what the questions below begin with.
const past = `
	WITH hosted AS (
		SELECT region, id, instance_id, incarnation FROM sessions
		UNION ALL
		SELECT region, id, instance_id, incarnation FROM session_history
	), seated AS (
		SELECT region, session_id, sub, reserved_at, connected_at, NULL::timestamptz AS left_at, NULL AS reason FROM seats
		UNION ALL
		SELECT region, session_id, sub, reserved_at, connected_at, left_at, reason FROM seat_history
	), seat AS (
		SELECT s.*, h.instance_id, h.incarnation FROM seated s JOIN hosted h ON h.region = s.region AND h.id = s.session_id
	)`

// eviction is what became of those who had a seat on a server that was killed.
type eviction struct {
	open              int           // sessions that the director has not closed yet
	players           int           // who lost a seat when it did
	inside            int           // of them had connected
	seatless, waiting []string      // of them have no seat elsewhere, or one but do not play there, yet
	slowest           time.Duration // from the kill until they played elsewhere
}

// over says that all of them play on.
func (e *eviction) over() bool {
	return e.players > 0 && e.open+len(e.seatless)+len(e.waiting) == 0
}

// evicted is one of them.
type evicted struct {
	Player string
	Inside bool
	Seated bool
	Plays  *time.Duration // after the kill; nil: not yet
}

func (l ledger) eviction(ctx context.Context, server string, killed time.Time) (e eviction, err error) {
	if err := l.db.QueryRow(ctx, `SELECT count(*) FROM sessions WHERE instance_id = $1`, server).Scan(&e.open); err != nil {
		return e, err
	}
	rows, _ := l.db.Query(ctx, past+`, victim AS (
			SELECT sub, bool_or(connected_at < $2) AS inside FROM seat
			WHERE instance_id = $1 AND left_at >= $2 AND reason LIKE 'session %' GROUP BY sub
		)
		SELECT v.sub, coalesce(v.inside, false), count(s.sub) > 0, min(s.connected_at) - $2
		FROM victim v LEFT JOIN seat s ON s.sub = v.sub AND s.instance_id <> $1 AND (s.reserved_at > $2 OR s.connected_at > $2)
		GROUP BY 1, 2 ORDER BY 1`, server, killed) // The error comes again from the rows.
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[evicted])
	for _, player := range all {
		e.add(player)
	}
	return e, err
}

func (e *eviction) add(p evicted) {
	e.players++
	if p.Inside {
		e.inside++
	}
	switch {
	case !p.Seated:
		e.seatless = append(e.seatless, p.Player)
	case p.Plays == nil:
		e.waiting = append(e.waiting, p.Player)
	default:
		e.slowest = max(e.slowest, *p.Plays)
	}
}

// decided is how long before a call a transaction may have begun that the call's decision did not see yet. Rows bear the
// time at which their transaction began, and on a slow disk it commits seconds later.
const decided = 10 * time.Second

// unknown lists the seats that players were told of and that the database did not hold at any moment of the call.
func (l ledger) unknown(ctx context.Context, told []testimony) ([]string, error) {
	var sessions, players []string
	var from, until []time.Time
	for _, t := range told {
		sessions, players = append(sessions, t.session), append(players, t.player)
		from, until = append(from, t.asked.Add(-decided)), append(until, t.at)
	}
	rows, _ := l.db.Query(ctx, past+`
		SELECT DISTINCT t.sub || ' in ' || t.session
		FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) AS t(session, sub, since, until)
		WHERE NOT EXISTS (
			SELECT 1 FROM seat s WHERE s.region || '.' || s.session_id = t.session AND s.sub = t.sub
			AND s.reserved_at <= t.until AND (s.left_at IS NULL OR s.left_at >= t.since))
		ORDER BY 1`, sessions, players, from, until) // The error comes again from the rows.
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// played counts the players whose session token a game server has redeemed.
func (l ledger) played(ctx context.Context) (players int, err error) {
	err = l.db.QueryRow(ctx, past+`SELECT count(DISTINCT sub) FROM seat WHERE connected_at IS NOT NULL`).Scan(&players)
	return players, err
}

// intruders counts the seats that were given in a server's life after a moment, and the players who left it since in good
// order.
func (l ledger) intruders(ctx context.Context, life uuid.UUID, since time.Time) (seats, leftWell int, err error) {
	err = l.db.QueryRow(ctx, past+`
		SELECT count(*) FILTER (WHERE reserved_at > $2), count(*) FILTER (WHERE left_at > $2 AND reason = 'left')
		FROM seat WHERE incarnation = $1`, life, since).Scan(&seats, &leftWell)
	return seats, leftWell, err
}

// violations counts the rows of every view that is named as an invariant, whether ops.invariants sums it up or not.
func (l ledger) violations(ctx context.Context) (views int, broken []string, err error) {
	rows, _ := l.db.Query(ctx, `SELECT viewname FROM pg_views WHERE schemaname = 'ops' AND viewname LIKE 'invariant\_%' ORDER BY 1`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, nil, err
	}
	for _, name := range names {
		var n int
		if err := l.db.QueryRow(ctx, `SELECT count(*) FROM `+pgx.Identifier{"ops", name}.Sanitize()).Scan(&n); err != nil {
			return 0, nil, err
		}
		if n > 0 {
			broken = append(broken, fmt.Sprintf("%s: %d", strings.TrimPrefix(name, "invariant_"), n))
		}
	}
	return len(names), broken, nil
}
