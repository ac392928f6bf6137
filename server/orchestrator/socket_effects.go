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

// carryOut queues jobs and frames, starts the lane and the writer if they are needed, and counts what has happened. It
// is called with mu locked.
func (s *socket) carryOut(e effects) {
	// The leave is queued, after which nothing may be written, and nobody reads frames.
	if s.hasEnded {
		return
	}
	for _, j := range e.jobs {
		if a, is := j.(ackJob); is {
			s.replica.server.metrics.countAck(a)
		}
		// The command of a lost ack stays pending until its timeout, with which its caller is answered.
		if isQueued := s.jobs.pushJob(j); !isQueued {
			e.notes = append(e.notes, note{outcome: outcomeLost, topic: topicAck,
				cause: "too many acks wait for the database"})
		}
	}
	s.countNotes(e.notes)
	s.outbox = append(s.outbox, e.frames...)
	if e.closeFrame != nil {
		s.closeFrame = e.closeFrame
		s.logEnd()
		s.queueLeave()
	}
	s.startLane()
	if !s.isWriting && (len(s.outbox) > 0 || s.closeFrame != nil) {
		s.isWriting = true
		// The writer is a goroutine: an agent that does not read must not block the caller, which holds mu.
		s.running.Go(s.runWriter)
	}
}

// countNotes counts and logs the notes.
func (s *socket) countNotes(notes []note) {
	for _, n := range notes {
		s.replica.server.metrics.pollOutcomes.WithLabelValues(n.outcome).Inc()
		if n.outcome == outcomeReplied {
			s.replica.server.metrics.pollSeconds.Observe(n.took.Seconds())
			continue
		}
		if n.outcome == outcomeMissed {
			continue // the eviction that may follow is logged
		}
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "message of an agent ignored",
			slog.String("outcome", n.outcome), slog.String("topic", n.topic), slog.String("cause", n.cause),
			slog.Int("bytes", n.byteCount))
	}
}

// startLane runs the lane in a goroutine, unless one runs or there is no job. It is called with mu locked.
func (s *socket) startLane() {
	if s.laneIsRunning || len(s.jobs.queuedJobs) == 0 {
		return
	}
	s.laneIsRunning = true
	s.running.Go(func() {
		err := s.replica.server.guard.Do("agent lane", func() error {
			s.lane.runJobs(s.replica.laneContext)
			return nil
		})
		if err != nil { // the lane panicked: the job is lost, but the agent must still leave
			s.cutLost(err)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.laneIsRunning = false
			s.startLane()
		}
	})
}
