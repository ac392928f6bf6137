package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// ConsoleAgent is a connected game server of the orchestrator as ops.agents shows it.
type ConsoleAgent struct {
	Region           string
	Agent            string // the id of its connection
	Name             string // as it reports; may be empty
	Process          string // the same for all its connections, and the id of its instance
	Endpoint         string
	State            string // connected, stale, cut off or doubted
	Status           string // active, draining, or another text that it reports
	DrainKept        bool   // it stays drained when it restarts
	Rooms            int32
	ReservedRooms    int32
	MaxRooms         *int32 // nil: unlimited
	Connections      int64
	MaxConnections   *int32 // nil: unlimited
	CommandsInFlight int32
	AutoCreate       bool
	RoomTypes        []string
	Labels           map[string]string
	Version          string
	Key              string // fingerprint of the key that it connected with
	Replica          uuid.UUID
	JoinedAt         time.Time
	LastReply        time.Time // the epoch: unknown
}

// AgentFilter selects agents. Empty fields select all.
type AgentFilter struct {
	State string // a state or a status
	Text  string // the beginning of their ids, or a part of their names
	// AfterRegion and After are the region and the id of the last row of the page before.
	AfterRegion, After string
	Page               ConsolePage
}

// ConsoleAgents returns a page of agents in the order of region and id, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleAgents(ctx context.Context, f AgentFilter) (agents []ConsoleAgent, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleAgents(ctx, query.ConsoleAgentsParams{State: f.State, Text: f.Text, AfterRegion: f.AfterRegion, After: f.After, Most: most + 1})
		for _, r := range rows {
			agents = append(agents, ConsoleAgent(r))
		}
		return err
	})
	agents, more = page(agents, most)
	return agents, more, err
}

// ConsoleAgent returns an agent by its id. Errors: NotFound, "agent_unknown"; TooMany; Unavailable.
func (s *Store) ConsoleAgent(ctx context.Context, id string) (ConsoleAgent, error) {
	found, _, err := s.ConsoleAgents(ctx, AgentFilter{Text: id})
	for _, a := range found {
		if a.Agent == id {
			return a, nil
		}
	}
	if err == nil {
		err = fault.New(fault.NotFound, "agent_unknown", "no agent %q is connected", id)
	}
	return ConsoleAgent{}, err
}

// ConsoleRoom is a room of an agent as ops.rooms shows it.
type ConsoleRoom struct {
	Region      string
	Room        string // its public id
	Agent       string
	AgentName   string
	Type        string
	Connections int32
	Local       bool   // the game's own code created it
	State       string // reserved, created or reported
	Endpoint    string
}

// RoomFilter selects rooms. Empty fields select all.
type RoomFilter struct {
	Agent string
	Text  string // the beginning of their ids, or their type
	// AfterRegion and After are the region and the id of the last row of the page before.
	AfterRegion, After string
	Page               ConsolePage
}

// ConsoleRooms returns a page of rooms in the order of region and id, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsoleRooms(ctx context.Context, f RoomFilter) (rooms []ConsoleRoom, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleRooms(ctx, query.ConsoleRoomsParams{Agent: f.Agent, Text: f.Text, AfterRegion: f.AfterRegion, After: f.After, Most: most + 1})
		for _, r := range rows {
			rooms = append(rooms, ConsoleRoom(r))
		}
		return err
	})
	rooms, more = page(rooms, most)
	return rooms, more, err
}

// ConsoleCommand is a command to an agent as ops.commands shows it.
type ConsoleCommand struct {
	Region    string
	Command   uuid.UUID
	Op        string // create, destroy, drain or undrain
	State     string // pending, done, failed, exists, disconnected, timed_out or done_late
	Agent     string
	AgentName string
	Room      string
	Type      string
	Actor     string
	Error     string // of the agent that refused
	CreatedAt time.Time
	Deadline  time.Time
	SettledAt *time.Time // nil: it is pending
}

// ConsoleCommands returns the latest commands to an agent or, for "", to all. Settled ones are kept for minutes. Errors: TooMany,
// Unavailable.
func (s *Store) ConsoleCommands(ctx context.Context, agent string, size ConsolePage) (commands []ConsoleCommand, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleCommands(ctx, query.ConsoleCommandsParams{Agent: agent, Most: size.rows()})
		for _, r := range rows {
			commands = append(commands, ConsoleCommand(r))
		}
		return err
	})
	return commands, err
}
