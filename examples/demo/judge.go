package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// proof is one promise, whether it was kept, and what shows that.
type proof struct {
	holds               bool
	claim, evidenceText string
}

// judge makes the proofs from the database, the players' answers, the watcher's tally and the record of chaos.
type judge struct {
	dbPool       *pgxpool.Pool
	players      *players
	fleetTally   tally
	chaosRecord  record
	poolFacts    poolFacts
	friendsFacts friendsFacts
}

// record says what chaos did. Times of servers are the database's; those of the replica are this process's, as are the
// times of the players' answers.
type record struct {
	killedServer   string
	serverKilledAt time.Time

	killedReplica   replica // later started again
	replicaKilledAt time.Time
	replicaBackAt   time.Time // zero: not yet

	drainedServer      string
	drainedIncarnation uuid.UUID // a server that registers again gets another one
	drainedAt          time.Time

	tokensShown, tokensRefused int
	cheatsTried, cheatsRefused int

	queueing queueing
}

// askDatabase makes a proof with a query that returns whether the claim holds, and the evidence. The query may read the
// CTE seat: every seat, current or past, with the server that hosts it.
func (j *judge) askDatabase(ctx context.Context, claim, query string, args ...any) proof {
	const seat = `
		WITH hosted AS (
			SELECT region, id, instance_id, incarnation FROM sessions
			UNION ALL
			SELECT region, id, instance_id, incarnation FROM session_history
		), seated AS (
			SELECT region, session_id, sub, reserved_at, connected_at, NULL::timestamptz AS left_at, NULL AS reason
			FROM seats
			UNION ALL
			SELECT region, session_id, sub, reserved_at, connected_at, left_at, reason FROM seat_history
		), seat AS (
			SELECT s.*, h.instance_id, h.incarnation FROM seated s
			JOIN hosted h ON h.region = s.region AND h.id = s.session_id
		)`
	p := proof{claim: claim}
	// A query that fails proves nothing: the promise counts as broken.
	if err := j.dbPool.QueryRow(ctx, seat+query, args...).Scan(&p.holds, &p.evidenceText); err != nil {
		return proof{claim: claim, evidenceText: err.Error()}
	}
	return p
}

// countAnswers counts the answers to the bots for which wanted returns true.
func (j *judge) countAnswers(wanted func(answer) bool) int {
	return len(j.players.answers.findWhere(wanted))
}

// beforeKill selects the answers of the killed replica before it was killed.
func (r *record) beforeKill(a answer) bool {
	return a.replicaURL == r.killedReplica.baseURL && a.answeredAt.Before(r.replicaKilledAt)
}

// withoutReplica selects the answers of other replicas while the killed one was down.
func (r *record) withoutReplica(a answer) bool {
	return a.replicaURL != r.killedReplica.baseURL && a.answeredAt.After(r.replicaKilledAt) &&
		(r.replicaBackAt.IsZero() || a.answeredAt.Before(r.replicaBackAt))
}

// afterRestart selects the answers of the killed replica after its restart.
func (r *record) afterRestart(a answer) bool {
	return !r.replicaBackAt.IsZero() && a.replicaURL == r.killedReplica.baseURL && a.answeredAt.After(r.replicaBackAt)
}
