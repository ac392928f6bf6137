package command

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// waiter waits for the answer to a command. It continues after its caller has disconnected, because the command must be
// settled at its deadline.
type waiter struct {
	answered      chan struct{} // closed once answer and err are set
	answer        db.CommandAnswer
	err           error
	deadlineTimer *time.Timer
}

// takeSlot limits the number of calls. Errors: Unavailable.
func (c *Caller) takeSlot() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.takenSlots >= c.options.MaxWaiting {
		return unavailableError("too many calls wait for agents on this replica: retry, another one may have room", nil)
	}
	if c.hasStopped() {
		return unavailableError("this replica stops", nil)
	}
	c.takenSlots++
	return nil
}

func (c *Caller) freeSlot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takenSlots--
}

// addWaiter registers a waiter for a command. The slot that the call has taken is the waiter's from now on: endWait
// frees it.
func (c *Caller) addWaiter(id uuid.UUID) *waiter {
	w := &waiter{answered: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiterByID[id] = w
	w.deadlineTimer = time.AfterFunc(c.options.Timeout, func() { c.expireCommand(id) })
	return w
}

// awaitedIDs returns the ids of the commands that calls wait for.
func (c *Caller) awaitedIDs() []uuid.UUID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(c.waiterByID))
	for id := range c.waiterByID {
		ids = append(ids, id)
	}
	return ids
}

// endWait ends the wait for a command, unless it has already ended.
func (c *Caller) endWait(id uuid.UUID, a db.CommandAnswer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiterByID[id]
	// A read and the deadline may both find the answer: the first one counts.
	if w == nil {
		return
	}
	delete(c.waiterByID, id)
	c.takenSlots--
	w.deadlineTimer.Stop()
	w.answer, w.err = a, err
	close(w.answered)
}

// expireCommand settles a command at its deadline, and answers its call with the state of the row: the agent may have
// acked the command, and the notification was lost.
func (c *Caller) expireCommand(id uuid.UUID) {
	if !c.beginExpiring() {
		return
	}
	defer c.expiringCalls.Done()
	// The context is not the caller's: the command is settled also when its caller has left.
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var a db.CommandAnswer
	err := c.options.Guard.Do("command deadlines", func() (err error) {
		a, err = c.store.ExpireCommand(ctx, c.region, id)
		return err
	})
	// A command that is pending shows that this replica's clock is ahead of the database's, by which deadlines pass.
	if err == nil && a.FinalState == db.CommandPending {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w := c.waiterByID[id]; w != nil {
			w.deadlineTimer.Reset(expireAgain)
		}
		return
	}
	// After an error nobody on this replica settles the command: a worker does, a second after its deadline.
	c.endWait(id, a, err)
}

// beginExpiring registers a goroutine for which stopWaiting waits. It returns false once the Caller has stopped.
func (c *Caller) beginExpiring() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	// stopWaiting closes the channel under the same lock: no Add may follow its Wait.
	if c.hasStopped() {
		return false
	}
	c.expiringCalls.Add(1)
	return true
}

func (c *Caller) hasStopped() bool {
	select {
	case <-c.stopped:
		return true
	default:
		return false
	}
}

// stopWaiting ends all waits. Workers settle the remaining commands a second after their deadlines.
func (c *Caller) stopWaiting() {
	c.mu.Lock()
	close(c.stopped)
	// The calls of these waiters return by the channel that was closed above.
	for id, w := range c.waiterByID {
		w.deadlineTimer.Stop()
		delete(c.waiterByID, id)
	}
	c.mu.Unlock()
	c.expiringCalls.Wait()
}
