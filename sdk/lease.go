package sdk

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"time"
)

// runHeartbeats renews the lease until the server ends.
func (s *GameServer) runHeartbeats() {
	for s.sleepOrStop(jitterPause(s.serverOptions.HeartbeatEvery)) {
		if err := s.sendHeartbeat(s.lifeContext); err != nil && s.lifeContext.Err() == nil {
			s.log.LogAttrs(s.lifeContext, slog.LevelError, "heartbeat refused", slog.Any("error", err))
		}
	}
}

func (s *GameServer) sleepOrStop(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.lifeContext.Done():
		return false
	}
}

// jitterPause returns d, shortened by up to a fifth. A longer pause would come too close to the lease's end.
func jitterPause(d time.Duration) time.Duration {
	return d - time.Duration(rand.Float64()*float64(d)/5)
}

// sendHeartbeat retries through an outage of any length. After an outage the director expires no lease until the
// instances had time for a heartbeat.
func (s *GameServer) sendHeartbeat(ctx context.Context) error {
	load := s.currentLoad()
	var answer statusAnswer
	err := s.callFenced(ctx, "/fleet/heartbeat", func(ref instanceRef) any {
		return heartbeatRequest{InstanceID: ref.InstanceID, Incarnation: ref.Incarnation, Load: load}
	}, &answer)
	if err == nil {
		s.noteStatus(answer)
	}
	if errors.Is(err, ErrUnknownInstance) {
		return nil // callFenced has registered again, which counts as a heartbeat.
	}
	return err
}
