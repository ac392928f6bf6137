package main

import (
	"context"
	"time"
)

// step is one thing that chaos does: after a share of the play's length, and only when the system is ready for it, so
// that faults wait on a machine that stalls for seconds.
type step struct {
	afterShare float64 // of the play's length; 0: as soon as the step before it has ended
	isReady    func(context.Context) bool
	do         func(context.Context) error
}

// steps returns the faults of the play in their order, each with the condition without which it would prove little.
func (c *chaos) steps() []step {
	return []step{
		{0, c.matchesWait, c.openArena},
		{0.22, c.isCrowded, c.tryCheating},
		{0.25, c.isCrowded, c.stealTokens},
		{0.33, c.isCrowded, c.killServer},
		{0, c.areEvictedPlaying, c.reportEvicted},
		{0.42, c.isCrowded, c.killWorker},
		{0, c.noteTakeover, c.reportTakeover},
		{0.52, c.isCrowdedWithFriends, c.killReplica},
		{0.60, c.isCrowded, c.drainServer},
		{0.70, c.hasAnsweredMeanwhile, c.restartReplica},
		{0.80, c.isCrowded, c.stealTokens},
		{1, c.hasSeenEverything, func(context.Context) error { return nil }},
	}
}

// runSteps makes all steps in order, at least a twentieth of the length apart where a step has a time. It returns when
// everything that the proofs need has happened, or when ctx ends.
func (c *chaos) runSteps(ctx context.Context, length time.Duration) error {
	lastStepAt := time.Now()
	for _, s := range c.steps() {
		at := c.screen.startedAt.Add(time.Duration(s.afterShare * float64(length)))
		soonest := lastStepAt.Add(length / 20)
		if s.afterShare > 0 && at.Before(soonest) {
			at = soonest
		}
		// The end of ctx is no error: the proofs then say what has not happened.
		if !awaitTrue(ctx, func() bool { return time.Now().After(at) && s.isReady(ctx) }) {
			return nil
		}
		if err := s.do(ctx); err != nil {
			return err
		}
		lastStepAt = time.Now()
	}
	return nil
}
