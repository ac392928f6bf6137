package db

import (
	"time"

	"github.com/google/uuid"
)

// An agent is one connection of a Rivalis game server. Its row in agent_states names the replica that holds the
// connection. A write for an agent requires that the row names the writer's replica and has no left_at. Otherwise the
// write fails with the kind [Superseded]: the agent has left, and the replica must close the connection.

// AgentRef names an agent and the replica that holds its connection.
type AgentRef struct {
	Region    string
	ID        string // 16 hexadecimal digits, new for each connection
	ReplicaID uuid.UUID
}

// The statuses that the director knows. An agent may report any other text; it then gets no rooms and does not count as
// draining.
const (
	AgentActive   = "active"
	AgentDraining = "draining"
)

// AgentContent is the part of an agent's report that is not about rooms. The caller has checked it against the limits
// of a snapshot.
type AgentContent struct {
	Name            string
	ProcessUID      string // the same for all connections of a process; may be empty
	AgentVersion    string
	ProtocolVersion int64
	EndpointURL     string
	Labels          map[string]string
	RoomTypes       []string
	MaxConnections  *int32 // nil is unlimited, 0 is a limit
	MaxRooms        *int32 // nil is unlimited, 0 is a limit
	AutoCreate      bool
	Status          string
}

// ReportedRoom is a room as an agent reports it.
type ReportedRoom struct {
	RawID           string // any text, may be empty; unique in a snapshot
	Type            string
	ConnectionCount int32 // at most a million
	IsLocal         bool  // created by the game's own code
}

// AgentJoin is the first full state of a connection, or the first full state since the agent was doubted.
type AgentJoin struct {
	Ref            AgentRef
	KeyFingerprint string     // fingerprint of its key, which is the actor of its events
	KeyID          *uuid.UUID // nil: the key comes from the configuration
	Content        AgentContent
	ReportedRooms  []ReportedRoom
	StateHash      string // as the agent computed it
	ReplySeq       int64
	ReplyAge       time.Duration // since the reply was received
}

// AgentSnapshot is a later state reply. A reply that only confirms the last content has no Content, Changed and
// Removed; it is needed only while OwesSnapshot of the agent's [AgentState] is true.
type AgentSnapshot struct {
	Ref           AgentRef
	Content       *AgentContent  // nil: unchanged
	ChangedRooms  []ReportedRoom // new rooms, and rooms that differ from the last applied reply
	RemovedRawIDs []string       // raw ids
	StateHash     string
	ReplySeq      int64
	ReplyAge      time.Duration // since the reply was received
}

// AgentState is the recorded state of an agent on which its connection depends.
type AgentState struct {
	RecordedStatus string // for the next poll: AgentDraining or AgentActive, as last recorded
	// the next state reply, even one with only a hash, must be passed to ApplySnapshot: it shows which commanded rooms
	// exist
	OwesSnapshot bool
	// the process has joined elsewhere: poll at once, and pass a valid reply to JoinAgent with the whole content
	JoinedElsewhere bool
}

// OwnAgent is a recently changed agent of a replica.
type OwnAgent struct {
	ID      string
	HasLeft bool // it no longer belongs to the replica: close the connection
	State   AgentState
}

// AgentMiss reports that an agent did not answer polls, or that it answers again.
type AgentMiss struct {
	Ref         AgentRef
	MissedPolls int           // polls in a row without a reply, up to 3; 0: it answers again
	ReplyAge    time.Duration // since its last reply was received
}
