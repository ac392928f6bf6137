package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// collectProofs makes all proofs but [endedWell]. The play must be over.
func (j *judge) collectProofs(ctx context.Context) []proof {
	return []proof{
		j.everybodyPlayed(ctx), j.waitersSeated(ctx), j.oneSeatEach(ctx), j.rulesHold(ctx), j.nobodyOverCapacity(),
		j.evictedPlayOn(ctx), j.matchingWentOn(ctx), j.nothingLost(ctx), j.wentOn(), j.drainHeld(ctx), j.thiefRefused(),
		j.cheatRefused(), j.poolServed(ctx), j.poolKept(ctx), j.poolShrank(), j.friendsMet(), j.friendsPlayed(ctx),
		j.friendsStayed(), j.invariantsHold(ctx),
	}
}

// everybodyPlayed compares what the bots say with what the database says.
func (j *judge) everybodyPlayed(ctx context.Context) proof {
	_, welcomed := j.players.countPlaying()
	total := j.players.botSwarm.Stats().Total()
	visits := total.Matches + total.Rejoins + total.Moves
	// $1 bots play, and $2 of them say that a game server has welcomed them.
	return j.askDatabase(ctx, "Every bot played", `
		SELECT count(DISTINCT sub) = $1 AND $2 = $1,
			format('%s of %s were admitted with a verified token, %s times; they picked up %s coins',
				least(count(DISTINCT sub), $2), $1, $3::int, $4::int)
		FROM seat WHERE connected_at IS NOT NULL AND region = $5`, botCount, welcomed, visits, total.Coins, region)
}

// nobodyOverCapacity proves that no server ever had more seats reserved than its capacity.
func (j *judge) nobodyOverCapacity() proof {
	p := proof{claim: "Nobody over capacity", holds: j.fleetTally.lookCount > 0 && j.fleetTally.overCapacity == ""}
	p.evidenceText = fmt.Sprintf("checked %d times; matches took at most %.0f %% of the seats of a server",
		j.fleetTally.lookCount, 100*j.fleetTally.fullestShare)
	if j.fleetTally.overCapacity != "" {
		p.evidenceText = "over capacity: " + j.fleetTally.overCapacity
	}
	return p
}

// evictedPlayOn proves that every player who lost a seat with the killed server has connected elsewhere since. inside
// says that the player was connected to the server when it was killed, and had not only a reserved seat.
func (j *judge) evictedPlayOn(ctx context.Context) proof {
	return j.askDatabase(ctx, "The killed server's players play on", `, victim AS (
			SELECT sub, coalesce(bool_or(connected_at < $2), false) AS inside FROM seat
			WHERE instance_id = $1 AND left_at >= $2 AND reason LIKE 'session %' GROUP BY sub
		), player AS (
			SELECT v.sub, v.inside, count(s.sub) > 0 AS seated, min(s.connected_at) - $2 AS plays
			FROM victim v LEFT JOIN seat s
				ON s.sub = v.sub AND s.instance_id <> $1 AND (s.reserved_at > $2 OR s.connected_at > $2)
			GROUP BY 1, 2
		), total AS (
			SELECT (SELECT count(*) FROM sessions WHERE instance_id = $1) AS open,
				count(*) AS players, count(plays) AS playing,
				count(*) FILTER (WHERE inside) AS inside, extract(epoch FROM coalesce(max(plays), '0')) AS slowest,
				array_agg(sub || CASE WHEN seated THEN ' has not connected' ELSE ' has no seat' END ORDER BY sub)
					FILTER (WHERE plays IS NULL) AS missing
			FROM player
		)
		SELECT open = 0 AND inside > 0 AND playing = players,
			format('%s of %s on %s (%s inside) play elsewhere, the last after %s s',
				playing, players, $1, inside, round(slowest, 1)) ||
			CASE WHEN open > 0 THEN format('; %s sessions are still open there', open) ELSE '' END ||
			coalesce('; ' || array_to_string(missing[:5], ', '), '')
		FROM total`, j.chaosRecord.killedServer, j.chaosRecord.serverKilledAt)
}

// transactionSlack is how long before the first attempt of a call left_at of its seat may be: left_at is when the
// transaction began that ended the seat, and on a slow disk that transaction commits, for others to see, seconds later.
const transactionSlack = 10 * time.Second

// nothingLost proves that the database had every seat that an answer gave, at some moment of the call.
func (j *judge) nothingLost(ctx context.Context) proof {
	var sessions, players []string
	var from, until []time.Time
	everyAnswer := func(answer) bool { return true }
	for _, a := range j.players.answers.findWhere(everyAnswer) {
		sessions, players = append(sessions, a.matchTicket.SessionID), append(players, a.playerName)
		from, until = append(from, a.firstCalledAt.Add(-transactionSlack)), append(until, a.answeredAt)
	}
	return j.askDatabase(ctx, "The killed replica lost nothing", `, lost AS (
			SELECT DISTINCT t.sub || ' in ' || t.session AS seat
			FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::timestamptz[]) AS t(session, sub, since, until)
			WHERE NOT EXISTS (
				SELECT FROM seat s WHERE s.region || '.' || s.session_id = t.session AND s.sub = t.sub
				AND s.reserved_at <= t.until AND (s.left_at IS NULL OR s.left_at >= t.since))
		)
		SELECT count(*) = 0 AND $5::int > 0, CASE count(*)
			WHEN 0 THEN format('%s answers gave a seat, %s of them by %s: the database has all seats',
				cardinality($1), $5, $6::text)
			ELSE format('players got %s seats that the database does not have, such as %s', count(*), min(seat)) END
		FROM lost`, sessions, players, from, until,
		j.countAnswers(j.chaosRecord.beforeKill), j.chaosRecord.killedReplica.command.Name)
}

// wentOn proves that the other replica answered players while the killed one was down, and that the killed one answered
// after its restart.
func (j *judge) wentOn() proof {
	meanwhile, afterRestart := j.countAnswers(j.chaosRecord.withoutReplica), j.countAnswers(j.chaosRecord.afterRestart)
	return proof{
		claim: "Everything went on without it", holds: meanwhile > 0 && afterRestart > 0,
		evidenceText: fmt.Sprintf("%d calls were answered while %s was down; after its restart it answered %d",
			meanwhile, j.chaosRecord.killedReplica.command.Name, afterRestart),
	}
}

// drainHeld proves that the drained incarnation got no new players: a server that registers again under the same id is
// another one.
func (j *judge) drainHeld(ctx context.Context) proof {
	return j.askDatabase(ctx, "The drained server took nobody new", `
		SELECT $3 <> '' AND count(*) FILTER (WHERE reserved_at > $2) = 0,
			format('%s seats given on %s since; %s players finished their match there',
				count(*) FILTER (WHERE reserved_at > $2), $3, count(*) FILTER (WHERE left_at > $2 AND reason = 'left'))
		FROM seat WHERE incarnation = $1`,
		j.chaosRecord.drainedIncarnation, j.chaosRecord.drainedAt, j.chaosRecord.drainedServer)
}

// thiefRefused proves that game servers refused all tokens that were shown to them a second time.
func (j *judge) thiefRefused() proof {
	// If no token was shown, nothing was refused.
	return proof{
		claim:        "Replayed tokens were refused",
		holds:        j.chaosRecord.tokensShown > 0 && j.chaosRecord.tokensShown == j.chaosRecord.tokensRefused,
		evidenceText: fmt.Sprintf("%d of %d", j.chaosRecord.tokensRefused, j.chaosRecord.tokensShown),
	}
}

// invariantsHold proves that no invariant was violated. It also fails when a view named invariant_… is missing in
// ops.invariants, which the watcher reads.
func (j *judge) invariantsHold(ctx context.Context) proof {
	return j.askDatabase(ctx, "All invariants hold", `, view AS (
			SELECT count(*) AS known FROM pg_views WHERE schemaname = 'ops' AND viewname LIKE 'invariant\_%'
		)
		SELECT sum(violations) = 0 AND count(*) = known AND $2 = '', CASE
			WHEN sum(violations) > 0
			THEN 'broken now: ' || string_agg(name || ': ' || violations, ', ') FILTER (WHERE violations > 0)
			WHEN $2 <> '' THEN 'broken during the play: ' || $2
			ELSE format('%s of %s views ops.invariant_* are empty now, and were in each of %s earlier checks',
				count(*), known, $1::int) END
		FROM ops.invariants, view GROUP BY known`, j.fleetTally.lookCount, j.fleetTally.brokenInvariants)
}

// endedWell makes the last proof, from the error of stopping everything.
func endedWell(stopErr error) proof {
	p := proof{claim: "Everything stopped when told", holds: stopErr == nil,
		evidenceText: "every process that the demo did not kill ended with exit code 0"}
	if stopErr != nil {
		p.evidenceText = strings.ReplaceAll(stopErr.Error(), "\n", "; ")
	}
	return p
}
