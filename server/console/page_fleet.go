package console

import (
	"context"
	"fmt"
	"strconv"
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
	Filter         opsview.FleetFilter
	Filtered       bool
	Sort           string
	Sorts          []fleetSort
	Plots          []plotData  // of the region that the filter selects; empty: no worker has taken samples
	Ranges         []plotRange // of the plots
}

// fleetTotals are sums over all game servers, whatever the filter selects.
type fleetTotals struct {
	Ready, Draining, Starting, Silent, Ended int32
	Capacity, Reserved, Sessions             int64 // of those that are ready
	Players                                  int64 // with a seat on one that is alive
}

// Free is how many seats no session has reserved.
func (t fleetTotals) Free() int64 { return max(0, t.Capacity-t.Reserved) }

// LiveServers is how many game servers have a lease that holds.
func (t fleetTotals) LiveServers() int32 { return t.Ready + t.Draining }

// fleetPage shows the game servers that a filter selects, and sums over all.
var fleetPage = page[fleetView]{routePath: "/fleet", templateName: "fleet", readEvery: 2 * time.Second,
	loadData: loadFleet}

// fleetSort is an order of the fleet. The key of a row is the value by which it is sorted, and then the id.
type fleetSort struct {
	Value, Label string // of the option in the form of the filter
	order        opsview.Order
	sortedBy     func(opsview.Instance) string // returns the first part of the key, as addresses have it
	parse        func(string) (any, error)     // parses what sortedBy returned
}

// fleetSorts are the orders that the page offers; the first is the default.
var fleetSorts = []fleetSort{
	{"", "region, id", nil, func(i opsview.Instance) string { return i.Region },
		func(text string) (any, error) { return text, nil }},
	{"players", "most players", opsview.MostPlayersFirst,
		func(i opsview.Instance) string { return strconv.FormatInt(i.Players, 10) }, parseNumber},
	{"free", "most free seats", opsview.MostFreeFirst,
		func(i opsview.Instance) string { return strconv.Itoa(int(i.Available)) }, parseNumber},
	{"newest", "newest", opsview.NewestFirst,
		func(i opsview.Instance) string { return i.RegisteredAt.UTC().Format(time.RFC3339Nano) },
		func(text string) (any, error) { return time.Parse(time.RFC3339Nano, text) }},
}

// parseNumber parses the first part of a key that is a number.
func parseNumber(text string) (any, error) { return strconv.ParseInt(text, 10, 32) }

// pageOf is the page that the query asks for. A malformed key is the first page.
func (f fleetSort) pageOf(q query) opsview.Page {
	p := opsview.Page{Limit: pageSize, Order: f.order}
	first, second := q.lastKey()
	if first+second == "" {
		return p
	}
	if value, err := f.parse(first); err == nil {
		p.After = []any{value, second}
	}
	return p
}

// sortOf returns the order that the query asks for: by region and id, unless it names another.
func sortOf(q query) fleetSort {
	for _, f := range fleetSorts {
		if f.Value == q.Get("sort") {
			return f
		}
	}
	return fleetSorts[0]
}

// loadFleet reads a page of the game servers that the filter selects. Sums and lists for the filter are of the whole
// fleet.
func loadFleet(ctx context.Context, s Store, q query) (v fleetView, err error) {
	f := opsview.FleetFilter{Region: q.Get("region"), Mode: q.Get("mode"), State: q.Get("state"), Prefix: q.Get("id"),
		Version: q.Get("version"), Host: q.Get("host"), Label: q.Get("label")}
	sorted := sortOf(q)
	v.Filter, v.Filtered, v.Sort, v.Sorts = f, f != opsview.FleetFilter{}, sorted.Value, fleetSorts
	var more bool
	if v.Fleet, more, err = listView(ctx, s, opsview.Fleet, f, sorted.pageOf(q)); err != nil {
		return v, err
	}
	if more {
		last := v.Fleet[len(v.Fleet)-1]
		v.Next = q.Next(sorted.sortedBy(last), last.Instance)
	}
	counts, err := s.FleetCounts(ctx)
	if err != nil {
		return v, err
	}
	v.Totals = totalsOf(counts)
	if v.Regions, err = regionNames(ctx, s); err != nil {
		return v, err
	}
	// Further pages have no plots, which would be the same as on the first one.
	if v.Modes, err = s.FleetModes(ctx); err != nil || q.Paged() {
		return v, err
	}
	ranges, chosen := plotRanges(q)
	past, err := readSamples(ctx, s, f.Region, chosen.Minutes, "instances", "capacity", "reserved")
	v.Ranges, v.Plots = ranges, past.fleetPlots()
	return v, err
}

// totalsOf adds up the game servers of all regions.
func totalsOf(counts []db.FleetCount) (t fleetTotals) {
	for _, c := range counts {
		switch c.State {
		case "ready":
			t.Ready += c.Instances
			t.Players += c.Players
			t.Capacity, t.Reserved = t.Capacity+c.Capacity, t.Reserved+c.ReservedSeats
			t.Sessions += c.OpenSessions
		case "draining":
			t.Draining += c.Instances
			t.Players += c.Players
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

// drainAction gives players no more seats on a game server.
var drainAction = action{
	routePath: "/instances/:id/drain",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		i, err := instanceOf(ctx, s, q.Param("id"))
		return question{
			Title: "Drain " + i.Instance + "?", Button: "Drain", Back: instancePath(i.Instance),
			Effects: []string{
				"No new player gets a seat on this game server.",
				fmt.Sprintf("Its %s with %s play on until they end.",
					pluralText(i.OpenSessions, "open session", "open sessions"),
					pluralText(i.Players, "player", "players")),
				"It drains until somebody undrains it, also after it restarts.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).Drain(ctx, q.Param("id"))
		return outcomeText(changed, q.Param("id")+" drains: it gets no new players.",
			q.Param("id")+" was draining already: nothing changed."), err
	},
}

// undrainAction ends the drain of drainAction. The store refuses it where a host, a label or a deployment keeps the
// game server draining.
var undrainAction = action{
	routePath: "/instances/:id/undrain",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		i, err := instanceOf(ctx, s, q.Param("id"))
		return question{
			Title: "Undrain " + i.Instance + "?", Button: "Undrain", Back: instancePath(i.Instance),
			Effects: []string{"Players get seats on this game server again."},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).Undrain(ctx, q.Param("id"))
		return outcomeText(changed, q.Param("id")+" takes players again.",
			q.Param("id")+" was not draining: nothing changed."), err
	},
}
