package loop

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// waits holds the waiting times of the tickets that a profile matched recently. Estimates for players are computed from
// them.
type waits struct {
	samples []sample // oldest first
	changed bool     // since they were last stored
}

// sample is a ticket that was matched.
type sample struct {
	matchedAt   time.Time
	waitingTime time.Duration
	number      float64 // waiting times are grouped by it; 0 if the profile compares no number
}

const (
	samplesKept = 2000 // of a profile, 80 KiB
	samplesFor  = 15 * time.Minute
	// groupLeast is the least number of samples of a group, and of an estimate.
	groupLeast = 20
	groupsMost = 10
)

func (w *waits) add(s sample) {
	w.samples, w.changed = append(w.samples, s), true
	if len(w.samples) >= 2*samplesKept {
		w.samples = slices.Clone(w.samples[samplesKept:])
	}
}

// mustStore drops old samples, and reports whether the stored waiting times are out of date.
func (w *waits) mustStore(now time.Time) bool {
	n := max(0, len(w.samples)-samplesKept)
	for n < len(w.samples) && now.Sub(w.samples[n].matchedAt) > samplesFor {
		n++
	}
	if n > 0 {
		w.samples, w.changed = slices.Delete(w.samples, 0, n), true
	}
	return w.changed
}

// times groups the samples by their number: at most ten groups, each with at least groupLeast samples unless it is the
// only one.
func (w *waits) times() (all []db.WaitingTime) {
	sorted := slices.Clone(w.samples)
	slices.SortFunc(sorted, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.waitingTime, b.waitingTime))
	})
	size := max(groupLeast, (len(sorted)+groupsMost-1)/groupsMost)
	for len(sorted) > 0 {
		n := min(size, len(sorted))
		for n < len(sorted) && sorted[n].number == sorted[n-1].number {
			n++
		}
		if len(sorted)-n < groupLeast {
			n = len(sorted)
		}
		all = append(all, timesOf(sorted[:n]))
		sorted = sorted[n:]
	}
	return all
}

func timesOf(group []sample) db.WaitingTime {
	t := db.WaitingTime{UpTo: group[len(group)-1].number, Samples: len(group)}
	waited := make([]time.Duration, len(group))
	for i, s := range group {
		waited[i] = s.waitingTime
	}
	slices.Sort(waited)
	t.P50, t.P90 = waited[len(waited)/2], waited[len(waited)*9/10]
	return t
}

// restored makes samples from the stored waiting times of a former owner, so that estimates survive a change of owner:
// from these samples times returns about the same.
func restored(times []db.WaitingTime, now time.Time) *waits {
	w := &waits{}
	for _, t := range times {
		for i := range t.Samples {
			s := sample{matchedAt: now, waitingTime: t.P50, number: t.UpTo}
			if i > t.Samples/2 {
				s.waitingTime = t.P90
			}
			w.samples = append(w.samples, s)
		}
	}
	return w
}

// restoreWaits reads the stored waiting times of the profiles that this worker has just taken, once it has taken all.
func (l *Loop) restoreWaits(ctx context.Context) error {
	if len(l.profilesToTake) > 0 {
		return nil
	}
	var taken []*owned
	for _, p := range l.profiles {
		if p.waitTimes == nil {
			taken = append(taken, p)
		}
	}
	if len(taken) == 0 {
		return nil
	}
	var times map[string][]db.WaitingTime
	err := reading(ctx, "reading waiting times", func(ctx context.Context) (err error) {
		times, err = l.options.Store.WaitingTimes(ctx, l.options.Universe)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range taken {
		p.waitTimes = restored(times[p.name], l.options.Store.Now())
	}
	return nil
}

// putWaits stores the waiting times that changed, in at most one statement per second for all profiles.
func (l *Loop) putWaits(ctx context.Context) error {
	if time.Since(l.waitTimesStoredAt) < tick {
		return nil
	}
	now, changed := l.options.Store.Now(), map[string][]db.WaitingTime{}
	for name, p := range l.profiles {
		if p.waitTimes != nil && p.waitTimes.mustStore(now) {
			changed[name] = p.waitTimes.times()
		}
	}
	if len(changed) == 0 {
		return nil
	}
	l.waitTimesStoredAt = time.Now()
	err := reading(ctx, "storing waiting times",
		func(ctx context.Context) error {
			return l.options.Store.PutWaitingTimes(ctx, l.options.Universe, changed)
		})
	if err != nil {
		return err
	}
	for name := range changed {
		l.profiles[name].waitTimes.changed = false
	}
	return nil
}
