package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// queueing records the faults that chaos injected into the director loop, with times of the database.
type queueing struct {
	serversStartAt time.Time // just before the first game server was started
	workerKilledAt time.Time // just before the kill
	epochKilled    int64     // of the profile's owner when it was killed; each later owner has a higher one
	takenOverAt    time.Time // since when another worker owns the profile; zero: none does
}

// matchesWait reports whether at least three tickets are matched and wait for the first game server, so that a proof
// about them says something.
func (c *chaos) matchesWait(ctx context.Context) bool {
	var waiting int
	err := c.proofJudge.dbPool.QueryRow(ctx,
		`SELECT count(DISTINCT ticket_id) FROM ticket_events WHERE state = 'waiting_for_server'`).Scan(&waiting)
	return err == nil && waiting > 2
}

// openArena starts the game servers, and records since when matches need not wait for one.
func (c *chaos) openArena(ctx context.Context) error {
	var tickets, players int
	err := c.proofJudge.dbPool.QueryRow(ctx, `
		SELECT count(*), coalesce(sum(players), 0), clock_timestamp() FROM (
			SELECT count(DISTINCT p.sub) AS players FROM ticket_events e JOIN ticket_players p USING (region, ticket_id)
			WHERE e.state = 'waiting_for_server' GROUP BY ticket_id) t`).
		Scan(&tickets, &players, &c.proofJudge.chaosRecord.queueing.serversStartAt)
	if err != nil {
		return err
	}
	c.screen.eventf("·", "no game server yet: %d parties of %d players are matched and wait for one", tickets, players)
	if err := c.cluster.startServers(ctx); err != nil {
		return err
	}
	c.screen.eventf("✓", "%d game servers with %d or %d seats have registered", serverCount, capacityOf(1),
		capacityOf(0))
	return nil
}

// killWorker kills the worker that decides for the profile.
func (c *chaos) killWorker(ctx context.Context) error {
	// Read before the time of the kill: an owner after a handover meanwhile has a later epoch.
	owner, epoch, err := c.cluster.profileOwner(ctx)
	if err != nil {
		return err
	}
	q := &c.proofJudge.chaosRecord.queueing
	if err := c.proofJudge.dbPool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&q.workerKilledAt); err != nil {
		return err
	}
	c.cluster.processNamed(owner).Kill()
	q.epochKilled = epoch
	c.screen.eventf("!", "kill -9 %s, which decided for the profile %s", owner, profileName)
	return nil
}

// noteTakeover reports whether another worker has made a match of the profile, and records since when it owns it. It
// compares epochs, not times: the killed worker may have handed the profile over in the moment before.
func (c *chaos) noteTakeover(ctx context.Context) bool {
	q := &c.proofJudge.chaosRecord.queueing
	since, ok := c.cluster.ownedSince(ctx, q.epochKilled)
	if !ok {
		return false
	}
	var matches int
	err := c.proofJudge.dbPool.QueryRow(ctx, `SELECT count(*) FROM match_history WHERE profile = $1 AND epoch > $2`,
		profileName, q.epochKilled).Scan(&matches)
	if err != nil || matches == 0 {
		return false
	}
	q.takenOverAt = since
	return true
}

// reportTakeover prints how soon another worker has taken the profile over.
func (c *chaos) reportTakeover(context.Context) error {
	q := c.proofJudge.chaosRecord.queueing
	c.screen.eventf("✓", "another worker decides for it, %.1f s later", q.takenOverAt.Sub(q.workerKilledAt).Seconds())
	return nil
}

// waitersSeated proves that tickets that waited for the first server were assigned.
func (j *judge) waitersSeated(ctx context.Context) proof {
	return j.askDatabase(ctx, "Those who waited for a server got one", `, waited AS (
			SELECT DISTINCT ticket_id FROM ticket_events WHERE state = 'waiting_for_server' AND at < $1
		), ended AS (
			SELECT w.ticket_id, e.state, e.at FROM waited w
			LEFT JOIN ticket_events e
				ON e.ticket_id = w.ticket_id AND e.state IN ('assigned', 'declined', 'cancelled', 'expired')
		)
		SELECT count(*) > 0 AND bool_and(state IS NOT DISTINCT FROM 'assigned'),
			format('%s tickets waited before the first game server; %s were assigned, all within %s s',
				count(*), count(*) FILTER (WHERE state = 'assigned'), round(extract(epoch FROM max(at) - $1), 1))
		FROM ended`, j.chaosRecord.queueing.serversStartAt)
}

// matchingWentOn proves that another worker made matches after the first one was killed.
func (j *judge) matchingWentOn(ctx context.Context) proof {
	q := j.chaosRecord.queueing
	p := j.askDatabase(ctx, "Matching went on without its worker", `
		SELECT count(*) FILTER (WHERE m.epoch > $3) > 0 AND count(*) FILTER (WHERE m.epoch <= $3) > 0,
			format('%s matches before, %s after another took over within %s s', count(*) FILTER (WHERE m.epoch <= $3),
				count(*) FILTER (WHERE m.epoch > $3),
				round(extract(epoch FROM greatest($2::timestamptz - $1::timestamptz, '0')), 1))
		FROM match_history m WHERE profile = $4`, q.workerKilledAt, q.takenOverAt, q.epochKilled, profileName)
	p.holds = p.holds && !q.takenOverAt.IsZero()
	return p
}

// oneSeatEach proves that every player of a match had a seat in its session, and in no other one of that match. A
// worker that is killed has not recorded the tickets of its last matches, so that only the number of their players is
// compared.
func (j *judge) oneSeatEach(ctx context.Context) proof {
	return j.askDatabase(ctx, "Every matched player had one seat", `, matched AS (
			SELECT m.id AS match, p.sub FROM match_history m
			JOIN ticket_history t ON t.region = m.region AND t.id = ANY (m.tickets) AND t.match_id = m.id
			CROSS JOIN unnest(t.party) AS p(sub)
		), held AS (
			SELECT match_id, sub, session_id FROM seats UNION SELECT match_id, sub, session_id FROM seat_history
		), counted AS (
			SELECT m.match, m.sub, count(h.session_id) AS seats
			FROM matched m LEFT JOIN held h ON h.match_id = m.match AND h.sub = m.sub GROUP BY 1, 2
		), whole AS (
			SELECT m.id, m.players, (SELECT count(*) FROM held h WHERE h.match_id = m.id) AS seats FROM match_history m
		)
		SELECT count(*) > 0 AND bool_and(seats = 1) AND (SELECT bool_and(seats = players) FROM whole),
			(SELECT format('%s players in %s matches', coalesce(sum(players), 0), count(*)) FROM whole) ||
			coalesce(
				'; not so ' || (array_agg(sub || ' with ' || seats || ' in ' || match) FILTER (WHERE seats <> 1))[1],
				'; not so ' || (SELECT format('%s with %s players and %s seats', id, players, seats)
					FROM whole WHERE seats <> players LIMIT 1), '')
		FROM counted`)
}

// explainMatch runs director explain for the match with the most tickets; of several, the one with the longest wait.
func (j *judge) explainMatch(ctx context.Context, c *cluster) (text string, err error) {
	var match string
	err = j.dbPool.QueryRow(ctx, `
		SELECT m.id FROM match_history m JOIN ticket_history t ON t.match_id = m.id
		GROUP BY m.id, m.decided_at ORDER BY count(*) DESC, max(m.decided_at - t.created) DESC LIMIT 1`).Scan(&match)
	if err != nil {
		return "", fmt.Errorf("no match to explain: %w", err)
	}
	explain := c.newCommand("director", "explain", c.directorEnv, "explain", "match", match)
	// Not explain.Run, whose output goes to a log.
	cmd := exec.CommandContext(ctx, explain.Path, explain.Args...)
	cmd.Env = explain.Env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("director explain: %w: %s", err, out)
	}
	return string(out), nil
}
