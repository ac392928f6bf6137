package console

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// drainGroup is what drains together: the game servers of a region or a host, or those with a label.
type drainGroup struct {
	noun, param string // as in host, and the parameter of the path
	members     string // what belongs to it; %s is its name
	filter      func(name string) opsview.FleetFilter
	drain       func(a db.Act, ctx context.Context, name, region string) (bool, error)
	undrain     func(a db.Act, ctx context.Context, name, region string) (bool, error)
}

var drainGroups = []drainGroup{
	{
		noun: "region", param: "region", members: "the game servers of the region %s",
		filter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Region: name, Running: true} },
		drain:  func(a db.Act, ctx context.Context, name, _ string) (bool, error) { return a.DrainRegion(ctx, name) },
		undrain: func(a db.Act, ctx context.Context, name, _ string) (bool, error) {
			return a.UndrainRegion(ctx, name)
		},
	},
	{
		noun: "host", param: "host", members: "the game servers whose endpoint has the host %s",
		filter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Host: name, Running: true} },
		drain:  db.Act.DrainHost, undrain: db.Act.UndrainHost,
	},
	{
		noun: "label", param: "label", members: "the game servers with the label %s",
		filter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Label: name, Running: true} },
		drain:  db.Act.DrainLabel, undrain: db.Act.UndrainLabel,
	},
}

// fleetPath returns the fleet of the group.
func (d drainGroup) fleetPath(name string) string {
	return query{path: "/fleet"}.With(d.noun, name)
}

// drainAction drains all game servers of the group, in all regions.
func (d drainGroup) drainAction() action {
	return action{
		path: "/" + d.noun + "s/:" + d.param + "/drain",
		ask: func(ctx context.Context, s Store, q query) (question, error) {
			name := q.Param(d.param)
			found, more, err := list(ctx, s, opsview.Fleet, d.filter(name), opsview.Page{Limit: pageSize})
			count := plural(len(found), "game server runs", "game servers run")
			if more {
				count = fmt.Sprintf("More than %d game servers run", len(found))
			}
			return question{
				Title: "Drain " + fmt.Sprintf(d.members, name) + "?", Button: "Drain", Back: d.fleetPath(name),
				Says: []string{
					"No new player gets a seat on them. " + count + " there now.",
					"Their sessions play on until they end.",
					"Game servers that restart or register there later drain, too, until somebody ends the drain.",
				},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, by deed) (string, error) {
			changed, err := d.drain(s.As(by.Actor).Because(by.Reason), ctx, q.Param(d.param), "")
			return outcome(changed, "All game servers of the "+d.noun+" drain.",
				"They drained already: nothing changed."), err
		},
	}
}

// undrainAction ends the drain of the group.
func (d drainGroup) undrainAction() action {
	return action{
		path: "/" + d.noun + "s/:" + d.param + "/undrain",
		ask: func(_ context.Context, _ Store, q query) (question, error) {
			name := q.Param(d.param)
			return question{
				Title: "Undrain " + fmt.Sprintf(d.members, name) + "?", Button: "Undrain", Back: d.fleetPath(name),
				Says: []string{"Players get seats on them again. Those that drain for another reason go on draining."},
			}, nil
		},
		do: func(ctx context.Context, s Store, q query, by deed) (string, error) {
			changed, err := d.undrain(s.As(by.Actor).Because(by.Reason), ctx, q.Param(d.param), "")
			return outcome(changed, "The drain of the "+d.noun+" has ended.",
				"There was no such drain: nothing changed."), err
		},
	}
}
