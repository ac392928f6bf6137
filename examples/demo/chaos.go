package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// chaos injects the faults, and does what an operator does. One goroutine runs it; the proofs read its record
// afterwards.
type chaos struct {
	proofJudge judge

	cluster     *cluster
	screen      *screen
	friendsPlay func() bool // whether the friends of the lobby are on their game server
}

// record says what chaos did. Times of servers are the database's; those of the replica are this process's, as are the
// times of the players' answers.
type record struct {
	killedServer   string // killed
	serverKilledAt time.Time

	killedReplica   replica // killed, and later started again
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
	isReady    func(context.Context) bool
	do         func(context.Context) error
}

func (c *chaos) steps() []step {
	return []step{
		{0, c.matchesWait, c.openArena},
		{0.22, c.isCrowded, c.tryCheating},
		{0.25, c.isCrowded, c.stealTokens},
		{0.33, c.isCrowded, c.killServer},
		{0, c.evictedPlay, c.reportEvicted},
		{0.42, c.isCrowded, c.killWorker},
		{0, c.takenOver, c.reportTakeover},
		{0.52, c.crowdedWithFriends, c.killReplica},
		{0.60, c.isCrowded, c.drainServer},
		{0.70, c.answeredWithoutReplica, c.restartReplica},
		{0.80, c.isCrowded, c.stealTokens},
		{1, c.everythingSeen, func(context.Context) error { return nil }},
	}
}

// runSteps makes all steps in order, at least a twentieth of the length apart where a step has a time. It returns when
// everything that the proofs need has happened, or when ctx ends.
func (c *chaos) runSteps(ctx context.Context, length time.Duration) error {
	last := time.Now()
	for _, s := range c.steps() {
		at := c.screen.startedAt.Add(time.Duration(s.afterShare * float64(length)))
		if soonest := last.Add(length / 20); s.afterShare > 0 && at.Before(soonest) {
			at = soonest
		}
		if !awaitTrue(ctx, func() bool { return time.Now().After(at) && s.isReady(ctx) }) {
			return nil
		}
		if err := s.do(ctx); err != nil {
			return err
		}
		last = time.Now()
	}
	return nil
}

// awaitTrue polls until a condition holds, and returns false when ctx ends first.
func awaitTrue(ctx context.Context, holds func() bool) bool {
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

// isCrowded reports whether more than half of the bots are playing, so that faults meet players.
func (c *chaos) isCrowded(context.Context) bool {
	playing, _ := c.proofJudge.players.countPlaying()
	return playing > botCount/2
}

// crowdedWithFriends reports whether also the friends of the lobby are playing, some of whom are connected to the
// replica to be killed.
func (c *chaos) crowdedWithFriends(ctx context.Context) bool {
	return c.friendsPlay() && c.isCrowded(ctx)
}

// busiestServer returns the ready server with the most connected players, but not one that was killed before.
func (c *chaos) busiestServer(ctx context.Context) (server string, connected int, now time.Time, err error) {
	err = c.proofJudge.dbPool.QueryRow(ctx, `
		SELECT f.instance, (SELECT count(*) FROM ops.seats s WHERE s.instance = f.instance AND s.state = 'connected'), clock_timestamp()
		FROM ops.fleet f WHERE f.alive AND f.status = 'ready' AND f.instance <> $1 AND f.region = $2 ORDER BY 2 DESC, 1 LIMIT 1`,
		c.proofJudge.chaosRecord.killedServer, region).Scan(&server, &connected, &now)
	return server, connected, now, err
}

func (c *chaos) killServer(ctx context.Context) error {
	server, connected, now, err := c.busiestServer(ctx)
	if err != nil {
		return err
	}
	c.proofJudge.chaosRecord.killedServer, c.proofJudge.chaosRecord.serverKilledAt = server, now
	c.cluster.processNamed(server).Kill()
	c.screen.eventf("!", "kill -9 %s, with %d players on it; its lease expires within %s", server, connected, leaseTTL)
	return nil
}

func (c *chaos) evictedPlay(ctx context.Context) bool { return c.proofJudge.evictedPlayOn(ctx).holds }

func (c *chaos) reportEvicted(ctx context.Context) error {
	c.screen.eventf("✓", "%s", c.proofJudge.evictedPlayOn(ctx).evidenceText)
	return nil
}

func (c *chaos) killReplica(context.Context) error {
	c.proofJudge.chaosRecord.killedReplica = c.cluster.replicas[1]
	c.cluster.processNamed(c.proofJudge.chaosRecord.killedReplica.command.Name).Kill()
	c.proofJudge.chaosRecord.replicaKilledAt = time.Now()
	c.screen.eventf("!", "kill -9 %s, which had answered %d calls of players",
		c.proofJudge.chaosRecord.killedReplica.command.Name,
		c.proofJudge.countAnswers(c.proofJudge.chaosRecord.beforeKill))
	return nil
}

func (c *chaos) answeredWithoutReplica(context.Context) bool {
	return c.proofJudge.countAnswers(c.proofJudge.chaosRecord.withoutReplica) > 0
}

func (c *chaos) restartReplica(ctx context.Context) error {
	start := time.Now()
	if err := c.cluster.launchReplica(ctx, c.proofJudge.chaosRecord.killedReplica); err != nil {
		return err
	}
	c.proofJudge.chaosRecord.replicaBackAt = time.Now()
	c.screen.eventf("✓", "%s was started again, ready %s", c.proofJudge.chaosRecord.killedReplica.command.Name,
		tookText(start))
	return nil
}

// everythingSeen reports whether what the proofs need has happened: all bots have played, and the restarted replica
// answers.
func (c *chaos) everythingSeen(context.Context) bool {
	_, welcomed := c.proofJudge.players.countPlaying()
	return welcomed == botCount && c.proofJudge.countAnswers(c.proofJudge.chaosRecord.afterRestart) > 0
}

// drainServer runs the SQL that an operator types into psql.
func (c *chaos) drainServer(ctx context.Context) error {
	server, _, _, err := c.busiestServer(ctx)
	if err != nil {
		return err
	}
	if _, err := c.proofJudge.dbPool.Exec(ctx, `SELECT ops.drain($1)`, server); err != nil {
		return err
	}
	c.proofJudge.chaosRecord.drainedServer = server
	c.screen.eventf("·", "an operator: SELECT ops.drain('%s'); it gets no new players", server)
	return c.proofJudge.dbPool.QueryRow(ctx, `SELECT clock_timestamp(), incarnation FROM instances WHERE id = $1`, server).
		Scan(&c.proofJudge.chaosRecord.drainedAt, &c.proofJudge.chaosRecord.drainedIncarnation)
}

func (c *chaos) stealTokens(ctx context.Context) error {
	shown, refused := c.proofJudge.players.stealTokens(ctx)
	c.proofJudge.chaosRecord.tokensShown += shown
	c.proofJudge.chaosRecord.tokensRefused += refused
	c.screen.eventf("·", "a thief shows %d tokens of players who are in a match: %d refused", shown, refused)
	return nil
}
