package lobby

import (
	"encoding/json"
	"time"
)

// State is the state of a room: an object whose values are JSON. Clients are sent changes by top-level key.
type State map[string]json.RawMessage

// Member is a session that joined a room, or is invited to it.
type Member struct {
	Session   string // "" in an invitation of a player, which any session of the player may accept
	Player    string // the session's id for a client without a name
	JoinOrder int64  // the number of its join in the room, from 1; 0 while invited
	IsAway    bool   // the session has no socket
}

// Place says whose a place in a match is. It passes from one session of the player to the next.
type Place struct {
	Player     string
	SeatPlayer string // the player of the ticket, for whom the game server keeps the seat
}

// Room is a room as a transaction has read and locked it, with the changes of the actions so far. Not safe for
// concurrent use.
type Room struct {
	Project, ID, Type string
	IsNew             bool // no transaction has made it yet
	State             State
	StateSeq          int64    // of State as it was read; at least 1
	Members           []Member // that joined, by JoinOrder
	InvitedMembers    []Member
	MaxMembers        int
	// How long the room stays without members and invitations; 0: it ends with the transaction that leaves it empty.
	GracePeriod         time.Duration
	IsPrivate, IsLocked bool
	Participants        []string // sessions that have the places of the match that made it; nil: no match did
	Places              []Place  // of Participants, in their order; nil: an earlier release made the room
	IsClosed            bool     // the room ends with this transaction

	Metadata  json.RawMessage // see [ParseMetadata]; nil: none
	JoinCode  string          // with which a session joins without an invitation; "": none
	Sanctions []Sanction      // replaced, never changed in place
	SaidCount int64           // the Number of the last message that the room remembers; 0: none yet

	JoinCount    int64    // the JoinOrder of the last member that joined
	Entries      []Entry  // what members are sent after the patch, in order
	Effects      []Effect // other changes of this transaction, in order
	CallerAnswer any      // what the caller gets with its rpc.response: nil or a JSON object as a map[string]any
}

// Kinds of an [Entry].
const (
	EntryJoined      = "joined"
	EntryLeft        = "left"
	EntryDropped     = "dropped"     // the member's socket is gone
	EntryReconnected = "reconnected" // the member has a socket again
	EntryMessage     = "message"
	EntryBytes       = "bytes"
)

// Entry is one event that the members of a room receive.
type Entry struct {
	Kind    string          `json:"k"`
	Session string          `json:"s,omitempty"` // the subject or sender; empty: the room itself sent a message
	Reason  string          `json:"r,omitempty"` // why the room removed a member; empty: the member left
	Type    string          `json:"t,omitempty"` // of a message
	Data    json.RawMessage `json:"d,omitempty"` // of a message; of bytes: a string of base64

	// The remaining fields are set for messages that the room remembers.
	Number int64  `json:"n,omitempty"` // from 1; 0: the room does not remember the entry
	SaidAt int64  `json:"a,omitempty"` // milliseconds since 1970
	Player string `json:"u,omitempty"`
}

// Op is a change of one key of a state, as clients apply it.
type Op struct {
	Op    string          `json:"op"`   // set or del
	Path  string          `json:"path"` // "/" and the key, with ~0 for ~ and ~1 for /
	Value json.RawMessage `json:"value,omitempty"`
}

// Kinds of an [Effect].
const (
	// EffectInvite lets Player join for five minutes, with any session. Session, of the player Inviter, invites.
	EffectInvite  = "invite"
	EffectRemove  = "remove"  // Session was removed from the members for Reason
	EffectEnqueue = "enqueue" // the members queue together for Queue
	EffectDequeue = "dequeue" // the members leave the queue; with ReasonCancel because one of them asked for it
	EffectSucceed = "succeed" // Session takes the place of FromSession, of the same Player, in the queue
	// EffectWithdraw means that Player has left the match for good: no other session of the player is sent the match.
	EffectWithdraw = "withdraw"
)

// ReasonCancel is the Reason of an [EffectDequeue] for which a member asked.
const ReasonCancel = "cancel"

// Effect is a change beside the room's own rows, in the same transaction.
type Effect struct {
	Kind        string
	Player      string
	Session     string
	FromSession string
	Inviter     string
	Reason      string
	Queue       Queue
}

// Queue is what the members of a room queue for.
type Queue struct {
	RoomType   string
	MatchSize  int // 2 to 16
	Attributes json.RawMessage
	Latencies  map[string]float64 // milliseconds by region
}

// Snapshot is a room as its members see it after a transaction.
type Snapshot struct {
	Project, ID, Type string
	LogPosition       int64 // of the last row of its log
	StateSeq          int64
	State             State
	Members           []Member // by JoinOrder
}

// Sanction keeps a player out of a room, or quiet in it, while the room lives.
type Sanction struct {
	Player string    `json:"player"`
	IsBan  bool      `json:"ban,omitempty"`  // it may not join
	IsMute bool      `json:"mute,omitempty"` // what it says is refused
	EndsAt time.Time `json:"until,omitzero"` // zero: with the room
	Reason string    `json:"reason,omitempty"`
}
