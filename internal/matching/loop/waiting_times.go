package loop

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/estimate"
)

// restoreWaits reads the stored waiting times of the profiles that this worker has just taken, once it has taken all.
func (l *Loop) restoreWaits(ctx context.Context) error {
	// One statement reads the times of the whole universe, for all profiles that are taken together.
	if len(l.profilesToTake) > 0 {
		return nil
	}
	var taken []*ownedProfile
	for _, p := range l.profiles {
		if p.waitTimes == nil {
			taken = append(taken, p)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	var times map[string][]db.WaitingTime
	err := callDatabase(ctx, "reading waiting times", func(ctx context.Context) (err error) {
		times, err = l.options.Store.WaitingTimes(ctx, l.options.Universe)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range taken {
		p.waitTimes = newWaits(times[p.name], l.options.Store.Now())
	}
	return nil
}

// putWaits estimates waiting times anew, at most once a second, and stores those that changed in one statement for all
// profiles.
func (l *Loop) putWaits(ctx context.Context) error {
	// The caller, runSecond, also runs when capacity changes, which may be many times a second.
	if time.Since(l.waitTimesStoredAt) < tick {
		return nil
	}
	l.waitTimesStoredAt = time.Now()
	now, waiting := l.options.Store.Now(), l.waitingForServers()
	changed, calibrations := map[string][]db.WaitingTime{}, map[string]estimate.CalibrationCounts{}
	for name, p := range l.profiles {
		if p.waitTimes == nil {
			continue
		}
		if times, isNew := p.waitTimes.publishTimes(now, p.candidateCount()+waiting[name]); isNew {
			changed[name] = times
		}
		if p.waitTimes.unstoredCounts.WaitCount > 0 {
			calibrations[name] = p.waitTimes.unstoredCounts
		}
	}
	if len(changed)+len(calibrations) == 0 {
		return nil
	}
	err := callDatabase(ctx, "storing waiting times", func(ctx context.Context) error {
		return l.options.Store.PutWaitingTimes(ctx, l.options.Universe, changed, calibrations)
	})
	if err != nil {
		return err
	}
	for name, times := range changed {
		l.profiles[name].waitTimes.storedTimes = times
	}
	for name := range calibrations {
		l.profiles[name].waitTimes.unstoredCounts = estimate.CalibrationCounts{}
	}
	return nil
}

// waitingForServers counts the tickets of decided matches that wait for a server, by profile.
func (l *Loop) waitingForServers() map[string]int {
	tickets := map[string]int{}
	for _, j := range l.waiting.jobs {
		tickets[j.match.Profile] += len(j.match.Tickets)
	}
	return tickets
}

// waits estimates how long tickets of a profile wait, and counts how many of them waited no longer than estimated.
type waits struct {
	estimator      estimate.Estimator
	storedTimes    []db.WaitingTime // as the database has them, from this worker or the former owner
	formerUntil    time.Time        // until then those of the former owner count, while this worker knows too little
	unstoredCounts estimate.CalibrationCounts
}

// formerFor is how long the waiting times of a former owner are left as they are.
const formerFor = 15 * time.Minute

func newWaits(stored []db.WaitingTime, now time.Time) *waits {
	return &waits{storedTimes: stored, formerUntil: now.Add(formerFor)}
}

// publishTimes returns the waiting times of tickets that come now, while so many wait, and whether the database has
// others. It adds what was counted since the last call to unstoredCounts.
func (w *waits) publishTimes(now time.Time, waiting int) (times []db.WaitingTime, isNew bool) {
	for _, g := range w.estimator.Publish(now, waiting) {
		times = append(times, db.WaitingTime{UpTo: g.UpTo, P50: g.P50, P90: g.P90, SampleCount: g.WaitCount})
	}
	w.unstoredCounts = w.unstoredCounts.Plus(w.estimator.TakeCalibration())
	// This worker has seen too few matches for an estimate: that of the former owner is better than none.
	if len(times) == 0 && now.Before(w.formerUntil) {
		return w.storedTimes, false
	}
	return times, !slices.Equal(times, w.storedTimes)
}
