package estimate

import "time"

const (
	rateWindow = time.Minute // over which the rate of matches is measured
	// prior is the number of tickets that Little's law counts besides those that wait, and besides those that were
	// matched, so that a queue in which little happens has no rate of zero.
	prior = 8
)

// Group is the estimate for tickets whose number is at most UpTo, and above that of the group before.
type Group struct {
	UpTo      float64
	P50, P90  time.Duration // of the whole wait of a ticket that begins to wait now
	WaitCount int           // how many waits it was made from
}

// Estimator estimates for the tickets of a profile. The zero value knows nothing. It is for one goroutine.
type Estimator struct {
	compared     comparison
	history      history
	waitingCount int // as it was published last
}

// End notes that a ticket was matched. Waits that began before the first Publish are left out, since nothing was
// published for them.
func (e *Estimator) End(now, created time.Time, number float64) {
	said, known := e.history.pointAt(created)
	if !known {
		return
	}
	waited := max(0, now.Sub(created))
	if g, known := groupOf(said.groups, number); known {
		e.compared.lesson = lessonAmong(e.waitingCount)
		e.compared.learn(waited, promise{g.P50, g.P90}, 1)
	}
	e.compared.addWait(now, waited, said.littleSeconds, number)
}

// Publish returns the estimates for tickets that begin to wait now, while so many wait; nil until enough were matched of
// late. Call it each second, and publish what it returns: waits are compared with it.
func (e *Estimator) Publish(now time.Time, waiting int) []Group {
	e.waitingCount = waiting
	factors := e.compared.factors(now)
	little := e.littleSeconds(now, waiting)
	groups := make([]Group, 0, len(factors))
	for _, f := range factors {
		p50, p90 := secondsDuration(little*f.p50), secondsDuration(little*f.p90)
		// Each factor moves by itself, so that the p90 could fall below the p50.
		groups = append(groups, Group{UpTo: f.upTo, P50: p50, P90: max(p50, p90), WaitCount: f.waitCount})
	}
	e.history.addPoint(point{saidAt: now, littleSeconds: little, groups: groups})
	return groups
}

// littleSeconds returns how long a ticket waits by Little's law: the length of the queue divided by its rate.
func (e *Estimator) littleSeconds(now time.Time, waiting int) float64 {
	matched, ended := 0, e.compared.endedWaits
	for i := len(ended) - 1; i >= 0 && now.Sub(ended[i].endedAt) < rateWindow; i-- {
		matched++
	}
	return float64(waiting+prior) / (float64(matched+prior) / rateWindow.Seconds())
}

// TakeCalibration returns the counts since it was last called, and begins at zero.
func (e *Estimator) TakeCalibration() CalibrationCounts { return e.compared.takeCalibration() }
