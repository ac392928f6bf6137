package console

import (
	"context"
	"strconv"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// valvesView is what templates/valves.html reads.
type valvesView struct {
	Valves []opsview.Valve
}

// valvesPage shows the valves with their login queues.
var valvesPage = page[valvesView]{routePath: "/valves", templateName: "valves", readEvery: 2 * time.Second,
	loadData: loadValves}

func loadValves(ctx context.Context, s Store, _ query) (v valvesView, err error) {
	v.Valves, _, err = listView(ctx, s, opsview.Valves, opsview.ValveFilter{}, opsview.Page{Limit: opsview.MaxPage})
	return v, err
}

// valveOf returns the valve of the path. Errors: NotFound.
func valveOf(ctx context.Context, s Store, q query) (opsview.Valve, error) {
	name := q.Param("name")
	// An empty name would select all valves.
	if name == "" {
		return opsview.Valve{}, fault.New(fault.NotFound, "not_found", "There is no such valve.")
	}
	return readRow(ctx, s, opsview.Valves, opsview.ValveFilter{Name: name}, "not_found", "There is no valve %q.", name)
}

// limitValveAction sets the limits of a valve: how many players it admits a second, and how many may be in at once.
var limitValveAction = action{
	routePath: "/valves/:name/limit",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		v, err := valveOf(ctx, s, q)
		maxPlayers := "0" // in the form, 0 is any number of players
		if v.MaxPlayers != nil {
			maxPlayers = strconv.Itoa(int(*v.MaxPlayers))
		}
		return question{
			Title: "Limit who enters by valve " + v.Name + "?", Button: "Limit", Back: "/valves",
			Effects: []string{
				"Players who are in stay in, and count. Those who wait keep their places.",
				"Replicas heed it within two seconds.",
			},
			Fields: withSeen(
				field{Name: "rate", Label: "Admissions a second", Value: strconv.FormatFloat(v.Rate, 'f', -1, 64),
					Help: "What your slowest service takes. A fraction is allowed."},
				field{Name: "max_players", Label: "Players at once", Value: maxPlayers, Help: "0: any number.", Number: true},
			),
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		set, err := valveSettings(d)
		if err != nil {
			return "", err
		}
		changed, err := s.As(d.Actor).Because(d.Reason).LimitValve(ctx, q.Param("name"), set)
		return outcomeText(changed, "The valve limits who enters.",
			"It had these limits already: nothing changed."), err
	},
}

// valveSettings are the limits that a form changes. Errors: Invalid.
func valveSettings(d deed) (set db.ValveSettings, err error) {
	if d.changes("rate") {
		rate, err := strconv.ParseFloat(d.Values["rate"], 64)
		if err != nil {
			return set, fault.New(fault.Invalid, "invalid",
				"The admissions a second must be a number, such as 50 or 0.5.")
		}
		set.Rate = &rate
	}
	set.MaxPlayers, err = changedNumber(d, "max_players", "the players at once")
	return set, err
}

// openValveAction lets everybody in, and empties the login queue.
var openValveAction = action{
	routePath: "/valves/:name/open",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		v, err := valveOf(ctx, s, q)
		return question{
			Title: "Let everybody in by valve " + v.Name + "?", Button: "Open", Back: "/valves",
			Effects: []string{
				pluralText(v.Waiting, "player who waits enters", "players who wait enter") +
					" at once, and so does everybody who comes.",
				"The line is forgotten. The limits stay for the next time.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).OpenValve(ctx, q.Param("name"))
		return outcomeText(changed, "The valve is open.", "It was open before: nothing changed."), err
	},
}

// closeValveAction admits nobody, and keeps the login queue.
var closeValveAction = action{
	routePath: "/valves/:name/close",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		v, err := valveOf(ctx, s, q)
		return question{
			Title: "Admit nobody by valve " + v.Name + "?", Button: "Close", Back: "/valves", RequiresReason: true,
			Effects: []string{
				pluralText(v.Players, "player who is in stays", "players who are in stay") +
					" in. Those who wait keep their places, and others get places behind them.",
				"Nobody enters until somebody limits or opens the valve.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).CloseValve(ctx, q.Param("name"))
		return outcomeText(changed, "The valve is closed.", "It was closed before: nothing changed."), err
	},
}
