package db

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// agentRow is an agent that a transaction has locked, with the transaction's changes.
type agentRow struct {
	ref            AgentRef
	content        AgentContent // Status is the reported status
	keyFingerprint string
	keyID          *uuid.UUID
	joinedAt       time.Time

	statusOverride  string // set by the ack of a drain or undrain, until the next reply; "": none
	isKept          bool   // a drain is kept for the agent's name and endpoint
	missedPolls     int16
	connectionCount int64
	roomCount       int32
	reservedCount   int32
	inFlight        int32 // pending commands
	owesSnapshot    bool
	stateHash       string
	replySeq        int64
	isDoubted       bool
	hasLeft         bool
	lastSync        time.Time // when the last known reply was received
	silentSeconds   float64   // seconds since the receipt of the reply that the transaction applies; below 0: no reply

	isNew         bool
	hasNewState   bool // its row of agent_states is to be written
	hasNewContent bool // its row of agents is to be written
	// isNewlyListed means that the transaction logs agent.joined, which shows all rooms: no room gets an event of its
	// own.
	isNewlyListed bool
}

// status returns the effective status; it must agree with agent_status in SQL.
func (a *agentRow) status() string {
	switch {
	// A kept drain outranks reports and commands: it holds until UnkeepDrain.
	case a.isKept:
		return AgentDraining
	case a.statusOverride != "":
		return a.statusOverride
	}
	return a.content.Status
}

func (a *agentRow) state() AgentState {
	return AgentState{RecordedStatus: echoedStatus(a.status()), OwesSnapshot: a.owesSnapshot, IsDoubted: a.isDoubted}
}

// isListed reports whether the agent appears in lists and events.
func (a *agentRow) isListed() bool { return !a.hasLeft && !a.isDoubted }

// setContent replaces the agent's content.
func (a *agentRow) setContent(c AgentContent) {
	// The status is a column of agent_states: a change of it alone does not rewrite the wide row of agents.
	wide := a.content
	wide.Status = c.Status
	a.hasNewState = a.hasNewState || a.content.Status != c.Status
	a.hasNewContent = a.hasNewContent || !wide.equal(c)
	a.content = c
}

func (c AgentContent) equal(o AgentContent) bool {
	return c.Name == o.Name && c.ProcessUID == o.ProcessUID && c.AgentVersion == o.AgentVersion &&
		c.ProtocolVersion == o.ProtocolVersion && c.EndpointURL == o.EndpointURL &&
		maps.Equal(c.Labels, o.Labels) && slices.Equal(c.RoomTypes, o.RoomTypes) &&
		equalLimits(c.MaxConnections, o.MaxConnections) && equalLimits(c.MaxRooms, o.MaxRooms) &&
		c.AutoCreate == o.AutoCreate && c.Status == o.Status
}

func equalLimits(a, b *int32) bool { return a == b || a != nil && b != nil && *a == *b }

// info returns the agent with its rooms, for events.
func (a *agentRow) info(rooms []*roomRow) InstanceInfo {
	c := a.content
	out := InstanceInfo{
		ID: a.ref.ID, Name: c.Name, ProcessUID: c.ProcessUID, EndpointURL: c.EndpointURL, Labels: c.Labels,
		RoomTypes: c.RoomTypes, Rooms: make([]RoomInfo, 0, len(rooms)), Connections: a.connectionCount,
		Capacity:   AgentCapacity{c.MaxConnections, c.MaxRooms},
		AutoCreate: c.AutoCreate, Status: a.status(), LastSyncAt: a.lastSync.UnixMilli(), AgentVersion: c.AgentVersion,
		ProtocolVersion: c.ProtocolVersion,
	}
	// Never null in the JSON of events.
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	if out.RoomTypes == nil {
		out.RoomTypes = []string{}
	}
	for _, r := range rooms {
		if r.isListed() {
			out.Rooms = append(out.Rooms, r.info(c.EndpointURL))
		}
	}
	return out
}

// roomRow is a room of a locked agent.
type roomRow struct {
	id              string
	agentID         string
	baseID          string
	roomType        string
	connectionCount int32
	isLocal         bool
	state           string // roomReserved, roomCreated or roomReported
	commandID       *uuid.UUID
	settledFor      float64 // seconds since the command of a reserved room timed out; below 0: it is pending

	storedID   string // the id in the table, which differs from id after a rename
	isNew      bool
	hasChanged bool
	isDeleted  bool
}

const (
	roomReserved = "reserved" // a command asks the agent to create it
	roomCreated  = "created"  // the agent has acked the command
	roomReported = "reported" // a reply of the agent has shown it
)

func (r *roomRow) isListed() bool { return !r.isDeleted && r.state != roomReserved }

func (r *roomRow) info(endpoint string) RoomInfo {
	return RoomInfo{ID: r.id, Type: r.roomType, Connections: r.connectionCount, InstanceID: r.agentID,
		EndpointURL: endpoint, Local: r.isLocal}
}
