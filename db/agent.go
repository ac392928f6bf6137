package db

import (
	"time"

	"github.com/google/uuid"
)

// An agent is one connection of a Rivalis game server. Its row in agent_states names the replica that holds the
// connection. A write for an agent requires that the row names the writer's replica and has no left_at. Otherwise the
// write fails with the kind [Superseded]: the agent has left, and the replica must close the connection.
//
// An agent is doubted while another connection of its process may have replaced it: one with the same name and endpoint
// has joined another replica, and the agent has not answered since. No list shows it, and it gets no commands.

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

// AgentJoin is the first full state of a connection, or the full state with which a doubted agent answers.
type AgentJoin struct {
	Ref            AgentRef
	KeyFingerprint string     // of the agent's key; it is the actor of the agent's events
	KeyID          *uuid.UUID // nil: the key comes from the configuration
	Content        AgentContent
	ReportedRooms  []ReportedRoom
	StateHash      string        // as the agent computed it
	ReplySeq       int64         // sequence number of the state, as the agent counts
	ReplyAge       time.Duration // since the reply was received
}

// AgentSnapshot is a later state reply. A reply that only confirms the last state has no Content, ChangedRooms and
// RemovedRawIDs; it is needed only while OwesSnapshot of the agent's [AgentState] is true.
type AgentSnapshot struct {
	Ref           AgentRef
	Content       *AgentContent  // nil: unchanged
	ChangedRooms  []ReportedRoom // new rooms, and rooms that differ from the last applied reply
	RemovedRawIDs []string       // of rooms that the agent no longer reports
	StateHash     string         // as those of AgentJoin, like the next two
	ReplySeq      int64
	ReplyAge      time.Duration
}

// AgentState is the recorded state of an agent on which its connection depends.
type AgentState struct {
	RecordedStatus string // AgentDraining or AgentActive, which the next poll repeats to the agent
	// OwesSnapshot means that the next state reply must be passed to ApplySnapshot, even one with only a hash: it shows
	// which commanded rooms exist.
	OwesSnapshot bool
	// IsDoubted means that the agent must be polled at once, and that a valid reply must be passed to JoinAgent with
	// the whole content.
	IsDoubted bool
}

// OwnAgent is a recently changed agent of a replica.
type OwnAgent struct {
	ID      string
	HasLeft bool // the agent no longer belongs to the replica: close the connection
	State   AgentState
}

// AgentMiss reports that an agent did not answer polls, or that it answers again.
type AgentMiss struct {
	Ref         AgentRef
	MissedPolls int           // polls in a row without a reply, up to maxMissedPolls; 0: the agent answers again
	ReplyAge    time.Duration // since the last reply was received
}
