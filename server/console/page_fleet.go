package console

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
)

// fleetView is what templates/fleet.html reads.
type fleetView struct {
	Fleet          []opsview.Instance
	Next           string // the next page; empty: there is none
	Totals         fleetTotals
	Regions, Modes []string
	Filtered       bool
	// of the last hour, of the region that the filter selects; empty: no worker has taken samples
	Plots []plotData
}

// fleetTotals are sums over all game servers, whatever the filter selects.
type fleetTotals struct {
	Ready, Draining, Starting, Silent, Ended int32
	Capacity, Reserved, Sessions             int64 // of those that are ready
}

var fleetPage = page[fleetView]{path: "/fleet", template: "fleet", every: 2 * time.Second, load: loadFleet}

func loadFleet(ctx context.Context, s Store, q query) (v fleetView, err error) {
	f := opsview.FleetFilter{Region: q.Get("region"), Mode: q.Get("mode"), State: q.Get("state"), Prefix: q.Get("id")}
	v.Filtered = f.Region+f.Mode+f.State+f.Prefix != ""
	var more bool
	if v.Fleet, more, err = list(ctx, s, opsview.Fleet, f, q.pageAfter()); err != nil {
		return v, err
	}
	if more {
		last := v.Fleet[len(v.Fleet)-1]
		v.Next = q.Next(last.Region, last.Instance)
	}
	counts, err := s.FleetCounts(ctx)
	if err != nil {
		return v, err
	}
	v.Totals = totalsOf(counts)
	if v.Regions, err = regionNames(ctx, s); err != nil {
		return v, err
	}
	if v.Modes, err = s.FleetModes(ctx); err != nil || q.Paged() {
		return v, err
	}
	past, err := readSamples(ctx, s, f.Region, "instances", "capacity", "reserved")
	v.Plots = past.fleetPlots()
	return v, err
}

func totalsOf(counts []db.FleetCount) (t fleetTotals) {
	for _, c := range counts {
		switch c.State {
		case "ready":
			t.Ready += c.Instances
			t.Capacity, t.Reserved, t.Sessions = t.Capacity+c.Capacity, t.Reserved+c.ReservedSeats, t.Sessions+
				c.OpenSessions
		case "draining":
			t.Draining += c.Instances
		case "starting":
			t.Starting += c.Instances
		case "silent":
			t.Silent += c.Instances
		default:
			t.Ended += c.Instances
		}
	}
	return t
}

var drainAction = action{
	path: "/instances/:id/drain",
	ask: func(ctx context.Context, s Store, q query) (question, error) {
		i, err := instanceOf(ctx, s, q.Param("id"))
		return question{
			Title: "Drain " + i.Instance + "?", Button: "Drain", Back: instancePath(i.Instance),
			Says: []string{
				"No new player gets a seat on this game server.",
				fmt.Sprintf("Its %s with %s play on until they end.",
					plural(i.OpenSessions, "open session", "open sessions"), plural(i.Players, "player", "players")),
				"It drains until somebody undrains it, also after it restarts.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).Drain(ctx, q.Param("id"))
		return outcome(changed, q.Param("id")+" drains: it gets no new players.",
			q.Param("id")+" was draining already: nothing changed."), err
	},
}

var undrainAction = action{
	path: "/instances/:id/undrain",
	ask: func(ctx context.Context, s Store, q query) (question, error) {
		i, err := instanceOf(ctx, s, q.Param("id"))
		return question{
			Title: "Undrain " + i.Instance + "?", Button: "Undrain", Back: instancePath(i.Instance),
			Says: []string{"Players get seats on this game server again."},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).Undrain(ctx, q.Param("id"))
		return outcome(changed, q.Param("id")+" takes players again.",
			q.Param("id")+" was not draining: nothing changed."), err
	},
}

// outcome says what an action did.
func outcome(changed bool, did, didNot string) string {
	if changed {
		return did
	}
	return didNot
}
