package realtime

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/db"
)

// maxActions is how many actions of a connection may be under way. Reading pauses until one of them ends.
const maxActions = 64

// conn is the connection of a client with a session. One goroutine reads, one writes while there is something to write, and each action under way has
// one. It implements receiver.
type conn struct {
	server *Server
	life   *life
	hub    *hub
	ws     *websocket.Conn
	cork   *cork
	codec  codec

	region, project, player string // they never change, like session
	session                 db.SessionEpoch

	// Of the goroutine that reads.
	rates   rates
	garbage int           // frames in a row that could not be decoded
	last    chan struct{} // closed when the last serial action has ended; nil: there was none

	heard   atomic.Int64  // frames
	slots   chan struct{} // of actions under way
	running sync.WaitGroup
	slot    int // of the wheel, guarded by it

	mu       sync.Mutex
	space    sync.Cond            // signaled when half of the outbox is free, and when the connection ends
	out      outbox               // guarded by mu, like the fields below
	held     bool                 // pushes wait until the client reads them
	writing  bool                 // a goroutine writes
	pinging  bool                 // a ping is not answered yet
	paused   bool                 // reading waits for actions
	closing  bool                 // nothing is queued any more
	closeAs  websocket.StatusCode // to send after the outbox; 0: the connection was cut
	reason   string
	disowned bool // somebody else has the session: it is not suspended

	lastError, lastRefused time.Time // when error events were sent
}

func newConn(l *life, h *handshake, who identity, chosen codec, opened db.OpenedRealtime) *conn {
	c := &conn{
		server: l.Server, life: l, hub: l.hub, ws: h.ws, cork: h.cork, codec: chosen, region: l.name, project: who.project, player: opened.Player,
		session: db.SessionEpoch{ID: opened.ID, Epoch: opened.Epoch}, held: true, slots: make(chan struct{}, maxActions),
	}
	c.space.L = &c.mu
	return c
}

// ref implements receiver.
func (c *conn) ref() db.SessionEpoch { return c.session }

// push implements receiver.
func (c *conn) push(class pushClass, room string, frames ...*shared) {
	p := parcel{class: class, room: room, frames: make([][]byte, 0, len(frames))}
	if len(frames) > 0 {
		p.decided = frames[0].decided
	}
	for _, f := range frames {
		encoded := f.frame(c.codec)
		p.frames, p.bytes = append(p.frames, encoded), p.bytes+len(encoded)
	}
	c.queue(p)
}

// send queues a frame for this client alone.
func (c *conn) send(class pushClass, out outgoing) {
	encoded := c.codec.Encode(out)
	c.queue(parcel{class: class, room: out.Room, frames: [][]byte{encoded}, bytes: len(encoded)})
}

func (c *conn) queue(p parcel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return
	}
	dropped, ok := c.out.put(p)
	c.server.metrics.dropped.Add(float64(dropped))
	if !ok {
		c.out = outbox{}
		c.closeLocked(closeTryLater, reasonOverflow)
		return
	}
	c.startWriter()
}

// release lets pushes out.
func (c *conn) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = false
	c.startWriter()
}

// close implements receiver.
func (c *conn) close(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(code, reason)
}

// closeLocked bounds the time in which the outbox and the close frame are written and the client closes, too.
func (c *conn) closeLocked(code websocket.StatusCode, reason string) {
	if c.closing {
		return
	}
	if c.held {
		c.out = outbox{} // the client may not read it: see release
	}
	c.closing, c.held, c.closeAs, c.reason = true, false, code, reason
	c.disowned = c.disowned || code == closeSuperseded
	c.space.Broadcast()
	_ = c.cork.SetDeadline(time.Now().Add(c.server.options.timing.close))
	c.startWriter()
}

// cut ends the connection without a close frame.
func (c *conn) cut() {
	c.mu.Lock()
	c.closing, c.out = true, outbox{}
	c.space.Broadcast()
	c.mu.Unlock()
	_ = c.ws.CloseNow()
}

// disown leaves the session to others.
func (c *conn) disown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disowned = true
}

// protect cuts the connection if fn panics.
func (c *conn) protect(goroutine string, fn func() error) {
	if c.server.guard.Do(goroutine, fn) != nil {
		c.cut()
	}
}
