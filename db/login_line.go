package db

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// LoginLine is a valve and its line, as a replica read them at one moment. It never changes.
type LoginLine struct {
	row query.LoginLinesRow
}

// The modes of valves.
const (
	ValveOpen    = "open"
	ValveLimited = "limited"
	ValveClosed  = "closed"
)

// recentWindow is the time constant of estimates: after it, the weight of an admission has fallen to 1/e.
const recentWindow = 60.0 // seconds

// mayHavePassed reports whether a place may have been admitted. A place behind the head of the line certainly waits,
// since places are admitted in the order of their numbers.
func (l *LoginLine) mayHavePassed(number int64, isStaff bool) bool {
	if isStaff {
		return number <= l.row.StaffHead
	}
	return number <= l.row.Head
}

// place returns what a player who waits may know.
func (l *LoginLine) place(number int64, isStaff bool) *fault.LoginPlace {
	position := l.position(number, isStaff)
	estimate := l.estimate(position, isStaff)
	return &fault.LoginPlace{
		Valve: l.row.Name, Number: number, Position: position, IsStaff: isStaff, IsClosed: l.row.Mode == ValveClosed,
		// The copy of the line may be older than the place.
		Waiting:  max(int(l.row.Waiting), position),
		Estimate: estimate, AskAfter: askAfter(estimate),
	}
}

// position returns the position of a place in the line, from 1, or a higher number: players who have left the line
// since its marks were made are counted. The marks are exact up to 512 players, beyond that to a 512th of the line.
func (l *LoginLine) position(number int64, isStaff bool) int {
	if isStaff {
		return max(1, int(min(number-l.row.StaffHead, int64(l.row.WaitingStaff))))
	}
	// Players admitted since the marks were made were ahead of this place.
	ahead := l.aheadWhenMarked(number) - (l.row.Admitted - l.row.MarkedAdmitted)
	// No more players can be ahead than there are places between the head of the line and this one.
	return max(1, int(min(ahead, number-l.row.Head-1))+1)
}

// aheadWhenMarked returns how many players waited before a place when the marks were made, at most.
func (l *LoginLine) aheadWhenMarked(number int64) int64 {
	if number >= l.row.MarkedNext { // joined later, like all those in between
		return int64(l.row.MarkedWaiting) + number - l.row.MarkedNext
	}
	// The last mark that is not after the place; Marks has the number of each Step-th player who waited.
	mark, found := slices.BinarySearch(l.row.Marks, number)
	if !found {
		mark--
	}
	if mark < 0 {
		return 0
	}
	step := int64(l.row.Step)
	return min(int64(mark)*step+min(number-l.row.Marks[mark], step-1), int64(l.row.MarkedWaiting))
}

// estimate returns how long a position waits. The expected wait is that at the pace of the last minute; its bounds are
// those of two standard deviations of the number of admissions in it, and the valve's own limit. P50 and P90 are made
// of waits of players who are not staff.
func (l *LoginLine) estimate(position int, isStaff bool) *fault.WaitEstimate {
	if l.row.Mode != ValveLimited {
		return nil
	}
	counted, window := l.recentAdmissions()
	// The number of admissions is about Poisson distributed: its standard deviation is the root of its mean.
	pace, deviation := counted/window, 2*math.Sqrt(counted)/window
	if counted < 1 {
		// No player was admitted yet, or there was no room for a long time.
		pace = l.row.Rate
	}
	pace = min(pace, l.row.Rate)
	e := &fault.WaitEstimate{Expected: waitAt(position, pace), Soonest: waitAt(position, l.row.Rate)}
	if slowest := min(counted/window, l.row.Rate) - deviation; slowest > 0 {
		e.Latest = max(waitAt(position, slowest), e.Expected)
	}
	if p50, p90, known := l.positions().WaitAt(position); known && !isStaff {
		e.P50, e.P90 = min(p50, longestEstimate), min(p90, longestEstimate)
		e.IsCompared = true
	}
	return e
}

// recentAdmissions returns how many admissions count, the older the less, and the time in which they count, in seconds.
func (l *LoginLine) recentAdmissions() (admissions, window float64) {
	// The weight of an admission falls exponentially with its age; the window is the sum of the same weights.
	admissions = l.row.Recent * math.Exp(-l.row.RecentAge/recentWindow)
	window = recentWindow * (1 - math.Exp(-max(l.row.RecentFor, 1)/recentWindow))
	return admissions, window
}

// longestEstimate bounds estimates: a longer wait cannot be foreseen.
const longestEstimate = 24 * time.Hour

// waitAt returns how long a position waits at a rate in players a second.

func waitAt(position int, rate float64) time.Duration {
	return min(time.Duration(min(float64(position)/rate, longestEstimate.Seconds())*float64(time.Second)),
		longestEstimate)
}

// askAfter returns after which time a player who waits should ask again: a quarter of the expected wait.
func askAfter(e *fault.WaitEstimate) time.Duration {
	const soonest, latest = time.Second, 30 * time.Second
	if e == nil {
		return latest
	}
	return min(max(e.Expected/4, soonest), latest).Round(time.Second)
}
