package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// chaos injects the faults, and does what an operator does. One goroutine runs it; the proofs read its record afterwards.
type chaos struct {
	cluster *cluster
	players *players
	screen  *screen
	record
}

// record says what chaos did. Times of servers are the database's; those of the replica are this process's, as are the times
// of the players' answers.
type record struct {
	server         string // killed
	serverKilledAt time.Time

	replica         *replica // killed, and later started again
	replicaKilledAt time.Time
	replicaBackAt   time.Time // zero: not yet

	drained            string
	drainedIncarnation uuid.UUID // a server that registers again gets another one
	drainedAt          time.Time

	tokensShown, tokensRefused int
}

// step is one thing that happens: after a share of the whole length, and when the system is ready for it. On a machine that
// stalls for seconds, faults wait.
type step struct {
	at    float64
	ready func(context.Context) bool
	do    func(context.Context) error
}

func (c *chaos) steps() []step {
	return []step{
		{0.25, c.crowded, c.stealTokens},
		{0.33, c.crowded, c.killServer},
		{0, c.serverGone, c.reportServerGone},
		{0, c.evictedPlayOn, c.reportEvictedPlayOn},
		{0.50, c.crowded, c.killReplica},
		{0.60, c.crowded, c.drainServer},
		{0.70, c.answeredWithoutReplica, c.restartReplica},
		{0.80, c.crowded, c.stealTokens},
		{1, c.everythingSeen, func(context.Context) error { return nil }},
	}
}

// run makes all steps in order, at least a twentieth of the length apart where a step has a time. It returns when everything
// that the proofs need has happened, or when ctx ends.
func (c *chaos) run(ctx context.Context, length time.Duration) error {
	last := time.Now()
	for _, s := range c.steps() {
		at := c.screen.begun.Add(time.Duration(s.at * float64(length)))
		if soonest := last.Add(length / 20); s.at > 0 && at.Before(soonest) {
			at = soonest
		}
		if !await(ctx, func() bool { return time.Now().After(at) && s.ready(ctx) }) {
			return nil
		}
		if err := s.do(ctx); err != nil {
			return err
		}
		last = time.Now()
	}
	return nil
}

// await polls until a condition holds, and returns false when ctx ends first.
func await(ctx context.Context, holds func() bool) bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
	return true
}

// crowded reports whether more than half of the bots are playing, so that faults meet players.
func (c *chaos) crowded(context.Context) bool {
	return c.players.playing() > c.cluster.options.bots/2
}

// busiest returns the ready server with the most connected players, but not one that was killed before.
func (c *chaos) busiest(ctx context.Context) (server string, connected int, now time.Time, err error) {
	err = c.cluster.db.QueryRow(ctx, `
		SELECT f.instance, (SELECT count(*) FROM ops.seats s WHERE s.instance = f.instance AND s.state = 'connected'), clock_timestamp()
		FROM ops.fleet f WHERE f.alive AND f.status = 'ready' AND f.instance <> $1 ORDER BY 2 DESC, 1 LIMIT 1`,
		c.server).Scan(&server, &connected, &now)
	return server, connected, now, err
}

func (c *chaos) killServer(ctx context.Context) error {
	server, connected, now, err := c.busiest(ctx)
	if err != nil {
		return err
	}
	c.server, c.serverKilledAt = server, now
	c.cluster.process(server).Kill()
	c.screen.notef("!", "kill -9 %s, with %d players on it", server, connected)
	return nil
}

func (c *chaos) serverGone(ctx context.Context) (gone bool) {
	err := c.cluster.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM ops.fleet WHERE instance = $1 AND status = 'gone')`, c.server).Scan(&gone)
	return err == nil && gone
}

func (c *chaos) reportServerGone(context.Context) error {
	c.screen.notef("·", "%s: lease expired; the director closes the matches there", c.server)
	return nil
}

func (c *chaos) evictedPlayOn(ctx context.Context) bool {
	e, err := ledger{c.cluster.db}.eviction(ctx, c.server, c.serverKilledAt)
	return err == nil && e.over()
}

func (c *chaos) reportEvictedPlayOn(ctx context.Context) error {
	e, err := ledger{c.cluster.db}.eviction(ctx, c.server, c.serverKilledAt)
	c.screen.notef("✓", "all %d players of %s play elsewhere, the last after %.1f s", e.players, c.server, e.slowest.Seconds())
	return err
}

func (c *chaos) killReplica(context.Context) error {
	r := c.cluster.replicas[len(c.cluster.replicas)-1]
	c.cluster.process(r.Name).Kill()
	c.replica, c.replicaKilledAt = r, time.Now()
	answered := c.players.answers.where(func(a answer) bool { return a.replica == r.addr })
	c.screen.notef("!", "kill -9 %s, which had answered %d calls of players", r.Name, len(answered))
	return nil
}

func (c *chaos) answeredWithoutReplica(context.Context) bool {
	return len(c.players.answers.where(c.withoutReplica)) > 0
}

// withoutReplica selects the answers of other replicas while the killed one was down.
func (r record) withoutReplica(a answer) bool {
	return a.replica != r.replica.addr && a.at.After(r.replicaKilledAt) && (r.replicaBackAt.IsZero() || a.at.Before(r.replicaBackAt))
}

func (c *chaos) restartReplica(ctx context.Context) error {
	start := time.Now()
	if err := c.cluster.launch(ctx, c.replica); err != nil {
		return err
	}
	c.replicaBackAt = time.Now()
	c.screen.notef("✓", "%s was started again, ready %s", c.replica.Name, took(start))
	return nil
}

// byReturned selects the answers of the killed replica after its restart.
func (r record) byReturned(a answer) bool {
	return !r.replicaBackAt.IsZero() && a.replica == r.replica.addr && a.at.After(r.replicaBackAt)
}

// everythingSeen reports whether what the proofs need has happened: all bots have played, and the restarted replica answers.
func (c *chaos) everythingSeen(context.Context) bool {
	for _, b := range c.players.Stats().Bots {
		if len(b.Visits) == 0 {
			return false
		}
	}
	return len(c.players.answers.where(c.byReturned)) > 0
}

// drainServer runs the SQL that an operator types into psql.
func (c *chaos) drainServer(ctx context.Context) error {
	server, _, _, err := c.busiest(ctx)
	if err != nil {
		return err
	}
	if _, err := c.cluster.db.Exec(ctx, `SELECT ops.drain($1)`, server); err != nil {
		return err
	}
	c.drained = server
	c.screen.notef("·", "an operator: SELECT ops.drain('%s'); it gets no new players", server)
	return c.cluster.db.QueryRow(ctx, `SELECT clock_timestamp(), incarnation FROM instances WHERE id = $1`, server).
		Scan(&c.drainedAt, &c.drainedIncarnation)
}

func (c *chaos) stealTokens(ctx context.Context) error {
	shown, refused := c.players.steal(ctx)
	c.tokensShown += shown
	c.tokensRefused += refused
	mark := "✓"
	if refused < shown {
		mark = "!"
	}
	c.screen.notef(mark, "a thief shows %d tokens of players who are in a match: %d refused", shown, refused)
	return nil
}
