package console

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/db/opsview"
)

// queueView is what templates/queue.html reads.
type queueView struct {
	State   opsview.QueueState
	Profile string                 // the profile that the page is about; empty: all profiles
	Chosen  *opsview.ProfileQueue  // that profile; nil: the page is about all, or there is none of that name
	Written []opsview.ProfileQueue // the profiles that operators wrote
	BuiltIn []opsview.ProfileQueue // those of the realtime lobby, in the order of their sizes
	// HasLeft says whether tickets left in the last hour, which the plots show.
	HasLeft   bool
	WaitPlot  plotData
	LeavePlot plotData
	// Estimates are how good the estimates of the last day were, at most 500.
	Estimates []opsview.Estimate
	Tickets   waitingList
}

// waitingList is a page of the waiting tickets, oldest first.
type waitingList struct {
	Rows       []waitingTicket
	Next       string // the address of the next page; empty: there is none
	IsSurveyed bool   // whether it is known which of the oldest tickets can be in no match
}

// waitingTicket is a row of the list of waiting tickets.
type waitingTicket struct {
	Ticket opsview.WaitingTicket
	Lacks  string // why it can be in no match, whatever comes; empty: it can, or it is not known
	// Candidates is how many other tickets wait for the busiest of its profiles. Rules may exclude some of them.
	Candidates int64
}

// builtInPrefix begins the names of the profiles that the realtime lobby uses where a room type names none.
const builtInPrefix = "realtime-"

// queuePage shows the queue of a universe, and the waits of its last hour. It is read rarely, because the cost of the
// waits grows with the tickets of that hour.
func queuePage(universe string, e Explainer) page[queueView] {
	return page[queueView]{routePath: "/queue", templateName: "queue", readEvery: 10 * time.Second,
		loadData: func(ctx context.Context, s Store, q query) (v queueView, err error) {
			v.Profile = q.Get("profile")
			v.State, err = readViews(ctx, s, func(ctx context.Context, r opsview.Querier) (opsview.QueueState, error) {
				return opsview.ReadQueue(ctx, r, universe)
			})
			if err != nil {
				return v, err
			}
			v = v.withProfiles()
			if v.Tickets, err = readTickets(ctx, s, q, universe, e); err != nil {
				return v, err
			}
			v.countCandidates()
			// Further pages have no plots, whose readings cost the most.
			if q.Paged() {
				return v, nil
			}
			minutes := opsview.MinuteFilter{Universe: universe, Profile: v.Profile}
			waits, _, err := listView(ctx, s, opsview.QueueWaits, minutes, opsview.Page{Limit: opsview.MaxMinutes})
			if err != nil {
				return v, err
			}
			v.HasLeft = len(waits) > 0
			v.WaitPlot, v.LeavePlot = waitPlots(waits, time.Now())
			v.Estimates, _, err = listView(ctx, s, opsview.Estimates, minutes, opsview.Page{Limit: opsview.MaxPage})
			return v, err
		}}
}

// countCandidates sets the candidates of each ticket of the list, whose rows the copies of the view share.
func (v queueView) countCandidates() {
	waiting := map[string]int64{}
	for _, p := range v.State.Profiles {
		waiting[p.Profile.Profile] = p.Waiting.Tickets
	}
	for i := range v.Tickets.Rows {
		t := &v.Tickets.Rows[i]
		for _, name := range t.Ticket.Profiles {
			t.Candidates = max(t.Candidates, waiting[name]-1) // the ticket itself waits as well
		}
	}
}

// withProfiles finds the chosen profile, and separates the profiles that operators wrote from those that are built in,
// which are many.
func (v queueView) withProfiles() queueView {
	for i, p := range v.State.Profiles {
		if p.Profile.Profile == v.Profile {
			v.Chosen = &v.State.Profiles[i]
		}
		if strings.HasPrefix(p.Profile.Profile, builtInPrefix) {
			v.BuiltIn = append(v.BuiltIn, p)
			continue
		}
		v.Written = append(v.Written, p)
	}
	size := func(p opsview.ProfileQueue) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(p.Profile.Profile, builtInPrefix))
		return n
	}
	slices.SortStableFunc(v.BuiltIn, func(a, b opsview.ProfileQueue) int { return size(a) - size(b) })
	return v
}

// BusyBuiltIn returns how many of the built-in profiles some ticket waits for.
func (v queueView) BusyBuiltIn() (n int) {
	for _, p := range v.BuiltIn {
		if p.Waiting.Tickets > 0 {
			n++
		}
	}
	return n
}

// maxSearched bounds the rows that are searched for those that a filter selects.
const maxSearched = 5000

// readTickets reads a page of the waiting tickets, oldest first, with what they lack.
func readTickets(ctx context.Context, s Store, q query, universe string, e Explainer) (l waitingList, err error) {
	from := opsview.Page{Limit: pageSize, Scan: maxSearched}
	first, second := q.lastKey()
	if queued, err := time.Parse(time.RFC3339Nano, first); err == nil { // a malformed key is the first page
		from.After = []any{queued, second}
	}
	f := opsview.WaitingTicketFilter{Universe: universe, Profile: q.Get("profile")}
	found, more, err := listView(ctx, s, opsview.WaitingTickets, f, from)
	if err != nil || len(found) == 0 {
		return waitingList{IsSurveyed: true}, err // a list without tickets needs no survey
	}
	// Without the survey the page shows the list all the same.
	reasons, err := surveyReasons(ctx, e)
	l.IsSurveyed = err == nil
	for _, t := range found {
		l.Rows = append(l.Rows, waitingTicket{Ticket: t, Lacks: reasons[t.Ticket]})
	}
	if more {
		last := found[len(found)-1]
		l.Next = q.Next(last.QueuedAt.UTC().Format(time.RFC3339Nano), last.Ticket)
	}
	return l, nil
}

// surveyTime bounds the survey of a page. A replica makes one explanation or survey at a time, and an explanation takes
// up to two seconds: the list is shown without its result rather than not at all.
const surveyTime = 1500 * time.Millisecond

// surveyReasons says of the oldest tickets that can be in no match what they lack.
func surveyReasons(ctx context.Context, e Explainer) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	survey, err := e.Survey(ctx)
	return survey.Reasons, err
}

// ticketWaits says in words what a ticket waits for, by its state.
var ticketWaits = map[string]string{
	"queued": "no match yet", "paused": "a member has no connection", "matched": "its match is being assigned",
	"accepting": "its players are asked", "waiting_for_server": "its match waits for a game server",
}

// Why says what the ticket waits for.
func (t waitingTicket) Why() string {
	if t.Lacks != "" {
		return "it can be in no match: " + t.Lacks
	}
	return ticketWaits[t.Ticket.State]
}

// waitPlots makes a plot of the waits of assigned tickets, and one of the tickets that left. If several profiles have
// tickets, the waits of a minute are those of the slowest profile.
func waitPlots(waits []opsview.QueueWait, now time.Time) (waited, left plotData) {
	p50, p95 := newTimeline(now, hour), newTimeline(now, hour)
	assigned, others := newTimeline(now, hour), newTimeline(now, hour)
	for _, w := range waits {
		if w.Outcome != "assigned" {
			others.addValue(w.Minute, float64(w.Tickets))
			continue
		}
		p50.keepHighest(w.Minute, w.P50.Seconds())
		p95.keepHighest(w.Minute, w.P95.Seconds())
		assigned.addValue(w.Minute, float64(w.Tickets))
	}
	waited = p95.plotOf("Seconds that assigned tickets had waited", " s", series{"95 %", p95.valuesWithGaps()},
		series{"half", p50.valuesWithGaps()})
	left = assigned.plotOf("Tickets that left the queue, each minute", "", series{"assigned", assigned.values},
		series{"declined, cancelled or expired", others.values})
	return waited, left
}

// isWaiting reports whether a ticket in a state is in the queue, so that it can be cancelled.
func isWaiting(state string) bool { return ticketWaits[state] != "" }
