package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func (p *program) agents() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "agents",
		Short: "List Rivalis game servers, drain and undrain them, and make keys for them",
		Long: "Commands for game servers that are connected with a FleetAgent of Rivalis. The same in SQL: views ops.agents, ops.rooms and\n" +
			"ops.commands, functions ops.drain_agent and ops.undrain_agent.",
		Example: "  director agents list\n  director agents drain 562cfc2cbeef8cf4\n  director agents undrain 562cfc2cbeef8cf4\n" +
			"  director agents key create --name eu1 --label region=eu",
	}, p.agentsList(), p.agentsDrain(), p.agentsUndrain(), p.agentKeys())
}

// agentLine is a row of ops.agents.
type agentLine struct {
	Region           string            `json:"region"`
	Agent            string            `json:"agent"`
	Name             string            `json:"name"`
	Process          string            `json:"process"`
	Endpoint         string            `json:"endpoint"`
	State            string            `json:"state"`
	Status           string            `json:"status"`
	DrainKept        bool              `json:"drain_kept"`
	Rooms            int               `json:"rooms"`
	ReservedRooms    int               `json:"reserved_rooms"`
	MaxRooms         *int              `json:"max_rooms"` // nil: any number
	Connections      int64             `json:"connections"`
	MaxConnections   *int              `json:"max_connections"` // nil: any number
	CommandsInFlight int               `json:"commands_in_flight"`
	RoomTypes        []string          `json:"room_types"`
	Labels           map[string]string `json:"labels"`
	Version          string            `json:"version"`
	Key              string            `json:"key"`
	JoinedAt         time.Time         `json:"joined_at"`
	LastReply        *time.Time        `json:"last_reply"`
	ReplyAge         *float64          `json:"reply_age"` // seconds
}

const selectAgents = `SELECT region, agent, name, process, endpoint, state, status, drain_kept, rooms, reserved_rooms, max_rooms, connections,
    max_connections, commands_in_flight, room_types, labels, version, key, joined_at, last_reply,
    extract(epoch FROM statement_timestamp() - last_reply)::float8 AS reply_age
FROM ops.agents WHERE ($1 = '' OR region = $1) AND ($2 = '' OR $2 = ANY (room_types)) AND ($3 = '' OR name = $3) ORDER BY region, joined_at, agent`

func (p *program) agentsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the connected game servers",
		Long: "Lists the game servers with their rooms and players. Only game servers in the state connected get rooms: a stale one did not answer two polls, one that\n" +
			"is cut off was connected to a replica that has ended.",
		Example: "  director agents list\n  director agents list --type match --name eu0\n" +
			"  director agents list -o json | jq -r '.[] | select(.state != \"connected\") | .agent'",
		Args: cli.Exactly(0),
	}
	region := cmd.Flags().String("region", "", "Only this region")
	roomType := cmd.Flags().String("type", "", "Only game servers that can create rooms of this type")
	name := cmd.Flags().String("name", "", "Only game servers with this name")
	p.completeFlag(cmd, "region", "SELECT DISTINCT region FROM ops.agents")
	p.completeFlag(cmd, "type", "SELECT DISTINCT unnest(room_types) FROM ops.agents")
	p.completeFlag(cmd, "name", "SELECT DISTINCT name FROM ops.agents WHERE name <> ''")
	addFlags(cmd.Flags(), byOperator)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withDatabase(cmd, byOperator, func(ctx context.Context, l operator) error {
			agents, err := rows[agentLine](ctx, l.Store, selectAgents, *region, *roomType, *name)
			if err != nil {
				return err
			}
			header := []string{"region", "agent", "name", "state", "status", "kept", "types", "rooms", "max rooms", "players", "max players", "reply", "endpoint"}
			return cli.Write(l.out.Sparing("reply", "region", "kept", "max players", "max rooms", "types", "endpoint"), agents, header, agentLine.cells)
		})
	}
	return cmd
}

func (a agentLine) cells() []any {
	return []any{
		a.Region, a.Agent, a.Name, a.State, a.Status, a.DrainKept, a.RoomTypes, a.Rooms + a.ReservedRooms, orBlank(a.MaxRooms),
		a.Connections, orBlank(a.MaxConnections), ago(a.ReplyAge), a.Endpoint,
	}
}

func (p *program) agentsDrain() *cobra.Command {
	return p.changeRows(&cobra.Command{
		Use:   "drain AGENT…",
		Short: "Place no more rooms on game servers, also after they restart; their rooms stay",
		Long: "Stops placing rooms on game servers until `undrain`. Each is identified by its name and endpoint, so it stays drained when its process\n" +
			"restarts. `POST /v1/instances/ID/drain` drains only the current process.",
		Example: "  director agents drain 562cfc2cbeef8cf4",
	}, ofAgents, "SELECT ops.drain_agent($1)", "NOT drain_kept")
}

func (p *program) agentsUndrain() *cobra.Command {
	return p.changeRows(&cobra.Command{
		Use:     "undrain AGENT…",
		Short:   "Place rooms on drained game servers again",
		Long:    "Ends a drain of `drain`. A game server that was drained in another way stays drained.",
		Example: "  director agents undrain 562cfc2cbeef8cf4",
	}, ofAgents, "SELECT ops.undrain_agent($1)", "drain_kept")
}
