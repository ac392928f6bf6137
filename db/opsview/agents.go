package opsview

import (
	"time"

	"github.com/google/uuid"
)

// Agent is a connected game server of the orchestrator.
type Agent struct {
	Region string `db:"region" json:"region"`
	Agent  string `db:"agent" json:"agent"` // the id of its connection
	Name   string `db:"name" json:"name"`   // as it reports; may be empty
	// Process is the same for all connections of a game server, and the id of its instance.
	Process  string `db:"process" json:"process"`
	Endpoint string `db:"endpoint" json:"endpoint"`
	State    string `db:"state" json:"state"` // connected, stale, cut off or doubted
	// Status is active, draining, or another text that the agent reports.
	Status           string            `db:"status" json:"status"`
	DrainKept        bool              `db:"drain_kept" json:"drain_kept"` // it stays drained when it restarts
	Rooms            int32             `db:"rooms" json:"rooms"`
	ReservedRooms    int32             `db:"reserved_rooms" json:"reserved_rooms"`
	MaxRooms         *int32            `db:"max_rooms" json:"max_rooms"` // nil: unlimited
	Connections      int64             `db:"connections" json:"connections"`
	MaxConnections   *int32            `db:"max_connections" json:"max_connections"` // nil: unlimited
	CommandsInFlight int32             `db:"commands_in_flight" json:"commands_in_flight"`
	RoomTypes        []string          `db:"room_types" json:"room_types"`
	Labels           map[string]string `db:"labels" json:"labels"`
	Version          string            `db:"version" json:"version"`
	Key              string            `db:"key" json:"key"` // fingerprint of the key that it connected with
	JoinedAt         time.Time         `db:"joined_at" json:"joined_at"`
	LastReply        *time.Time        `db:"last_reply" json:"last_reply"` // nil: unknown
	// ReplyAge is the time since LastReply in seconds; nil: unknown.
	ReplyAge   *float64  `db:"reply_age" sql:"extract(epoch FROM statement_timestamp() - last_reply)::float8" json:"reply_age"`
	AutoCreate bool      `db:"auto_create" json:"-"` // it creates rooms on request
	Replica    uuid.UUID `db:"replica" json:"-"`
}

// Agents are read in the order of region and id.
var Agents = View[Agent, AgentFilter]{name: "agents", order: Order{"region", "agent"}}

// ByJoining is the order of agents by when they connected, region by region.
var ByJoining = Order{"region", "joined_at", "agent"}

// AgentFilter selects agents. Empty fields select all.
type AgentFilter struct {
	Region string
	ID     *string
	Name   string
	Type   string // a type of rooms that they can create
	State  string // a state or a status
	Text   string // the beginning of their ids, or a part of their names
	// DrainKept, if not nil, selects those that an operator keeps drained, or the others.
	DrainKept *bool
}

func (f AgentFilter) selectRows(w *where) {
	w.addEqual("region", f.Region)
	addID(w, "agent", f.ID)
	w.addEqual("name", f.Name)
	w.addElement("room_types", f.Type)
	if f.State != "" {
		w.add("? IN (state, status)", f.State)
	}
	if f.Text != "" {
		w.add("starts_with(agent, ?) OR strpos(name, ?) > 0", f.Text, f.Text)
	}
	if f.DrainKept != nil {
		w.add("drain_kept = ?", *f.DrainKept)
	}
}

// Room is a room of an agent.
type Room struct {
	Region      string `db:"region" json:"region"`
	Room        string `db:"room" json:"room"` // its public id
	Agent       string `db:"agent" json:"agent"`
	AgentName   string `db:"agent_name" json:"agent_name"`
	Type        string `db:"type" json:"type"`
	Connections int32  `db:"connections" json:"connections"`
	Local       bool   `db:"local" json:"local"` // the game's own code created it
	State       string `db:"state" json:"state"` // reserved, created or reported
	Endpoint    string `db:"endpoint" json:"endpoint"`
}

// Rooms are read in the order of region and id.
var Rooms = View[Room, RoomFilter]{name: "rooms", order: Order{"region", "room"}}

// RoomFilter selects rooms. Empty fields select all.
type RoomFilter struct {
	Agent string
	Text  string // the beginning of their ids, or their type
}

func (f RoomFilter) selectRows(w *where) {
	w.addEqual("agent", f.Agent)
	if f.Text != "" {
		w.add("starts_with(room, ?) OR type = ?", f.Text, f.Text)
	}
}

// Command is a command to an agent. Those that were settled minutes ago are deleted.
type Command struct {
	Region  string    `db:"region" json:"region"`
	Command uuid.UUID `db:"command" json:"command"`
	Op      string    `db:"op" json:"op"` // create, destroy, drain or undrain
	// State is pending, done, failed, exists, disconnected, timed_out or done_late.
	State     string         `db:"state" json:"state"`
	Agent     string         `db:"agent" json:"agent"`
	AgentName string         `db:"agent_name" sql:"coalesce(agent_name, '')" json:"agent_name"`
	Room      string         `db:"room" sql:"coalesce(room, '')" json:"room"`
	Type      string         `db:"type" sql:"coalesce(type, '')" json:"type"`
	Actor     string         `db:"actor" json:"actor"`
	Error     string         `db:"error" sql:"coalesce(error, '')" json:"error"` // of the agent that refused
	CreatedAt time.Time      `db:"created_at" json:"created_at"`
	Deadline  time.Time      `db:"deadline" json:"deadline"`
	SettledAt *time.Time     `db:"settled_at" json:"settled_at"` // nil: it is pending
	Took      *time.Duration `db:"took" json:"-"`
	Replica   *uuid.UUID     `db:"replica" json:"-"`
	Caller    *uuid.UUID     `db:"caller" json:"-"`
}

// Commands are read latest first.
var Commands = View[Command, CommandFilter]{name: "commands", order: Order{"-created_at", "command"}}

// CommandFilter selects the commands to an agent; "" selects all.
type CommandFilter struct{ Agent string }

func (f CommandFilter) selectRows(w *where) { w.addEqual("agent", f.Agent) }
