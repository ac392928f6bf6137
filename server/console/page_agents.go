package console

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// agentsView is what templates/agents.html reads.
type agentsView struct {
	Agents   []opsview.Agent
	Next     string
	Commands []opsview.Command
	Filtered bool
}

// agentsPage shows agents, and the latest commands to all of them.
var agentsPage = page[agentsView]{routePath: "/agents", templateName: "agents", readEvery: 3 * time.Second,
	loadData: loadAgents}

// loadAgents reads a page of the agents that the filter selects.
func loadAgents(ctx context.Context, s Store, q query) (v agentsView, err error) {
	f := opsview.AgentFilter{State: q.Get("state"), Text: q.Get("text")}
	v.Filtered = f.State+f.Text != ""
	var more bool
	if v.Agents, more, err = listView(ctx, s, opsview.Agents, f, q.pageAfter()); err != nil {
		return v, err
	}
	if more {
		last := v.Agents[len(v.Agents)-1]
		v.Next = q.Next(last.Region, last.Agent)
	}
	v.Commands, err = latestCommands(ctx, s, "")
	return v, err
}

// agentView is what templates/agent.html reads.
type agentView struct {
	Agent    opsview.Agent
	Rooms    []opsview.Room
	Next     string
	Commands []opsview.Command
	Events   []opsview.Event
}

// agentPage shows an agent with its rooms, and the latest commands to it.
var agentPage = page[agentView]{routePath: "/agents/:id", templateName: "agent", readEvery: 3 * time.Second,
	loadData: loadAgent}

// loadAgent reads the page of one agent. Errors: NotFound.
func loadAgent(ctx context.Context, s Store, q query) (v agentView, err error) {
	if v.Agent, err = agentOf(ctx, s, q.Param("id")); err != nil {
		return v, err
	}
	if v.Rooms, v.Next, err = listRooms(ctx, s, q, opsview.RoomFilter{Agent: v.Agent.Agent}); err != nil {
		return v, err
	}
	if v.Commands, err = latestCommands(ctx, s, v.Agent.Agent); err != nil {
		return v, err
	}
	v.Events, err = eventsOf(ctx, s, v.Agent.Agent)
	return v, err
}

// agentOf returns the agent with an id. Errors: NotFound.
func agentOf(ctx context.Context, s Store, id string) (opsview.Agent, error) {
	return readRow(ctx, s, opsview.Agents, opsview.AgentFilter{ID: &id}, "agent_unknown", "no agent %q is connected",
		id)
}

// latestCommands returns the latest commands to an agent or, for "", to all.
func latestCommands(ctx context.Context, s Store, agent string) ([]opsview.Command, error) {
	commands, _, err := listView(ctx, s, opsview.Commands, opsview.CommandFilter{Agent: agent},
		opsview.Page{Limit: pageSize})
	return commands, err
}

// drainAgentAction gives an agent no new rooms.
var drainAgentAction = action{
	routePath: "/agents/:id/drain",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		a, err := agentOf(ctx, s, q.Param("id"))
		return question{
			Title: "Drain " + agentName(a) + "?", Button: "Drain", Back: agentPath(a.Agent),
			Effects: []string{
				"The game server gets no new rooms, also after it restarts: it is recognised by its name and endpoint.",
				fmt.Sprintf("Its %s with %s stay.", pluralText(a.Rooms, "room", "rooms"),
					pluralText(a.Connections, "player", "players")),
				"Undrain it to give it rooms again.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).DrainAgent(ctx, q.Param("id"))
		return outcomeText(changed, "The game server drains: it gets no new rooms.",
			"It was kept drained before: nothing changed."), err
	},
}

// undrainAgentAction ends the drain of drainAgentAction.
var undrainAgentAction = action{
	routePath: "/agents/:id/undrain",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		a, err := agentOf(ctx, s, q.Param("id"))
		return question{
			Title: "Undrain " + agentName(a) + "?", Button: "Undrain", Back: agentPath(a.Agent),
			Effects: []string{"The game server gets new rooms again, also after it restarts."},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).UndrainAgent(ctx, q.Param("id"))
		return outcomeText(changed, "The game server gets new rooms again.",
			"It was not kept drained: nothing changed."), err
	},
}

// agentName is the name of an agent, or its id where it reports none.
func agentName(a opsview.Agent) string {
	if a.Name == "" {
		return a.Agent
	}
	return a.Name
}
