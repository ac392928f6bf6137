package db

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/fault"
)

// CommandOp is the operation of a command.
type CommandOp string

// The operations of commands.
const (
	CommandCreate  CommandOp = "create"
	CommandDestroy CommandOp = "destroy"
	CommandDrain   CommandOp = "drain"
	CommandUndrain CommandOp = "undrain"
)

// CommandState is the state of a command.
type CommandState string

// The states of a command. All but CommandPending are final, except that a timed-out command may still be done late.
const (
	CommandPending      CommandState = "pending"
	CommandDone         CommandState = "done"
	CommandFailed       CommandState = "failed"       // the agent refused
	CommandExists       CommandState = "exists"       // the agent already has a room with that id
	CommandDisconnected CommandState = "disconnected" // the agent left
	CommandTimedOut     CommandState = "timed_out"
	CommandDoneLate     CommandState = "done_late" // acked after the timeout
)

// Command is a command to an agent. The replica that holds the agent's connection sends it once.
type Command struct {
	ID        uuid.UUID
	Region    string
	AgentID   string
	ReplicaID uuid.UUID // the replica that holds the agent's connection
	Op        CommandOp
	RoomID    string // public id; of create and destroy
	RawID     string // the game's own id of the room; of create and destroy
	RoomType  string // of create
	Deadline  time.Time
}

// NewRoom is a request for a room. If InstanceID and ProcessUID are nil, the strategy chooses the agent.
type NewRoom struct {
	Region         string
	CallerReplica  uuid.UUID // the replica that waits for the answer
	Actor          string    // fingerprint of the caller's key
	Type           string
	RoomID         string  // empty: an id is generated
	InstanceID     *string // the agent that must create the room
	ProcessUID     *string // the process that must create the room, on the connection that joined last
	SpreadStrategy string
	RequiredLabels map[string]string // of the agent; ignored with an InstanceID or a ProcessUID
	NearestAgents  []string          // the best agents in a copy of the fleet that may be old; see room_near.go
	NoMatch        bool              // the caller requires a label value that no agent can have, such as a number
	IsForced       bool              // with an InstanceID or a ProcessUID: also on a draining or stale agent
	Timeout        time.Duration
}

// CommandAck is an agent's ack of a command that was sent on its connection.
type CommandAck struct {
	AgentRef    AgentRef
	CommandID   uuid.UUID
	IsOK        bool
	AlreadyGone bool   // destroy: there was no such room
	RoomExists  bool   // create: refused, because the agent has a room with the id
	FailureText string // the agent's error text
	RoomType    string // create: of the room that the agent made
	RawID       string // create: of the room that the agent made
}

// CommandAnswer is the outcome of a command.
type CommandAnswer struct {
	ID         uuid.UUID
	FinalState CommandState
	SettledTx  uint64 // the transaction that settled it: a roster that has read past it includes the change
	RoomID     string // public id
	// AgentID is the agent that carried the command out: another one than it was sent to, if the process has joined
	// again in the meantime.
	AgentID     string
	CreatedRoom RoomInfo // of a create that is done: the current room
}

// The error codes about rooms and agents, as in the protocol of Rivalis.
const (
	CodeRoomExists           = "ROOM_EXISTS"
	CodeRoomNotFound         = "ROOM_NOT_FOUND"
	CodeNoCandidate          = "NO_CANDIDATE"
	CodeInstanceNotFound     = "INSTANCE_NOT_FOUND"
	CodeInstanceDraining     = "INSTANCE_DRAINING"
	CodeInstanceDisconnected = "INSTANCE_DISCONNECTED"
	CodeInstanceBusy         = "INSTANCE_BUSY"
	CodeValidation           = "VALIDATION"
)

func roomExists(id string) error {
	return fault.New(fault.Conflict, CodeRoomExists, "there is a room %q", id)
}

func roomNotFound(id string) error {
	return fault.New(fault.NotFound, CodeRoomNotFound, "there is no room %q", id)
}

func agentNotFound(id string) error {
	return fault.New(fault.NotFound, CodeInstanceNotFound, "there is no instance %q", id)
}

func agentBusy() error {
	return fault.New(fault.TooMany, CodeInstanceBusy,
		"each instance that could has %d commands that it has not acknowledged", maxInFlight)
}

// notifyReplicas wakes replicas. It ignores the zero id.
func (s *Store) notifyReplicas(region string, ids []uuid.UUID) {
	woken := map[uuid.UUID]bool{uuid.Nil: true}
	for _, id := range ids {
		if !woken[id] {
			woken[id] = true
			s.Notify(TopicReplica(id), region)
		}
	}
}
