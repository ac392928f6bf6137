package console

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
)

// agentStore is what the pages of agents read.
type agentStore interface {
	ConsoleAgents(ctx context.Context, f db.AgentFilter) (agents []db.ConsoleAgent, more bool, err error)
	ConsoleAgent(ctx context.Context, id string) (db.ConsoleAgent, error)
	ConsoleCommands(ctx context.Context, agent string, size db.ConsolePage) ([]db.ConsoleCommand, error)
	ConsoleEvents(ctx context.Context, before db.EventCursor, f db.EventFilter) (db.EventPage, error)
}

// agentsView is what templates/agents.html reads.
type agentsView struct {
	Agents   []db.ConsoleAgent
	Next     string
	Commands []db.ConsoleCommand
	Filtered bool
}

var agentsPage = page[agentsView]{path: "/agents", template: "agents", every: 3 * time.Second, load: loadAgents}

func loadAgents(ctx context.Context, s Store, q query) (v agentsView, err error) {
	f := db.AgentFilter{State: q.Get("state"), Text: q.Get("text"), Page: pageSize}
	v.Filtered = f.State+f.Text != ""
	f.AfterRegion, f.After = q.After()
	var more bool
	if v.Agents, more, err = s.ConsoleAgents(ctx, f); err != nil {
		return v, err
	}
	if more {
		last := v.Agents[len(v.Agents)-1]
		v.Next = q.Next(last.Region, last.Agent)
	}
	v.Commands, err = s.ConsoleCommands(ctx, "", pageSize)
	return v, err
}

// agentView is what templates/agent.html reads.
type agentView struct {
	Agent    db.ConsoleAgent
	Rooms    []db.ConsoleRoom
	Next     string
	Commands []db.ConsoleCommand
	Events   []db.Event
}

var agentPage = page[agentView]{path: "/agents/:id", template: "agent", every: 3 * time.Second, load: loadAgent}

func loadAgent(ctx context.Context, s Store, q query) (v agentView, err error) {
	if v.Agent, err = s.ConsoleAgent(ctx, q.Param("id")); err != nil {
		return v, err
	}
	f := db.RoomFilter{Agent: v.Agent.Agent, Page: pageSize}
	f.AfterRegion, f.After = q.After()
	if v.Rooms, v.Next, err = roomPage(ctx, s, q, f); err != nil {
		return v, err
	}
	if v.Commands, err = s.ConsoleCommands(ctx, v.Agent.Agent, pageSize); err != nil {
		return v, err
	}
	events, err := s.ConsoleEvents(ctx, db.LatestEvent(), db.EventFilter{Instance: v.Agent.Agent, Page: latestEvents})
	v.Events = events.Events
	return v, err
}

// latestEvents is how many events a page shows of its subject.
const latestEvents = 10

// roomPage returns a page of rooms, and the address of the next one.
func roomPage(ctx context.Context, s Store, q query, f db.RoomFilter) (rooms []db.ConsoleRoom, next string, err error) {
	rooms, more, err := s.ConsoleRooms(ctx, f)
	if more {
		last := rooms[len(rooms)-1]
		next = q.Next(last.Region, last.Room)
	}
	return rooms, next, err
}

var drainAgentAction = action{
	path: "/agents/:id/drain",
	ask: func(ctx context.Context, s Store, q query) (question, error) {
		a, err := s.ConsoleAgent(ctx, q.Param("id"))
		return question{
			Title: "Drain " + agentName(a) + "?", Button: "Drain", Back: agentPath(a.Agent),
			Says: []string{
				"The game server gets no new rooms, also after it restarts: it is recognised by its name and endpoint.",
				fmt.Sprintf("Its %s with %s stay.", plural(a.Rooms, "room", "rooms"), plural(a.Connections, "player", "players")),
				"Undrain it to give it rooms again.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).DrainAgent(ctx, q.Param("id"))
		return outcome(changed, "The game server drains: it gets no new rooms.", "It was kept drained before: nothing changed."), err
	},
}

var undrainAgentAction = action{
	path: "/agents/:id/undrain",
	ask: func(ctx context.Context, s Store, q query) (question, error) {
		a, err := s.ConsoleAgent(ctx, q.Param("id"))
		return question{
			Title: "Undrain " + agentName(a) + "?", Button: "Undrain", Back: agentPath(a.Agent),
			Says: []string{"The game server gets new rooms again, also after it restarts."},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).UndrainAgent(ctx, q.Param("id"))
		return outcome(changed, "The game server gets new rooms again.", "It was not kept drained: nothing changed."), err
	},
}

// agentName is the name of an agent, or its id where it reports none.
func agentName(a db.ConsoleAgent) string {
	if a.Name == "" {
		return a.Agent
	}
	return a.Name
}
