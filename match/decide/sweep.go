package decide

import "time"

// sweep goes over all candidates in rounds, oldest first, after a change: it reaches the seeds that the change did not
// make dirty. While anything changes it tries 4,096 seeds a second, or each once a second if there are fewer; then it
// ends.
type sweep struct {
	isActive          bool
	isIdle            bool // no round is scheduled until the next Run, which knows the time
	needsAnotherRound bool // something changed since the round began
	// lastNanos is when the sweep last tried seeds; for a round that has not begun, sweepEvery before it begins.
	lastNanos int64
	lastTried *candidate // in the round; nil: none
}

// The sweep tries sweepSeeds seeds every sweepEvery and, after a pause, at most sweepMost at once: those of a second.
const (
	sweepEvery = time.Second / 16
	sweepSeeds = 256
	sweepMost  = 16 * sweepSeeds
)

// begin starts the sweep with the next Run, or adds a round to a running one.
func (s *sweep) begin() {
	if s.isActive {
		s.needsAnotherRound = true
		return
	}
	*s = sweep{isActive: true, isIdle: true}
}

// roundEvery is the time between the beginnings of two rounds. A seed that found nothing in one round is unlikely to
// find something sooner, since newcomers search for themselves. Rounds begin at full seconds, so that their times do
// not depend on earlier decisions, and a replay that begins later has the same rounds.
const roundEvery = time.Second

// startRound schedules the next round at the next full second.
func (s *sweep) startRound(now int64) {
	*s = sweep{isActive: true, lastNanos: (now/int64(roundEvery)+1)*int64(roundEvery) - int64(sweepEvery)}
}

// beginRun schedules the first round of a sweep that has begun before this Run.
func (s *sweep) beginRun(now int64) {
	if s.isIdle {
		s.startRound(now)
	}
}

// beginAfter starts the sweep later, unless it is active already.
func (s *sweep) beginAfter(now int64, d time.Duration) {
	if !s.isActive {
		*s = sweep{isActive: true, lastNanos: now + int64(d-sweepEvery)}
	}
}

// seedsDue returns how many seeds may be tried by now.
func (s *sweep) seedsDue(now int64) int {
	if !s.isActive || s.isIdle || now < s.lastNanos {
		return 0
	}
	return int(min(sweepMost, (now-s.lastNanos)/int64(sweepEvery)*sweepSeeds))
}

// endRound ends a round after its last seed, and with it the sweep, unless another round is needed.
func (s *sweep) endRound(now int64) {
	// A change in the middle of the round may suit seeds that were tried before it.
	if s.needsAnotherRound {
		s.startRound(now)
		return
	}
	s.isActive, s.lastTried = false, nil
}
