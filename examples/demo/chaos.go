package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// chaos injects the faults, and does what an operator does. One goroutine runs it; the proofs read its record
// afterwards.
type chaos struct {
	judge judge

	cluster     *cluster
	screen      *screen
	friendsPlay func() bool // whether the friends of the lobby are on their game server
}

// record says what chaos did. Times of servers are the database's; those of the replica are this process's, as are the
// times of the players' answers.
type record struct {
	server         string // killed
	serverKilledAt time.Time

	replica         replica // killed, and later started again
	replicaKilledAt time.Time
	replicaBackAt   time.Time // zero: not yet

	drainedServer      string
	drainedIncarnation uuid.UUID // a server that registers again gets another one
	drainedAt          time.Time

	tokensShown, tokensRefused int
	cheatsTried, cheatsRefused int

	queueing queueing
}

// step is one thing that happens: after a share of the whole length, and when the system is ready for it. On a machine
// that stalls for seconds, faults wait.
type step struct {
	afterShare float64
	ready      func(context.Context) bool
	do         func(context.Context) error
}

func (c *chaos) steps() []step {
	return []step{
		{0, c.matchesWait, c.openArena},
		{0.22, c.crowded, c.cheat},
		{0.25, c.crowded, c.stealTokens},
		{0.33, c.crowded, c.killServer},
		{0, c.evictedPlay, c.reportEvicted},
		{0.42, c.crowded, c.killWorker},
		{0, c.takenOver, c.reportTakeover},
		{0.52, c.crowdedWithFriends, c.killReplica},
		{0.60, c.crowded, c.drainServer},
		{0.70, c.answeredWithoutReplica, c.restartReplica},
		{0.80, c.crowded, c.stealTokens},
		{1, c.everythingSeen, func(context.Context) error { return nil }},
	}
}

// run makes all steps in order, at least a twentieth of the length apart where a step has a time. It returns when
// everything that the proofs need has happened, or when ctx ends.
func (c *chaos) run(ctx context.Context, length time.Duration) error {
	last := time.Now()
	for _, s := range c.steps() {
		at := c.screen.startedAt.Add(time.Duration(s.afterShare * float64(length)))
		if soonest := last.Add(length / 20); s.afterShare > 0 && at.Before(soonest) {
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
	playing, _ := c.judge.players.count()
	return playing > botCount/2
}

// crowdedWithFriends reports whether also the friends of the lobby are playing, some of whom are connected to the
// replica to be killed.
func (c *chaos) crowdedWithFriends(ctx context.Context) bool {
	return c.friendsPlay() && c.crowded(ctx)
}

// busiest returns the ready server with the most connected players, but not one that was killed before.
func (c *chaos) busiest(ctx context.Context) (server string, connected int, now time.Time, err error) {
	err = c.judge.db.QueryRow(ctx, `
		SELECT f.instance, (SELECT count(*) FROM ops.seats s WHERE s.instance = f.instance AND s.state = 'connected'), clock_timestamp()
		FROM ops.fleet f WHERE f.alive AND f.status = 'ready' AND f.instance <> $1 AND f.region = $2 ORDER BY 2 DESC, 1 LIMIT 1`,
		c.judge.record.server, region).Scan(&server, &connected, &now)
	return server, connected, now, err
}

func (c *chaos) killServer(ctx context.Context) error {
	server, connected, now, err := c.busiest(ctx)
	if err != nil {
		return err
	}
	c.judge.record.server, c.judge.record.serverKilledAt = server, now
	c.cluster.process(server).Kill()
	c.screen.eventf("!", "kill -9 %s, with %d players on it; its lease expires within %s", server, connected, leaseTTL)
	return nil
}

func (c *chaos) evictedPlay(ctx context.Context) bool { return c.judge.evictedPlayOn(ctx).ok }

func (c *chaos) reportEvicted(ctx context.Context) error {
	c.screen.eventf("✓", "%s", c.judge.evictedPlayOn(ctx).evidence)
	return nil
}

func (c *chaos) killReplica(context.Context) error {
	c.judge.record.replica = c.cluster.replicas[1]
	c.cluster.process(c.judge.record.replica.Name).Kill()
	c.judge.record.replicaKilledAt = time.Now()
	c.screen.eventf("!", "kill -9 %s, which had answered %d calls of players", c.judge.record.replica.Name,
		c.judge.count(c.judge.record.beforeKill))
	return nil
}

func (c *chaos) answeredWithoutReplica(context.Context) bool {
	return c.judge.count(c.judge.record.withoutReplica) > 0
}

func (c *chaos) restartReplica(ctx context.Context) error {
	start := time.Now()
	if err := c.cluster.launch(ctx, c.judge.record.replica); err != nil {
		return err
	}
	c.judge.record.replicaBackAt = time.Now()
	c.screen.eventf("✓", "%s was started again, ready %s", c.judge.record.replica.Name, took(start))
	return nil
}

// everythingSeen reports whether what the proofs need has happened: all bots have played, and the restarted replica
// answers.
func (c *chaos) everythingSeen(context.Context) bool {
	_, welcomed := c.judge.players.count()
	return welcomed == botCount && c.judge.count(c.judge.record.afterRestart) > 0
}

// drainServer runs the SQL that an operator types into psql.
func (c *chaos) drainServer(ctx context.Context) error {
	server, _, _, err := c.busiest(ctx)
	if err != nil {
		return err
	}
	if _, err := c.judge.db.Exec(ctx, `SELECT ops.drain($1)`, server); err != nil {
		return err
	}
	c.judge.record.drainedServer = server
	c.screen.eventf("·", "an operator: SELECT ops.drain('%s'); it gets no new players", server)
	return c.judge.db.QueryRow(ctx, `SELECT clock_timestamp(), incarnation FROM instances WHERE id = $1`, server).
		Scan(&c.judge.record.drainedAt, &c.judge.record.drainedIncarnation)
}

func (c *chaos) stealTokens(ctx context.Context) error {
	shown, refused := c.judge.players.steal(ctx)
	c.judge.record.tokensShown += shown
	c.judge.record.tokensRefused += refused
	c.screen.eventf("·", "a thief shows %d tokens of players who are in a match: %d refused", shown, refused)
	return nil
}
