package realtime

import (
	"github.com/coder/websocket"

	"github.com/lattice-director/director/db"
)

// pushClass says what an outbox may do with frames when it is full.
type pushClass int

const (
	pushAnswer   pushClass = iota // to a request: never dropped
	pushEvent                     // presence, messages and invitations: never dropped
	pushPatch                     // dropped; the outbox drops all patches of the room until the next snapshot of it
	pushSnapshot                  // replaces the queued patches and snapshot of its room
)

// receiver is a connection as the hub sees it. Its methods do not block and are safe for concurrent use.
type receiver interface {
	// ref returns the session and the epoch of the connection. They never change.
	ref() db.SessionEpoch
	// push queues frames that belong together: they count as one entry of the outbox. room is the id of the room that they are about; "" is none.
	push(class pushClass, room string, frames ...*shared)
	// close closes the connection after what is queued. A second call does nothing.
	close(code websocket.StatusCode, reason string)
}

// Close codes that the hub chooses.
const (
	closeKey        websocket.StatusCode = 4403 // the session's key was revoked
	closeSuperseded websocket.StatusCode = 4409 // another connection has the session, or the session has ended
)
