package loop

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

const (
	// judgeBatch bounds the ready checks that one call of judgeReadyChecks ends.
	judgeBatch = 256
	// maxReadyChecks bounds the open ready checks of a profile: beyond it, deciding waits.
	maxReadyChecks = 256
	// renewEvery is how often the marks are renewed by which accepted matches that wait for a server keep their tickets.
	renewEvery = 10 * time.Second
)

// mayAsk reports whether a profile may begin another ready check; nil may not. Checks that are queued or sent count.
func (l *Loop) mayAsk(p *ownedProfile) bool {
	return p != nil && p.openChecks+l.commits.askingByProfile[p.name] < maxReadyChecks
}

// settleReadyChecks ends ready checks whose time is over, and queues the matches that all players accepted for their
// commit. Parties that did not accept leave the queue; the other tickets are candidates again, as the queue's changes
// then say.
func (l *Loop) settleReadyChecks(ctx context.Context) error {
	known := map[uuid.UUID]bool{}
	for _, j := range l.allJobs() {
		known[j.match.ID] = true
	}
	for _, p := range l.profilesInOrder() {
		// Most profiles have no ready checks: they cost no statement each second.
		if !p.mayHaveChecks {
			continue
		}
		checks, err := l.judgeReadyChecks(ctx, p)
		if err != nil {
			return err
		}
		p.openChecks = len(checks)
		p.mayHaveChecks = p.profile.Accept > 0 || len(checks)+l.commits.askingByProfile[p.name] > 0
		for _, c := range checks {
			// This worker has the match already, unless it was accepted just now, or a former owner began the check.
			if c.Match.Accepted && !known[c.Match.ID] {
				l.commits.addJob(l.acceptedJob(p, c))
			}
		}
	}
	return l.renewAccepted(ctx)
}

// judgeReadyChecks ends the ready checks of a profile whose time is over, and returns those that are still open.
func (l *Loop) judgeReadyChecks(ctx context.Context, p *ownedProfile) (open []db.OpenReadyCheck, err error) {
	err = callDatabase(ctx, "reading ready checks", func(ctx context.Context) error {
		// 0: overdue at once. The sweeper of the workers, which judges the checks without an owner, waits longer.
		judged, err := l.options.Store.JudgeReadyChecks(ctx, l.options.Universe, []db.MatchOwner{l.matchOwner(p)}, 0,
			judgeBatch)
		if err != nil {
			return err
		}
		l.metrics.readyChecks.WithLabelValues("failed").Add(float64(len(judged.EndedMatches)))
		open, err = l.options.Store.OpenReadyChecks(ctx, l.options.Universe, p.name)
		return err
	})
	return open, err
}

// acceptedJob returns the job that commits the match of a ready check that all players accepted.
func (l *Loop) acceptedJob(p *ownedProfile, c db.OpenReadyCheck) *job {
	j := &job{match: c.Match, owner: l.matchOwner(p), oldestCreated: c.Match.DecidedAt, decidedAt: time.Now()}
	j.waiters = make([]waiter, len(c.Match.Tickets))
	for i, t := range c.Match.Tickets {
		e := l.queue.entryByID[t.ID]
		// The ticket had no place in memory, or was not read yet: then only its waiting time is not known.
		if e == nil {
			continue
		}
		if e.createdAt.Before(j.oldestCreated) {
			j.oldestCreated = e.createdAt
		}
		if decoded, err := e.decodedTicket(l.options.PlayerArg); err == nil {
			j.waiters[i] = waiter{e.createdAt, decoded.Mean(p.profile.Pivot())}
		}
	}
	return j
}

// renewAccepted renews the marks of the accepted matches that wait for a server, at most every renewEvery, and drops the
// matches that have ended.
func (l *Loop) renewAccepted(ctx context.Context) error {
	if time.Since(l.acceptedRenewedAt) < renewEvery {
		return nil
	}
	l.acceptedRenewedAt = time.Now()
	var owners []db.MatchOwner
	var accepted []db.NewMatch
	for _, j := range l.waiting.jobs {
		if j.match.Accepted {
			accepted = append(accepted, j.match)
			if !slices.Contains(owners, j.owner) {
				owners = append(owners, j.owner)
			}
		}
	}
	if len(accepted) == 0 {
		return nil
	}
	var ended []uuid.UUID
	err := callDatabase(ctx, "renewing accepted matches", func(ctx context.Context) (err error) {
		ended, err = l.options.Store.RenewAccepted(ctx, l.options.Universe, owners, accepted)
		return err
	})
	if err != nil {
		return err
	}
	l.waiting.removeJobs(func(j *job) bool { return slices.Contains(ended, j.match.ID) })
	return nil
}
