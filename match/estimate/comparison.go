package estimate

import (
	"math"
	"time"
)

// Bounds of what a comparison holds.
const (
	keptWaits   = 2000 // the most waits, of the latest
	keptFor     = 15 * time.Minute
	ratiosEvery = 3 * time.Second // between two computations of the ratios, which sort thousands of waits
	newShare    = 100             // the ratios are computed again when one wait in so many is new
	LeastWaits  = 20              // the fewest waits of a group, and so of an estimate
	maxGroups   = 10
)

const (
	// lesson is how much a wait changes the logarithm of a factor: a thousand waits on one side change the factor
	// sevenfold.
	lesson = 0.002
	// outstandingLesson is how much all waits that have begun and not ended change that logarithm together, at most.
	// Their estimates are known to be wrong only when they end, so that a factor would swing if each wait of a long line
	// changed it as much as one of a short line does.
	outstandingLesson = 6.0
	// maxShift bounds the logarithm of a factor, which is then 400: the queue has become another one.
	maxShift = 6
)

// CalibrationCounts show whether estimates are calibrated: then half of the waits end before their p50, and nine of ten
// before their p90. Only waits that had an estimate when they began are counted.
type CalibrationCounts struct {
	WaitCount int // that ended
	BeforeP50 int // of these, how many ended before the p50 that was published when they began
	BeforeP90 int
}

// Plus returns the sum of both.
func (c CalibrationCounts) Plus(o CalibrationCounts) CalibrationCounts {
	return CalibrationCounts{c.WaitCount + o.WaitCount, c.BeforeP50 + o.BeforeP50, c.BeforeP90 + o.BeforeP90}
}

// wait is a wait that has ended.
type wait struct {
	endedAt    time.Time
	plainRatio float64 // of its length to the plain estimate of its beginning
	number     float64
}

// promise is what was published for a wait when it began.
type promise struct{ p50, p90 time.Duration }

// comparison compares waits with the estimates of when they began: with the plain estimate, which gives the ratios, and
// with the published one, which corrects the ratios.
type comparison struct {
	endedWaits      []wait // oldest first
	ratios          []ratioGroup
	ratiosAt        time.Time         // when ratios were computed
	newCount        int               // waits that were added or dropped since ratiosAt
	lesson          float64           // how much a wait changes the shift now
	shift           [2]float64        // of p50 and p90: logarithms of their factors, in spreads of the ratios
	openCalibration CalibrationCounts // since takeCalibration was last called
}

// addWait notes that a wait ended, whose plain estimate was so many seconds.
func (c *comparison) addWait(now time.Time, waited time.Duration, plainSeconds, number float64) {
	c.endedWaits = append(c.endedWaits, wait{now, waited.Seconds() / plainSeconds, number})
	c.newCount++
	if len(c.endedWaits) >= 2*keptWaits {
		// Copied only at twice as many, so that neither the array grows nor each wait moves all others.
		c.endedWaits = append([]wait(nil), c.endedWaits[keptWaits:]...)
	}
}

// lessonAmong returns how much a wait changes a shift while so many waits have begun and not ended.
func lessonAmong(outstanding int) float64 {
	return min(lesson, outstandingLesson/float64(max(1, outstanding)))
}

// setLesson sets how much a wait changes the shift from now on, and gives the waits before the same weight: the shift
// stays proportional to the sum of the misses, so the sum is as bounded as the shift is. The number of outstanding waits
// must change slowly.
func (c *comparison) setLesson(outstanding int) {
	now := lessonAmong(outstanding)
	if c.lesson > 0 {
		c.shift[0], c.shift[1] = c.shift[0]*now/c.lesson, c.shift[1]*now/c.lesson
	}
	c.lesson = now
}

// learn compares count waits of one length with what was published when they began.
func (c *comparison) learn(waited time.Duration, said promise, count int) {
	c.openCalibration.WaitCount += count
	step := float64(count) * c.lesson
	for i, q := range []struct {
		bound time.Duration
		share float64
		hits  *int
	}{{said.p50, 0.5, &c.openCalibration.BeforeP50}, {said.p90, 0.9, &c.openCalibration.BeforeP90}} {
		miss := 1.0
		if waited <= q.bound {
			miss = 0
			*q.hits += count
		}
		// A wait beyond the estimate raises the factor by the quantile's share of a lesson, and one within it lowers the
		// factor by the rest: both are in balance when exactly that share of the waits is within.
		c.shift[i] = min(max(c.shift[i]+float64(step*(miss-(1-q.share))), -maxShift), maxShift)
	}
}

// factorGroup has the factors by which the plain estimates of numbers up to upTo are multiplied.
type factorGroup struct {
	upTo, p50, p90 float64
	waitCount      int
}

// factors returns the factors, by number; none until enough waits have ended of late.
func (c *comparison) factors(now time.Time) []factorGroup {
	c.forgetOld(now)
	isStale := c.newCount > 0 && c.newCount >= len(c.endedWaits)/newShare
	if isStale && (len(c.ratios) == 0 || now.Sub(c.ratiosAt) >= ratiosEvery) {
		c.ratios, c.ratiosAt, c.newCount = groupRatios(c.endedWaits), now, 0
	}
	groups := make([]factorGroup, 0, len(c.ratios))
	for _, r := range c.ratios {
		unit := r.spread()
		groups = append(groups, factorGroup{r.upTo, r.halfRatio * math.Exp(unit*c.shift[0]),
			r.mostRatio * math.Exp(unit*c.shift[1]), r.waitCount})
	}
	return groups
}

// forgetOld drops waits that are too old, or too many.
func (c *comparison) forgetOld(now time.Time) {
	n := max(0, len(c.endedWaits)-keptWaits)
	for n < len(c.endedWaits) && now.Sub(c.endedWaits[n].endedAt) > keptFor {
		n++
	}
	if n > 0 {
		c.endedWaits, c.newCount = append(c.endedWaits[:0], c.endedWaits[n:]...), c.newCount+n
	}
}

// takeCalibration returns the counts since it was last called, and begins at zero.
func (c *comparison) takeCalibration() CalibrationCounts {
	taken := c.openCalibration
	c.openCalibration = CalibrationCounts{}
	return taken
}

// secondsDuration converts seconds, rounded to a tenth, which is all that people read.
func secondsDuration(s float64) time.Duration {
	return time.Duration(math.Round(min(s, 1e9)*10)) * (time.Second / 10)
}
