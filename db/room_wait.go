package db

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/internal/base/fault"
)

func roomPending() error {
	err := fault.NewUnavailable("the game server is creating the room of the session", nil)
	err.Code = "room_pending"
	return err
}

func isRoomPending(err error) bool {
	var pending *fault.Error
	return errors.As(err, &pending) && pending.Code == "room_pending"
}

const (
	roomWait  = 2 * time.Second        // the longest time that a player's call waits for the room of the session
	roomEvery = 250 * time.Millisecond // between two reads without a notification
)

// resolveInRoom resolves a seat once the room of the session exists, which usually takes some milliseconds. Errors:
// room_pending after two seconds or when ctx ends; those of Resolve.
func (s *Store) resolveInRoom(ctx context.Context, region string, r resolveRequest) (resolved Resolved, err error) {
	wake, stop := s.Subscribe(TopicFleet, region)
	defer stop()
	ticker, timeout := time.NewTicker(roomEvery), time.NewTimer(roomWait)
	defer ticker.Stop()
	defer timeout.Stop()
	for {
		resolved, err = s.batchGroups.seatResolves.Do(ctx, region, r)
		if !isRoomPending(err) {
			return resolved, err
		}
		select {
		case <-ctx.Done():
			return resolved, err
		case <-timeout.C:
			return resolved, err
		case <-wake:
		case <-ticker.C:
		}
	}
}
