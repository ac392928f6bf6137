package orchestrator

import "time"

// The host of the lane.

func (s *socket) nextJob() job {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs.popJob()
	// The same lock is held while a job is queued: a job that comes after this one starts the lane again.
	s.laneIsRunning = j != nil
	return j
}

func (s *socket) lastRecord() agentRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.record
}

func (s *socket) takeRecord(r agentRecord) {
	s.handleEvent(func(c *conversation) effects { return c.takeRecord(s.replica.nextMoment(), r) })
}

func (s *socket) takeApplied(hash string, r agentRecord) {
	s.handleEvent(func(c *conversation) effects { return c.takeApplied(s.replica.nextMoment(), hash, r) })
}

func (s *socket) takeUnchanged(hash string) {
	s.handleEvent(func(c *conversation) effects { return c.takeUnchanged(hash) })
}

func (s *socket) endFenced() {
	s.handleEvent(func(c *conversation) effects { return c.endFenced() })
}

// Events from the rest of the replica.

// pollState is how an agent answers polls, by the fields of its conversation.
type pollState struct {
	hasEnded, hasState bool
	missedPolls        int
	heardAt            time.Time
}

func (s *socket) lastPolls() pollState {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversation
	return pollState{c.hasEnded, c.hasState, c.missedPolls, c.heardAt}
}

// takeRow passes the agent's row to the conversation; since is when the statement that read it began. It returns false
// if the database has answered another call after that.
func (s *socket) takeRow(since moment, r agentRecord) (ok bool) {
	s.handleEvent(func(c *conversation) (e effects) {
		e, ok = c.takeRow(since, r)
		return e
	})
	return ok
}

func (s *socket) joinedBefore(at moment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.joinedBefore(at)
}

// sendCommand sends a command. It returns false if the connection cannot send it.
func (s *socket) sendCommand(cmd command) (ok bool) {
	s.handleEvent(func(c *conversation) (e effects) {
		e, ok = c.sendCommand(cmd)
		return e
	})
	return ok
}
