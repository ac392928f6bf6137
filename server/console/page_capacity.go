package console

import (
	"context"
	"strconv"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// capacityView is what templates/capacity.html reads.
type capacityView struct {
	Rows    []capacityRow
	Next    string
	Demand  []opsview.Demand
	Regions []string
	Party   int // players of the request that is judged
	Seats   int // of the session that the request would open
	Refused int // rows in which the request is refused
}

// capacityRow is what a region can take of a mode.
type capacityRow struct {
	Outlook  opsview.Outlook
	Capacity opsview.Capacity
	Refusal  string // why the request is refused with 409; empty: it gets seats
	Do       string // what an operator can do about it
}

// maxParty bounds the players and the seats of the request: a session has at most so many seats.
const maxParty = 1024

// capacityPage shows how a request would be answered now in each region and mode.
var capacityPage = page[capacityView]{routePath: "/capacity", templateName: "capacity", readEvery: 3 * time.Second,
	loadData: loadCapacity}

// loadCapacity judges a request of the party and seats of the query, by default 1 and 8, in each region and mode.
func loadCapacity(ctx context.Context, s Store, q query) (v capacityView, err error) {
	v.Party = queryNumber(q.Get("party"), 1, maxParty)
	// A session has seats for the whole party.
	v.Seats = max(v.Party, queryNumber(q.Get("seats"), 8, maxParty))
	var more bool
	found, err := readViews(ctx, s, func(ctx context.Context,
		r opsview.Querier) (found []opsview.ModeCapacity, err error) {
		found, more, err = opsview.ListCapacity(ctx, r, q.Get("region"), q.pageAfter())
		return found, err
	})
	if err != nil {
		return v, err
	}
	for _, c := range found {
		row := capacityRow{c.Outlook, c.Capacity, c.Outlook.RefusalText(v.Party, v.Seats), adviceFor(c.Outlook)}
		if row.Refusal != "" {
			v.Refused++
		}
		v.Rows = append(v.Rows, row)
	}
	if more {
		last := v.Rows[len(v.Rows)-1]
		v.Next = q.Next(last.Outlook.Region, last.Outlook.Mode)
	}
	if v.Demand, _, err = listView(ctx, s, opsview.Demands, opsview.Any{},
		opsview.Page{Limit: opsview.MaxPage}); err != nil {
		return v, err
	}
	v.Regions, err = regionNames(ctx, s)
	return v, err
}

// queryNumber returns a whole number of a query, or otherwise, from 1 to most.
func queryNumber(text string, otherwise, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return otherwise
	}
	return max(1, min(n, most))
}

// adviceFor says what to do where requests are refused.
func adviceFor(c opsview.Outlook) string {
	switch c.Refusal {
	case "session limit":
		return "Raise max_sessions of the game servers, or start more."
	case "draining":
		return "Undrain a game server, or start others."
	case "starting":
		return "Wait; if it lasts, see the deployments."
	case "silent":
		return "Check the game servers, and whether their heartbeats reach a replica."
	}
	if c.PoolApp != "" {
		return "Raise the most servers of pool " + c.PoolApp + "/" + c.PoolVersion + ", or see why they do not start."
	}
	return "Start game servers of this mode in this region, or let a pool start them."
}
