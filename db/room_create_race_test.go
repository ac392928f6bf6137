package db_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Of 1,000 creates of 100 ids from three replicas, one per id gets the room, and no agent gets more rooms than its
// maximum.
func TestManyReplicasCreateTheSameRooms(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	for n := range 6 {
		f.agent(n+1, withMaxRooms(20))
	}
	stores := []*db.Store{f.Store, f.Replica(), f.Replica()}
	var mu sync.Mutex
	created, codes := map[string]int{}, map[string]int{}
	var race errgroup.Group
	for i := range 1000 {
		race.Go(func() error {
			id := fmt.Sprint("room-", i%100)
			c, err := stores[i%3].CreateRoom(t.Context(), f.newRoom(id))
			mu.Lock()
			codes[codeOf(err)]++ // 6 × 20 rooms are more than 100, and 6 × 32 commands as well
			mu.Unlock()
			if err != nil {
				return nil //nolint:nilerr // its code is counted
			}
			mu.Lock()
			created[id]++
			mu.Unlock()
			_, err = stores[i%3].AcknowledgeCommand(t.Context(), f.ackOf(c))
			return err
		})
	}
	require.NoError(t, race.Wait())
	require.Equal(t, map[string]int{"": 100, db.CodeRoomExists: 900}, codes)
	for id, n := range created {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, 100, one[int](f.bundle, "SELECT count(*) FROM rooms WHERE state = 'created'"))
	f.requireCounted()
}

func codeOf(err error) string {
	var e *fault.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	}
	return err.Error()
}

// During concurrent creates, refusals, acks and destroys of three replicas, the limits of agents hold at each moment
// (constraints check in_flight), and the counters are right at the end.
func TestLimitsHoldUnderRaces(t *testing.T) {
	t.Parallel()
	f := setupFleet(t)
	for n := range 3 {
		f.agent(n+1, withMaxRooms(int32(10+20*n)))
	}
	stores := []*db.Store{f.Store, f.Replica(), f.Replica()}
	var race errgroup.Group
	for i := range 48 {
		race.Go(func() error {
			s, r := stores[i%3], rand.New(rand.NewPCG(7, uint64(i)))
			for range 20 {
				c, err := s.CreateRoom(t.Context(), f.newRoom(fmt.Sprint("room-", r.IntN(150))))
				if err != nil {
					if code := codeOf(err); code != db.CodeRoomExists && code != db.CodeNoCandidate && code != db.CodeInstanceBusy {
						return err
					}
					continue
				}
				change := func(*db.CommandAck) {}
				if r.IntN(4) == 0 {
					change = refusing
				}
				if _, err := s.AcknowledgeCommand(t.Context(), f.ackOf(c, change)); err != nil {
					return err
				}
				if r.IntN(3) > 0 {
					continue
				}
				if d, err := s.DestroyRoom(t.Context(), "eu", c.RoomID, f.caller, "x", time.Minute); err == nil {
					if _, err := s.AcknowledgeCommand(t.Context(), f.ackOf(d)); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, race.Wait())
	require.NotEmpty(t, f.Rows("SELECT id FROM rooms"))
	f.requireCounted()
}

// If two replicas create the same id at once, the second waits for the first's transaction.
func TestOneIDAtOnce(t *testing.T) {
	t.Parallel()
	for name, commit := range map[string]bool{"committed": true, "rolled back": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setupFleet(t)
			a := f.agent(1)
			tx, err := f.Pool().Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "INSERT INTO rooms (region, id, agent_id, base, type, state) VALUES ('eu', 'r', $1, 'r', 'duel', 'reported')", a)
			require.NoError(t, err)
			answer := make(chan error, 1)
			go func() { _, err := f.CreateRoom(t.Context(), f.newRoom("r")); answer <- err }()
			f.AwaitBlocked(1)
			if commit {
				require.NoError(t, tx.Commit(t.Context()))
				requireKind(t, fault.Conflict, db.CodeRoomExists, <-answer)
				require.Equal(t, []string{"0|0"}, f.Rows("SELECT reserved, in_flight FROM agent_states"))
				return
			}
			require.NoError(t, tx.Rollback(t.Context()))
			require.NoError(t, <-answer)
			f.requireCounted()
		})
	}
}

// If other transactions fill an agent between the snapshot and the lock, the room goes to another agent. Only a
// snapshot without any candidate refuses the room.
func TestAnAgentThatIsTakenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]bool{"another one is free": true, "no other one is": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setupFleet(t)
			a := f.agent(1, withMaxRooms(1))
			b := f.agent(2, withConnections(9), withMaxRooms(map[bool]int32{true: 1, false: 0}[other]))
			tx, err := f.Pool().Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), "UPDATE agent_states SET rooms = 1 WHERE agent_id = $1", a)
			require.NoError(t, err)
			var c db.Command
			answer := make(chan error, 1)
			go func() {
				var err error
				c, err = f.CreateRoom(t.Context(), f.newRoom("r"))
				answer <- err
			}()
			f.AwaitBlocked(1)
			require.NoError(t, tx.Commit(t.Context()))
			if !other {
				requireKind(t, fault.NoCapacity, db.CodeNoCandidate, <-answer)
				return
			}
			require.NoError(t, <-answer)
			require.Equal(t, b, c.AgentID)
		})
	}
}
