package decide

import "time"

// sweep goes over all candidates, oldest first, after a change: it reaches the seeds that the change did not make dirty. While
// anything changes it tries 4,096 a second, or each candidate once a second if there are fewer; then it ends.
type sweep struct {
	active bool
	idle   bool       // until the next Run, which sets when the round begins
	again  bool       // something changed since it began
	last   int64      // when it last tried seeds; for a round that has not begun, sweepEvery before it begins
	from   *candidate // the last one it tried; nil: none
}

// The sweep goes on every so often, over so many seeds, and after a pause over those of a second at most.
const (
	sweepEvery = time.Second / 16
	sweepSeeds = 256
	sweepMost  = 16 * sweepSeeds
)

// begin starts the sweep with the next Run, or adds a round to a running one.
func (s *sweep) begin() {
	if s.active {
		s.again = true
		return
	}
	*s = sweep{active: true, idle: true}
}

// roundEvery is the time between the beginnings of two rounds. A seed that found nothing in one round is unlikely to find something
// sooner, since newcomers search for themselves. Rounds begin at full seconds, so that their times do not depend on earlier
// decisions, and a replay that begins later has the same rounds.
const roundEvery = time.Second

// round schedules the next round at the next full second.
func (s *sweep) round(now int64) {
	*s = sweep{active: true, last: (now/int64(roundEvery)+1)*int64(roundEvery) - int64(sweepEvery)}
}

// run is called at the beginning of a Run.
func (s *sweep) run(now int64) {
	if s.idle {
		s.round(now)
	}
}

// beginAfter starts the sweep later, unless it goes on already.
func (s *sweep) beginAfter(now int64, d time.Duration) {
	if !s.active {
		*s = sweep{active: true, last: now + int64(d-sweepEvery)}
	}
}

// due returns how many seeds may be tried by now.
func (s *sweep) due(now int64) int {
	if !s.active || s.idle || now < s.last {
		return 0
	}
	return int(min(sweepMost, (now-s.last)/int64(sweepEvery)*sweepSeeds))
}

// end follows the last candidate.
func (s *sweep) end(now int64) {
	again := s.again
	s.active, s.from = false, nil
	if again {
		s.round(now)
	}
}
