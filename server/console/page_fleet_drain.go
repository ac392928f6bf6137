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
	membersText string // what belongs to it; %s is its name
	fleetFilter func(name string) opsview.FleetFilter
	beginDrain  func(a db.Act, ctx context.Context, name, region string) (bool, error)
	endDrain    func(a db.Act, ctx context.Context, name, region string) (bool, error)
}

// drainGroups are the groups that operators can drain, undrain and evacuate.
var drainGroups = []drainGroup{
	{
		noun: "region", param: "region", membersText: "the game servers of the region %s",
		fleetFilter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Region: name, Running: true} },
		beginDrain: func(a db.Act, ctx context.Context,
			name, _ string) (bool, error) {
			return a.DrainRegion(ctx, name)
		},
		endDrain: func(a db.Act, ctx context.Context, name, _ string) (bool, error) {
			return a.UndrainRegion(ctx, name)
		},
	},
	{
		noun: "host", param: "host", membersText: "the game servers whose endpoint has the host %s",
		fleetFilter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Host: name, Running: true} },
		beginDrain:  db.Act.DrainHost, endDrain: db.Act.UndrainHost,
	},
	{
		noun: "label", param: "label", membersText: "the game servers with the label %s",
		fleetFilter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Label: name, Running: true} },
		beginDrain:  db.Act.DrainLabel, endDrain: db.Act.UndrainLabel,
	},
}

// fleetPath returns the fleet of the group.
func (d drainGroup) fleetPath(name string) string {
	return query{escapedPath: "/fleet"}.With(d.noun, name)
}

// drainAction drains all game servers of the group, in all regions.
func (d drainGroup) drainAction() action {
	return action{
		routePath: "/" + d.noun + "s/:" + d.param + "/drain",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			name := q.Param(d.param)
			found, more, err := listView(ctx, s, opsview.Fleet, d.fleetFilter(name), opsview.Page{Limit: pageSize})
			count := pluralText(len(found), "game server runs", "game servers run")
			if more {
				count = fmt.Sprintf("More than %d game servers run", len(found))
			}
			return question{
				Title: "Drain " + fmt.Sprintf(d.membersText, name) + "?", Button: "Drain", Back: d.fleetPath(name),
				Effects: []string{
					"No new player gets a seat on them. " + count + " there now.",
					"Their sessions play on until they end.",
					"Game servers that restart or register there later drain, too, until somebody ends the drain.",
				},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, by deed) (string, error) {
			// "": in all regions, since a host or a label is not of one.
			changed, err := d.beginDrain(s.As(by.Actor).Because(by.Reason), ctx, q.Param(d.param), "")
			return outcomeText(changed, "All game servers of the "+d.noun+" drain.",
				"They drained already: nothing changed."), err
		},
	}
}

// undrainAction ends the drain of the group.
func (d drainGroup) undrainAction() action {
	return action{
		routePath: "/" + d.noun + "s/:" + d.param + "/undrain",
		askFirst: func(_ context.Context, _ Store, q query) (question, error) {
			name := q.Param(d.param)
			return question{
				Title: "Undrain " + fmt.Sprintf(d.membersText, name) + "?", Button: "Undrain", Back: d.fleetPath(name),
				Effects: []string{"Players get seats on them again. Those that drain for another reason still do."},
			}, nil
		},
		do: func(ctx context.Context, s Store, q query, by deed) (string, error) {
			changed, err := d.endDrain(s.As(by.Actor).Because(by.Reason), ctx, q.Param(d.param), "")
			return outcomeText(changed, "The drain of the "+d.noun+" has ended.",
				"There was no such drain: nothing changed."), err
		},
	}
}
