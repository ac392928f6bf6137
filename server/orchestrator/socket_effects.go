package orchestrator

import (
	"context"
	"log/slog"
)

// handleEvent passes an event to the conversation and carries out the returned effects.
func (s *socket) handleEvent(event func(*conversation) effects) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carryOut(event(s.conversation))
}

// carryOut is called with mu locked.
func (s *socket) carryOut(e effects) {
	// The leave job is queued, after which no write may follow, and nobody reads frames.
	if s.hasEnded {
		return
	}
	for _, j := range e.jobs {
		// The command stays pending, and times out: its caller is answered by then.
		if !s.queuedJobs.pushJob(j) {
			e.notes = append(e.notes, note{outcome: outcomeLost, topic: topicAck,
				cause: "too many acks wait for the database"})
		}
	}
	s.countNotes(e)
	s.outbox = append(s.outbox, e.frames...)
	if e.closeFrame != nil {
		s.closeFrame = e.closeFrame
		s.logEnd()
		s.queueLeave()
	}
	s.startLane()
	if !s.isWriting && (len(s.outbox) > 0 || s.closeFrame != nil) {
		s.isWriting = true
		// In a goroutine of its own: an agent that does not read must not hold up the caller, which holds mu.
		s.running.Go(s.runWriter)
	}
}

// countNotes counts and logs the notes.
func (s *socket) countNotes(e effects) {
	for _, n := range e.notes {
		s.replica.server.metrics.pollOutcomes.WithLabelValues(n.outcome).Inc()
		switch n.outcome {
		case outcomeReplied:
			s.replica.server.metrics.pollSeconds.Observe(n.took.Seconds())
		// Not logged: the eviction that may follow is.
		case outcomeMissed:
		default:
			s.log.LogAttrs(context.Background(), slog.LevelWarn, "message of an agent ignored",
				slog.String("outcome", n.outcome), slog.String("topic", n.topic), slog.String("cause", n.cause),
				slog.Int("bytes", n.byteCount))
		}
	}
	for _, j := range e.jobs {
		if a, is := j.(ackJob); is {
			s.replica.server.metrics.countAck(a)
		}
	}
}

// startLane runs the lane in a goroutine, unless one runs or there is no job. It is called with mu locked.
func (s *socket) startLane() {
	if s.laneIsRunning || len(s.queuedJobs.queuedJobs) == 0 {
		return
	}
	s.laneIsRunning = true
	s.running.Go(func() {
		err := s.replica.server.guard.Do("agent lane", func() error {
			s.lane.runJobs(s.replica.laneContext)
			return nil
		})
		if err != nil { // a panic: the job is lost, but the agent must still leave
			s.cutLost(err)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.laneIsRunning = false
			s.startLane()
		}
	})
}
