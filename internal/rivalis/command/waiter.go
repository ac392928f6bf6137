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
	done     chan struct{} // closed once answer and err are set
	answer   db.CommandAnswer
	err      error
	deadline *time.Timer
}

// takeSlot limits the number of calls. Errors: Unavailable.
func (c *Caller) takeSlot() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.slots >= c.options.MaxWaiting {
		return unavailable("too many calls wait for agents on this replica: retry, another one may have room", nil)
	}
	if c.hasStopped() {
		return unavailable("this replica stops", nil)
	}
	c.slots++
	return nil
}

func (c *Caller) freeSlot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slots--
}

// wait registers a waiter for a command.
func (c *Caller) wait(id uuid.UUID) *waiter {
	w := &waiter{done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = w
	w.deadline = time.AfterFunc(c.options.Timeout, func() { c.expire(id) })
	return w
}

func (c *Caller) waitingFor() []uuid.UUID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(c.waiting))
	for id := range c.waiting {
		ids = append(ids, id)
	}
	return ids
}

// answer ends the wait for a command, unless it has already ended.
func (c *Caller) answer(id uuid.UUID, a db.CommandAnswer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.waiting[id]
	if w == nil {
		return
	}
	delete(c.waiting, id)
	c.slots--
	w.deadline.Stop()
	w.answer, w.err = a, err
	close(w.done)
}

// expire settles a command at its deadline and answers with the state of its row: the agent may have acked it and the
// notification was lost.
func (c *Caller) expire(id uuid.UUID) {
	if !c.begin() {
		return
	}
	defer c.expiring.Done()
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var a db.CommandAnswer
	err := c.options.Guard.Do("command deadlines", func() (err error) {
		a, err = c.store.ExpireCommand(ctx, c.region, id)
		return err
	})
	if err == nil && a.State == db.CommandPending {
		c.mu.Lock()
		defer c.mu.Unlock()
		if w := c.waiting[id]; w != nil {
			w.deadline.Reset(lookAgain)
		}
		return
	}
	c.answer(id, a, err)
}

// begin registers a goroutine for which stop waits. It returns false once the Caller has stopped.
func (c *Caller) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hasStopped() {
		return false
	}
	c.expiring.Add(1)
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

// stop ends all waits: workers settle the remaining commands.
func (c *Caller) stop() {
	c.mu.Lock()
	close(c.stopped)
	for id, w := range c.waiting {
		w.deadline.Stop()
		delete(c.waiting, id)
	}
	c.mu.Unlock()
	c.expiring.Wait()
}
