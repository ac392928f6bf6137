package console

import (
	"context"
	"fmt"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// drainGroup is what drains together: the game servers of a region or a host, or those with a label.
type drainGroup struct {
	noun        string // as in host; also the name of the parameter of paths
	membersText string // describes the game servers; %s is the name of the group
	fleetFilter func(name string) opsview.FleetFilter
	beginDrain  func(a db.Act, ctx context.Context, name, region string) (bool, error)
	endDrain    func(a db.Act, ctx context.Context, name, region string) (bool, error)
}

// drainGroups are the groups that operators can drain, undrain and evacuate.
var drainGroups = []drainGroup{
	{
		noun: "region", membersText: "the game servers of the region %s",
		fleetFilter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Region: name, Running: true} },
		beginDrain: func(a db.Act, ctx context.Context, name, _ string) (bool, error) {
			return a.DrainRegion(ctx, name)
		},
		endDrain: func(a db.Act, ctx context.Context, name, _ string) (bool, error) {
			return a.UndrainRegion(ctx, name)
		},
	},
	{
		noun: "host", membersText: "the game servers whose endpoint has the host %s",
		fleetFilter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Host: name, Running: true} },
		beginDrain:  db.Act.DrainHost, endDrain: db.Act.UndrainHost,
	},
	{
		noun: "label", membersText: "the game servers with the label %s",
		fleetFilter: func(name string) opsview.FleetFilter { return opsview.FleetFilter{Label: name, Running: true} },
		beginDrain:  db.Act.DrainLabel, endDrain: db.Act.UndrainLabel,
	},
}

// fleetPath returns the page Fleet with the game servers of the group.
func (d drainGroup) fleetPath(name string) string {
	return query{escapedPath: "/fleet"}.With(d.noun, name)
}

// drainAction drains all game servers of the group, in all regions.
func (d drainGroup) drainAction() action {
	return action{
		routePath: "/" + d.noun + "s/:" + d.noun + "/drain",
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			name := q.Param(d.noun)
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
			// "" stands for all regions: the path of a host or a label names none.
			changed, err := d.beginDrain(s.As(by.Actor).Because(by.Reason), ctx, q.Param(d.noun), "")
			return outcomeText(changed, "All game servers of the "+d.noun+" drain.",
				"They drained already: nothing changed."), err
		},
	}
}

// undrainAction ends the drain of the group.
func (d drainGroup) undrainAction() action {
	return action{
		routePath: "/" + d.noun + "s/:" + d.noun + "/undrain",
		askFirst: func(_ context.Context, _ Store, q query) (question, error) {
			name := q.Param(d.noun)
			return question{
				Title: "Undrain " + fmt.Sprintf(d.membersText, name) + "?", Button: "Undrain", Back: d.fleetPath(name),
				Effects: []string{"Players get seats on them again. Those that drain for another reason still do."},
			}, nil
		},
		do: func(ctx context.Context, s Store, q query, by deed) (string, error) {
			changed, err := d.endDrain(s.As(by.Actor).Because(by.Reason), ctx, q.Param(d.noun), "")
			return outcomeText(changed, "The drain of the "+d.noun+" has ended.",
				"There was no such drain: nothing changed."), err
		},
	}
}
