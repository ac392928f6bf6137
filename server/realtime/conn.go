package realtime

import (
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/server/ws"
)

// maxActions is how many actions of a connection may be under way. Reading pauses until one of them ends.
const maxActions = 64

// conn is the connection of a client with a session. One goroutine reads, one writes while there is something to write,
// and each action under way has one. It implements delivery.Receiver.
type conn struct {
	server  *Server
	replica *replica
	hub     *delivery.Hub
	socket  *ws.Conn
	codec   wire.Codec

	// These and the fields above never change.
	region, project, player string
	clientAddress           string // the key under which its tries and failures are counted
	sessionEpoch            db.SessionEpoch

	// Used only by the goroutine that reads.
	garbageFrames int           // frames in a row that could not be decoded
	lastInOrder   chan struct{} // closed when the last action of runInOrder has ended; nil: there was none

	frameRates  *sharedRates   // of the player
	actionSlots chan struct{}  // one value for each action under way
	running     sync.WaitGroup // the writer, and actions under way

	mu              sync.Mutex           // guards the fields below
	spaceFreed      sync.Cond            // signaled when half of the outbox is free, and when the connection ends
	outbox          outbox               // what waits to be written
	onFree          func()               // called when half of the outbox is free; may be nil
	holdsPushes     bool                 // nothing is written until the client can read pushes: see greetClient
	isWriting       bool                 // a goroutine writes
	isPaused        bool                 // reading waits for an action to end, or for space in the outbox
	isClosing       bool                 // nothing is queued any more
	closeCode       websocket.StatusCode // to send after the outbox; 0: the connection was cut
	closeReason     string
	wasSilent       bool // the client did not answer a ping
	sessionDisowned bool // another connection or replica has the session: it is not suspended

	lastErrorAt, lastRefusedAt time.Time // when error events were sent last; lastRefusedAt is for CodeRefused
}

func newConn(r *replica, h *handshake, who identity, chosen wire.Codec, opened db.OpenedRealtime) *conn {
	c := &conn{
		server: h.server, replica: r, hub: r.region.hub, socket: h.socket, codec: chosen, region: r.region.name,
		project: who.project, player: opened.PlayerSub, clientAddress: h.clientAddress,
		sessionEpoch: db.SessionEpoch{ID: opened.SessionID, Epoch: opened.OwnerEpoch}, holdsPushes: true,
		actionSlots: make(chan struct{}, maxActions),
	}
	c.spaceFreed.L = &c.mu
	c.frameRates = h.server.playerRates.enter(c.rateKey())
	return c
}

// rateKey returns the key of the rates that bound this connection.
func (c *conn) rateKey() playerKey { return playerKey{c.project, c.player} }

// Ref implements delivery.Receiver.
func (c *conn) Ref() db.SessionEpoch { return c.sessionEpoch }

// Push implements delivery.Receiver.
func (c *conn) Push(class delivery.PushClass, room string, frames ...*wire.SharedFrame) {
	p := parcel{pushClass: class, roomID: room, frames: make([][]byte, 0, len(frames))}
	if len(frames) > 0 {
		p.decidedAt = frames[0].DecidedAt
	}
	for _, f := range frames {
		// Outside mu: the first connection that needs a codec encodes for all the others, which may take a while.
		encoded := f.Encoded(c.codec)
		p.frames, p.byteCount = append(p.frames, encoded), p.byteCount+len(encoded)
	}
	c.queueParcel(p)
}

// sendFrame queues a frame for this client alone.
func (c *conn) sendFrame(class delivery.PushClass, out wire.Outgoing) {
	encoded := c.codec.Encode(out)
	c.queueParcel(parcel{pushClass: class, roomID: out.Room, frames: [][]byte{encoded}, byteCount: len(encoded)})
}

// queueParcel queues a parcel, and closes a connection whose outbox is full of what must not be dropped.
func (c *conn) queueParcel(p parcel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosing { // nobody writes it any more
		return
	}
	dropped, ok := c.outbox.putParcel(p)
	c.server.metrics.droppedPatches.Add(float64(dropped))
	if !ok {
		// What is queued is of no use to a client that has to reconnect, and the close frame would wait behind it.
		c.outbox = outbox{}
		c.closeLocked(closeTryLater, reasonOverflow)
		return
	}
	c.startWriter()
}

// WhenFree implements delivery.Receiver.
func (c *conn) WhenFree(fn func()) {
	c.mu.Lock()
	free := c.outbox.isHalfFree()
	if !free {
		c.onFree = fn
	}
	// fn pushes to this connection, which locks mu again.
	c.mu.Unlock()
	if free {
		fn()
	}
}

// releasePushes lets pushes out.
func (c *conn) releasePushes() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holdsPushes = false
	c.startWriter()
}

// Close implements delivery.Receiver.
func (c *conn) Close(code websocket.StatusCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(code, reason)
}

// closeLocked begins to close the connection, and bounds the time in which the outbox and the close frame are written
// and the client closes its side. mu is locked.
func (c *conn) closeLocked(code websocket.StatusCode, reason string) {
	if c.isClosing {
		return
	}
	if c.holdsPushes {
		c.outbox = outbox{} // the client may not be able to read it yet: see holdsPushes
	}
	c.isClosing, c.holdsPushes, c.closeCode, c.closeReason = true, false, code, reason
	// The session is another connection's, so the end of this one must not suspend it.
	c.sessionDisowned = c.sessionDisowned || code == delivery.CloseSuperseded
	c.spaceFreed.Broadcast()
	// From here on nothing extends the time that is left, whatever the client sends.
	c.socket.EndWithin(c.server.options.timing.closeTimeout)
	c.startWriter()
}

// cutOff ends the connection without a close frame.
func (c *conn) cutOff() {
	c.mu.Lock()
	c.isClosing, c.outbox = true, outbox{}
	c.spaceFreed.Broadcast()
	c.mu.Unlock()
	c.socket.Cut()
}

// disownSession leaves the session to others.
func (c *conn) disownSession() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessionDisowned = true
}

// isDisowned reports whether another connection or another replica has the session: it must not be suspended then.
func (c *conn) isDisowned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessionDisowned
}

// cutOnPanic cuts the connection if fn panics.
func (c *conn) cutOnPanic(goroutine string, fn func() error) {
	if c.server.guard.Do(goroutine, fn) != nil {
		c.cutOff()
	}
}
