package realtime

import (
	"context"
	"sync"
	"time"
)

// wheelSlots is into how many parts the time between two pings of a connection is divided.
const wheelSlots = 200

// wheel pings all connections in turn. It has one timer for all of them. Safe for concurrent use.
type wheel struct {
	every time.Duration

	mu    sync.Mutex
	slots [wheelSlots]map[*conn]struct{}
	next  int
}

func newWheel(every time.Duration) *wheel {
	w := &wheel{every: every / wheelSlots}
	for i := range w.slots {
		w.slots[i] = map[*conn]struct{}{}
	}
	return w
}

// add pings a connection from now on, first after the time between two pings.
func (w *wheel) add(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.slot = (w.next + wheelSlots - 1) % wheelSlots
	w.slots[c.slot][c] = struct{}{}
}

func (w *wheel) remove(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.slots[c.slot], c)
}

// run turns the wheel until ctx ends.
func (w *wheel) run(ctx context.Context) {
	every := time.NewTicker(w.every)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		for _, c := range w.turn() {
			c.startPing()
		}
	}
}

// turn returns the connections whose turn it is.
func (w *wheel) turn() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := make([]*conn, 0, len(w.slots[w.next]))
	for c := range w.slots[w.next] {
		due = append(due, c)
	}
	w.next = (w.next + 1) % wheelSlots
	return due
}

// startPing pings the client in a goroutine that ends with the answer, unless one is under way or the connection ends.
func (c *conn) startPing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.pinging {
		return
	}
	c.pinging = true
	c.running.Go(func() { c.protect("realtime ping", c.ping) })
}

// ping cuts the connection if the client does not answer. A client that is heard is alive, and while reading pauses an answer cannot be read. A client
// that reads slowly has the time limit of the writer.
func (c *conn) ping() error {
	heard := c.heard.Load()
	ctx, cancel := context.WithTimeout(context.Background(), c.server.options.timing.pong)
	defer cancel()
	err := c.ws.Ping(ctx)
	c.mu.Lock()
	c.pinging = false
	patient := c.writing || c.paused
	c.mu.Unlock()
	if err != nil && c.heard.Load() == heard && !patient {
		c.server.metrics.silent.Inc()
		c.cut()
	}
	return nil
}
