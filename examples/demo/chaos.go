package main

import (
	"context"
	"time"
)

// chaos injects the faults, and does what an operator does. One goroutine runs it; the proofs read its record
// afterwards.
type chaos struct {
	proofJudge  judge // its chaosRecord is what chaos records
	cluster     *cluster
	screen      *screen
	friendsPlay func() bool // whether the friends of the lobby are on their game server
}

// isCrowded reports whether more than half of the bots are playing, so that faults meet players.
func (c *chaos) isCrowded(context.Context) bool {
	playing, _ := c.proofJudge.players.countPlaying()
	return playing > botCount/2
}

// isCrowdedWithFriends reports whether bots and the friends of the lobby are playing: some of the friends are connected
// to the replica to be killed.
func (c *chaos) isCrowdedWithFriends(ctx context.Context) bool {
	return c.friendsPlay() && c.isCrowded(ctx)
}

// busiestServer returns the ready server with the most connected players, but not one that was killed before, how many
// they are, and the database's time.
func (c *chaos) busiestServer(ctx context.Context) (server string, connected int, now time.Time, err error) {
	err = c.proofJudge.dbPool.QueryRow(ctx, `
		SELECT f.instance, (SELECT count(*) FROM ops.seats s WHERE s.instance = f.instance AND s.state = 'connected'),
			clock_timestamp()
		FROM ops.fleet f WHERE f.alive AND f.status = 'ready' AND f.instance <> $1 AND f.region = $2
		ORDER BY 2 DESC, 1 LIMIT 1`,
		c.proofJudge.chaosRecord.killedServer, region).Scan(&server, &connected, &now)
	return server, connected, now, err
}

// killServer kills the busiest server, so that many players have to be seated elsewhere.
func (c *chaos) killServer(ctx context.Context) error {
	server, connected, now, err := c.busiestServer(ctx)
	if err != nil {
		return err
	}
	// The time was read before the kill, so that everything that the kill ends has a later time.
	c.proofJudge.chaosRecord.killedServer, c.proofJudge.chaosRecord.serverKilledAt = server, now
	c.cluster.processNamed(server).Kill()
	c.screen.eventf("!", "kill -9 %s, with %d players on it; its lease expires within %s", server, connected, leaseTTL)
	return nil
}

// areEvictedPlaying reports whether all players of the killed server play elsewhere.
func (c *chaos) areEvictedPlaying(ctx context.Context) bool {
	return c.proofJudge.evictedPlayOn(ctx).holds
}

// reportEvicted prints how soon the players of the killed server were seated elsewhere.
func (c *chaos) reportEvicted(ctx context.Context) error {
	c.screen.eventf("✓", "%s", c.proofJudge.evictedPlayOn(ctx).evidenceText)
	return nil
}

// killReplica kills one of the two replicas.
func (c *chaos) killReplica(context.Context) error {
	r := &c.proofJudge.chaosRecord
	// The second: the first one serves the control API of the lobby and the console. The friends who are connected to
	// it wait for the kill: see awaitFailover.
	r.killedReplica = c.cluster.replicas[1]
	c.cluster.processNamed(r.killedReplica.command.Name).Kill()
	r.replicaKilledAt = time.Now()
	c.screen.eventf("!", "kill -9 %s, which had answered %d calls of players", r.killedReplica.command.Name,
		c.proofJudge.countAnswers(r.beforeKill))
	return nil
}

// hasAnsweredMeanwhile reports whether the other replica has answered players since the kill.
func (c *chaos) hasAnsweredMeanwhile(context.Context) bool {
	return c.proofJudge.countAnswers(c.proofJudge.chaosRecord.withoutReplica) > 0
}

// restartReplica starts the killed replica again, at the addresses that its clients know.
func (c *chaos) restartReplica(ctx context.Context) error {
	r := &c.proofJudge.chaosRecord
	start := time.Now()
	if err := c.cluster.launchReplica(ctx, r.killedReplica); err != nil {
		return err
	}
	r.replicaBackAt = time.Now()
	c.screen.eventf("✓", "%s was started again, ready %s", r.killedReplica.command.Name, tookText(start))
	return nil
}

// hasSeenEverything reports whether everything that the proofs need has happened: all bots have played, and the
// restarted replica answers.
func (c *chaos) hasSeenEverything(context.Context) bool {
	_, welcomed := c.proofJudge.players.countPlaying()
	return welcomed == botCount && c.proofJudge.countAnswers(c.proofJudge.chaosRecord.afterRestart) > 0
}

// drainServer runs the SQL that an operator types into psql.
func (c *chaos) drainServer(ctx context.Context) error {
	// The busiest: a drain of an empty server would prove nothing.
	server, _, _, err := c.busiestServer(ctx)
	if err != nil {
		return err
	}
	if _, err := c.proofJudge.dbPool.Exec(ctx, `SELECT ops.drain($1)`, server); err != nil {
		return err
	}
	c.proofJudge.chaosRecord.drainedServer = server
	c.screen.eventf("·", "an operator: SELECT ops.drain('%s'); it gets no new players", server)
	// Read after the drain: seats that were given before that time break no promise.
	row := c.proofJudge.dbPool.QueryRow(ctx, `SELECT clock_timestamp(), incarnation FROM instances WHERE id = $1`, server)
	return row.Scan(&c.proofJudge.chaosRecord.drainedAt, &c.proofJudge.chaosRecord.drainedIncarnation)
}

// stealTokens lets the thief show tokens once more, and adds up how many were refused.
func (c *chaos) stealTokens(ctx context.Context) error {
	shown, refused := c.proofJudge.players.stealTokens(ctx)
	c.proofJudge.chaosRecord.tokensShown += shown
	c.proofJudge.chaosRecord.tokensRefused += refused
	c.screen.eventf("·", "a thief shows %d tokens of players who are in a match: %d refused", shown, refused)
	return nil
}
