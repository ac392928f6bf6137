package estimate

import (
	"math"
	"time"
)

// Bounds of what an estimator holds.
const (
	keptWaits   = 2000 // of the latest
	keptFor     = 15 * time.Minute
	ratiosEvery = 3 * time.Second // sorting thousands of waits each second costs more than it tells
	LeastWaits  = 20              // of a group, and of an estimate
	maxGroups   = 10
)

const (
	rateWindow = time.Minute // over which the rate of matches is measured
	// prior are tickets that the law of Little counts besides those that wait, and besides those that were matched, so that
	// a queue in which little happens has no rate of zero.
	prior = 8
	// lesson is how much a wait changes the logarithm of a factor: a thousand waits on one side change it sevenfold.
	lesson = 0.002
	// maxShift bounds the logarithm of a factor: at 400 the queue is another one.
	maxShift = 6
)

// Group is the estimate for tickets whose number is at most UpTo, and above that of the group before.
type Group struct {
	UpTo      float64
	P50, P90  time.Duration // in all, of a ticket that begins to wait now
	WaitCount int           // that it was made from
}

// Record counts waits that ended in a match, and had an estimate when they began.
type Record struct{ WaitCount, BeforeP50, BeforeP90 int }

// Estimator estimates for the tickets of a profile. The zero value knows nothing. It is for one goroutine.
type Estimator struct {
	endedWaits []wait // oldest first
	ratios     []ratioGroup
	ratiosAt   time.Time // when they were made
	isStale    bool      // waits have changed since then
	history    history
	logShift   [2]float64 // logarithms of the factors of p50 and p90
	openRecord Record
}

// wait is a ticket that was matched.
type wait struct {
	endedAt     time.Time
	littleRatio float64 // of its wait to what Little's law said when it began
	number      float64
}

// End notes that a ticket was matched. Waits that began before the first Publish are left out, since nothing was
// said about them.
func (e *Estimator) End(now, created time.Time, number float64) {
	said, known := e.history.pointAt(created)
	if !known {
		return
	}
	waited := max(0, now.Sub(created))
	if g, known := groupOf(said.groups, number); known {
		e.learnWait(waited, g)
	}
	e.endedWaits = append(e.endedWaits, wait{endedAt: now, littleRatio: waited.Seconds() / said.littleSeconds,
		number: number})
	e.isStale = true
	if len(e.endedWaits) >= 2*keptWaits {
		// Copied once in a while, so that neither the array grows nor each wait moves all others.
		e.endedWaits = append([]wait(nil), e.endedWaits[keptWaits:]...)
	}
}

// learnWait compares a wait with what was said when it began.
func (e *Estimator) learnWait(waited time.Duration, said Group) {
	e.openRecord.WaitCount++
	for i, q := range []struct {
		bound time.Duration
		share float64
		hits  *int
	}{{said.P50, 0.5, &e.openRecord.BeforeP50}, {said.P90, 0.9, &e.openRecord.BeforeP90}} {
		miss := 1.0
		if waited <= q.bound {
			miss = 0
			*q.hits++
		}
		// A wait beyond the estimate raises the factor by the quantile's share of a lesson, one within lowers it by
		// the rest: both are in balance when exactly that share of the waits is within.
		e.logShift[i] = min(max(e.logShift[i]+lesson*(miss-(1-q.share)), -maxShift), maxShift)
	}
}

// Publish returns the estimates for tickets that begin to wait now, while so many wait; nil until enough were matched of
// late. Call it each second, and publish what it returns: waits are compared with it.
func (e *Estimator) Publish(now time.Time, waiting int) []Group {
	e.forgetOld(now)
	if e.isStale && (len(e.ratios) == 0 || now.Sub(e.ratiosAt) >= ratiosEvery) {
		e.ratios, e.ratiosAt, e.isStale = groupRatios(e.endedWaits), now, false
	}
	little := e.littleSeconds(now, waiting)
	groups := make([]Group, 0, len(e.ratios))
	for _, r := range e.ratios {
		p50 := secondsDuration(little * r.halfRatio * math.Exp(e.logShift[0]))
		p90 := secondsDuration(little * r.mostRatio * math.Exp(e.logShift[1]))
		// Each factor moves by itself, so that the p90 could fall below the p50.
		groups = append(groups, Group{UpTo: r.upTo, P50: p50, P90: max(p50, p90), WaitCount: r.waitCount})
	}
	e.history.addPoint(point{saidAt: now, littleSeconds: little, groups: groups})
	return groups
}

// forgetOld drops waits that are too old, or too many.
func (e *Estimator) forgetOld(now time.Time) {
	n := max(0, len(e.endedWaits)-keptWaits)
	for n < len(e.endedWaits) && now.Sub(e.endedWaits[n].endedAt) > keptFor {
		n++
	}
	if n > 0 {
		e.endedWaits, e.isStale = append(e.endedWaits[:0], e.endedWaits[n:]...), true
	}
}

// littleSeconds is how long a ticket waits by Little's law, in seconds: the length of the queue divided by its rate.
func (e *Estimator) littleSeconds(now time.Time, waiting int) float64 {
	matched := 0
	for i := len(e.endedWaits) - 1; i >= 0 && now.Sub(e.endedWaits[i].endedAt) < rateWindow; i-- {
		matched++
	}
	return float64(waiting+prior) / (float64(matched+prior) / rateWindow.Seconds())
}

// TakeRecord returns the waits since it was last called, and forgets them.
func (e *Estimator) TakeRecord() Record {
	r := e.openRecord
	e.openRecord = Record{}
	return r
}

// secondsDuration rounds to a tenth of a second, which is all that people read.
func secondsDuration(s float64) time.Duration {
	return time.Duration(math.Round(min(s, 1e9)*10)) * (time.Second / 10)
}
