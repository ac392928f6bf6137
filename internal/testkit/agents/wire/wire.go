// Package wire is the agent's half of the protocol between Rivalis game servers and an orchestrator (@rivalis/fleet 8,
// protocol major 3): it encodes what an agent sends, state and ack, and decodes what it receives, hello, poll and cmd.
//
// It shares no code with the director's half, server/orchestrator: tests exchange messages between the halves, so that
// both do not share an error. Decoding is strict: a FleetAgent ends its process at a frame that it cannot parse, and
// the agents in use have several versions, so the director sends one encoding of each message, and Decode returns an
// error for any other.
//
// Texts are UTF-8. A lone surrogate, which a text of JavaScript may hold, is encoded in three bytes as if it were a
// character.
package wire

// Version is the major version of the protocol.
const Version = 3

// The topics of the protocol.
const (
	TopicHello   = "fleet/hello"
	TopicPoll    = "fleet/poll"
	TopicState   = "fleet/state"
	TopicCommand = "fleet/cmd"
	TopicAck     = "fleet/ack"
)

// The two values of an agent's status.
const (
	Active   = "active"
	Draining = "draining"
)

// The operations of a command.
const (
	Create  = "create"
	Destroy = "destroy"
	Drain   = "drain"
	Undrain = "undrain"
)

// The origins of a room.
const (
	Local = "local" // the game's own code made it
	Fleet = "fleet" // a create command made it
)

// Hello opens a conversation.
type Hello struct {
	InstanceID      string // 16 lower-case hex digits, new for each connection
	ProtocolVersion uint32
	HeartbeatMS     uint32 // the interval of polls
}

// Poll asks for a state.
type Poll struct {
	ReqID     string
	KnownHash *string // the hash that an unchanged agent has; nil asks for a full state
	Status    string  // as the orchestrator has recorded it
}

// Command asks the agent to act.
type Command struct {
	ID       string
	Op       string
	RoomID   string // of Create and Destroy
	RoomType string // of Create
}

// State is the reply to a poll.
type State struct {
	ReqID    string // of the poll
	IsFull   bool
	Seq      uint32   // 1, 2, 3 in each connection
	Hash     string   // of the snapshot, see Snapshot.Hash
	Snapshot Snapshot // sent only if IsFull
}

// Snapshot is what an agent reports about its process.
type Snapshot struct {
	Name            string
	ProcessUID      string // p_ and 24 hex digits, drawn once by each process
	AgentVersion    string
	ProtocolVersion uint32
	EndpointURL     string
	Labels          map[string]string
	MaxConnections  *int32 // nil is unlimited
	MaxRooms        *int32 // nil is unlimited
	AutoCreate      bool
	RoomTypes       []string // sorted, see CompareTexts
	Rooms           []Room   // sorted by id, see CompareTexts
	Status          string
}

// Room is a room of a snapshot.
type Room struct {
	ID          string
	Type        string
	Connections uint32
	Origin      string // Local or Fleet
}

// Ack is the answer to a command.
type Ack struct {
	CommandID   string
	OK          bool
	Error       string   // without OK
	AlreadyGone bool     // of Destroy, with OK: there was no such room
	Room        *RoomRef // of Create, with OK
	Exists      bool     // of Create, without OK: there is a room of this id
}

// RoomRef names a room that was created.
type RoomRef struct{ ID, Type string }
