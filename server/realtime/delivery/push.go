package delivery

import (
	"github.com/coder/websocket"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/wire"
)

// PushClass says what an outbox may do with frames when it is full.
type PushClass int

// The classes, from what is never dropped to what is replaced.
const (
	PushAnswer   PushClass = iota // to a request: never dropped
	PushEvent                     // presence, messages and invitations: never dropped
	PushPatch                     // dropped; the outbox drops all patches of the room until the next snapshot of it
	PushSnapshot                  // replaces the queued patches and snapshot of its room
)

// Receiver is a connection as the hub sees it. Its methods do not block and are safe for concurrent use.
type Receiver interface {
	// Ref returns the session and the epoch of the connection. They never change.
	Ref() db.SessionEpoch
	// Push queues frames that belong together: they count as one entry of the outbox. room is the id of the room that
	// they are about; "" is none.
	Push(class PushClass, room string, frames ...*wire.SharedFrame)
	// WhenFree calls fn, in any goroutine, as soon as half of the outbox is free; not if the connection ends before.
	// One function can wait.
	WhenFree(fn func())
	// Close closes the connection after what is queued. A second call does nothing.
	Close(code websocket.StatusCode, reason string)
}

// The reasons with which the hub closes connections.
const (
	ReasonSuperseded = "session replaced"
	reasonRevoked    = "key revoked"
)

// Close codes that the hub chooses.
const (
	CloseKey        websocket.StatusCode = 4403 // the session's key was revoked
	CloseSuperseded websocket.StatusCode = 4409 // another connection has the session, or the session has ended
)
