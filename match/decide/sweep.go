package decide

import "time"

// sweep goes over all candidates, oldest first, after a change: it reaches the seeds that the change did not make dirty. While
// anything changes it tries 4,096 a second; then it ends.
type sweep struct {
	active bool
	again  bool       // something changed since it began
	last   int64      // when it last went on
	from   *candidate // the last one it tried; nil: none
}

// The sweep goes on every so often, over so many seeds, and after a pause over those of a second at most.
const (
	sweepEvery = time.Second / 16
	sweepSeeds = 256
	sweepMost  = 16 * sweepSeeds
)

// begin starts the sweep, or lets it go round once more.
func (s *sweep) begin(now int64) {
	if s.active {
		s.again = true
		return
	}
	*s = sweep{active: true, last: now}
}

// beginAfter starts the sweep later, unless it goes on already.
func (s *sweep) beginAfter(now int64, d time.Duration) {
	if !s.active {
		*s = sweep{active: true, last: now + int64(d-sweepEvery)}
	}
}

// due returns how many seeds may be tried by now.
func (s *sweep) due(now int64) int {
	if !s.active || now < s.last {
		return 0
	}
	return int(min(sweepMost, (now-s.last)/int64(sweepEvery)*sweepSeeds))
}

// end follows the last candidate.
func (s *sweep) end(now int64) { *s = sweep{active: s.again, last: now} }
