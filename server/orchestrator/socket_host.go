package orchestrator

// The host of the lane.

func (s *socket) next() job {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs.popJob()
	// Under the lock under which jobs are queued: one that comes now starts the lane again.
	s.laneIsRunning = j != nil
	return j
}

func (s *socket) record() agentRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.record
}

func (s *socket) recorded(r agentRecord) {
	s.handle(func(c *conversation) effects { return c.recorded(s.replica.moment(), r) })
}

func (s *socket) applied(hash string, r agentRecord) {
	s.handle(func(c *conversation) effects { return c.applied(s.replica.moment(), hash, r) })
}

func (s *socket) unchanged(hash string) {
	s.handle(func(c *conversation) effects { return c.unchanged(hash) })
}

func (s *socket) fenced() {
	s.handle(func(c *conversation) effects { return c.fenced() })
}

// Events from the rest of the replica.

// rowRead passes the agent's row, read at since, to the conversation. It returns false if the database has answered
// another call after that.
func (s *socket) rowRead(since moment, r agentRecord) (ok bool) {
	s.handle(func(c *conversation) (e effects) {
		e, ok = c.read(since, r)
		return e
	})
	return ok
}

func (s *socket) joinedBefore(at moment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conversation.joinedBefore(at)
}

// command sends a command. It returns false if the connection cannot send it.
func (s *socket) command(cmd command) (ok bool) {
	s.handle(func(c *conversation) (e effects) {
		e, ok = c.command(cmd)
		return e
	})
	return ok
}
