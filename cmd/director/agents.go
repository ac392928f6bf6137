package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) agentsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "agents",
		Short: "List Rivalis game servers, drain and undrain them, and make keys for them",
		Long: "Commands for game servers that are connected with a FleetAgent of Rivalis. The same in SQL: views ops.agents, ops.rooms and\n" +
			"ops.commands, functions ops.drain_agent and ops.undrain_agent.",
		Example: "  director agents list\n  director agents drain 562cfc2cbeef8cf4\n  director agents undrain 562cfc2cbeef8cf4\n" +
			"  director agents key create --name eu1 --label region=eu",
	}, p.agentsList(), p.agentsDrain(), p.agentsUndrain(), p.agentKeys())
}

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
	var f opsview.AgentFilter
	column := func(name string) words { return wordsOf(opsview.Agents, opsview.AgentFilter{}, name) }
	p.addFilters(cmd, filterFlag{"region", &f.Region, "Only this region", column("region")},
		filterFlag{"type", &f.Type, "Only game servers that can create rooms of this type", column("room_types")},
		filterFlag{"name", &f.Name, "Only game servers with this name", column("name")})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, _ []string) error {
		// By when they connected: an agent that has just connected is the last row of its region.
		return printView(ctx, op, opsview.Agents, f, opsview.Page{Order: opsview.ByJoining}, table[opsview.Agent]{
			titles: []string{
				"region", "agent", "name", "state", "status", "kept", "types", "rooms", "max rooms", "players",
				"max players", "reply", "endpoint",
			},
			spareTitles: []string{"reply", "region", "kept", "max players", "max rooms", "types", "endpoint"},
			rowCells:    agentCells,
		})
	})
}

// agentCells leaves limits blank that an agent has not set: 0 would mean that it takes no room.
func agentCells(a opsview.Agent) []any {
	return []any{
		// Reserved rooms count: the agent is about to create them, and max rooms bounds both together.
		a.Region, a.Agent, a.Name, a.State, a.Status, a.DrainKept, a.RoomTypes, a.Rooms + a.ReservedRooms,
		orBlank(a.MaxRooms), a.Connections, orBlank(a.MaxConnections), formatAgo(a.ReplyAge), a.Endpoint,
	}
}

// agentsDrain offers for completion the agents that no operator drains: of the others the command changes nothing.
func (p *program) agentsDrain() *cobra.Command {
	return p.changeRows(&cobra.Command{
		Use:   "drain AGENT…",
		Short: "Place no more rooms on game servers, also after they restart; their rooms stay",
		Long: "Stops placing rooms on game servers until `undrain`. Each is identified by its name and endpoint, so it stays drained when its process\n" +
			"restarts. `POST /v1/instances/ID/drain` drains only the current process.",
		Example: "  director agents drain 562cfc2cbeef8cf4",
	}, "agent", wordsOf(opsview.Agents, opsview.AgentFilter{DrainKept: new(false)}, "agent"), db.Act.DrainAgent)
}

// agentsUndrain offers for completion the agents whose drain an operator keeps: the others have none that it could end.
func (p *program) agentsUndrain() *cobra.Command {
	return p.changeRows(&cobra.Command{
		Use:     "undrain AGENT…",
		Short:   "Place rooms on drained game servers again",
		Long:    "Ends a drain of `drain`. A game server that was drained in another way stays drained.",
		Example: "  director agents undrain 562cfc2cbeef8cf4",
	}, "agent", wordsOf(opsview.Agents, opsview.AgentFilter{DrainKept: new(true)}, "agent"), db.Act.UndrainAgent)
}
