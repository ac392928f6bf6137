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

// ledger reads current and past seats and sessions from the tables.
type ledger struct{ db *pgxpool.Pool }

// past is the common beginning of the queries below.
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

// eviction is the state of the players who had a seat on a server that was killed.
type eviction struct {
	open              int           // sessions that the director has not closed yet
	players           int           // who lost a seat when it closed them
	inside            int           // of these, connected at the time
	seatless, waiting []string      // players without a seat elsewhere, and players with one who are not connected yet
	slowest           time.Duration // from the kill until the last of the others connected elsewhere
}

// over reports whether all of them play elsewhere.
func (e *eviction) over() bool {
	return e.players > 0 && e.open+len(e.seatless)+len(e.waiting) == 0
}

func (l ledger) eviction(ctx context.Context, server string, killed time.Time) (e eviction, err error) {
	err = l.db.QueryRow(ctx, past+`, victim AS (
			SELECT sub, coalesce(bool_or(connected_at < $2), false) AS inside FROM seat
			WHERE instance_id = $1 AND left_at >= $2 AND reason LIKE 'session %' GROUP BY sub
		), player AS (
			SELECT v.sub, v.inside, count(s.sub) > 0 AS seated, min(s.connected_at) - $2 AS plays
			FROM victim v LEFT JOIN seat s ON s.sub = v.sub AND s.instance_id <> $1 AND (s.reserved_at > $2 OR s.connected_at > $2)
			GROUP BY 1, 2
		)
		SELECT (SELECT count(*) FROM sessions WHERE instance_id = $1), count(*), count(*) FILTER (WHERE inside),
			array_agg(sub ORDER BY sub) FILTER (WHERE NOT seated), array_agg(sub ORDER BY sub) FILTER (WHERE seated AND plays IS NULL),
			coalesce(max(plays), '0')
		FROM player`, server, killed).Scan(&e.open, &e.players, &e.inside, &e.seatless, &e.waiting, &e.slowest)
	return e, err
}

// transactionSlack is how long before a call the transaction may have begun that ended the seat, without the call seeing it.
// Rows carry the time at which their transaction began, and on a slow disk it commits seconds later.
const transactionSlack = 10 * time.Second

// unknown lists the seats that players were given and that the database did not hold at any moment of the call.
func (l ledger) unknown(ctx context.Context, given []answer) ([]string, error) {
	var sessions, players []string
	var from, until []time.Time
	for _, t := range given {
		sessions, players = append(sessions, t.Session), append(players, t.player)
		from, until = append(from, t.asked.Add(-transactionSlack)), append(until, t.at)
	}
	rows, _ := l.db.Query(ctx, past+`
		SELECT DISTINCT t.sub || ' in ' || t.session
		FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) AS t(session, sub, since, until)
		WHERE NOT EXISTS (
			SELECT 1 FROM seat s WHERE s.region || '.' || s.session_id = t.session AND s.sub = t.sub
			AND s.reserved_at <= t.until AND (s.left_at IS NULL OR s.left_at >= t.since))
		ORDER BY 1`, sessions, players, from, until) // CollectRows returns the error
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// played counts the players whose session token a game server has redeemed.
func (l ledger) played(ctx context.Context) (players int, err error) {
	err = l.db.QueryRow(ctx, past+`SELECT count(DISTINCT sub) FROM seat WHERE connected_at IS NOT NULL`).Scan(&players)
	return players, err
}

// intruders counts the seats that one incarnation of a server got after a moment, and the players who have left it normally
// since.
func (l ledger) intruders(ctx context.Context, incarnation uuid.UUID, since time.Time) (seats, leftWell int, err error) {
	err = l.db.QueryRow(ctx, past+`
		SELECT count(*) FILTER (WHERE reserved_at > $2), count(*) FILTER (WHERE left_at > $2 AND reason = 'left')
		FROM seat WHERE incarnation = $1`, incarnation, since).Scan(&seats, &leftWell)
	return seats, leftWell, err
}

// violations counts the rows of every view named invariant_…, also of one that is missing in ops.invariants.
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
