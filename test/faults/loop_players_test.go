package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// loopRig is an installation whose tickets the director loop matches, with the answers that players got about them.
type loopRig struct {
	*omRig

	mu      sync.Mutex
	tickets map[string]*waiter
}

// waiter is a ticket of POST /tickets and its party.
type waiter struct {
	id          string
	party       []string
	isCancelled bool   // DELETE answered that the ticket is cancelled
	last        fields // the newest document that a member got
}

// loopProfiles overlap: tickets ask for one or two of them, and one takes tickets of Open Match's frontends as well.
var loopProfiles = map[string]string{
	"duel":  "teams: [{name: red, players: 1..2}, {name: blue, players: 1..2}]\nrules: [{near: skill, within: 300, widen: [{after: 2s, within: any}]}, {sizes: 0}]\n",
	"squad": "teams: [{name: all, players: 2..6}]\nrules: [{near: skill, within: 500, widen: [{after: 1s, within: any}]}]\nfewer: [{after: 1s, players: 2}]\n",
	"asked": "teams: [{name: red, players: 1..2}, {name: blue, players: 1..2}]\nrules: [{sizes: 0}]\naccept: {within: 2s}\n",
	"open":  "pool: {tags: [red]}\nteams: [{name: all, players: 2}]\n",
}

// playParty queues a party of one or two, and follows its ticket. One of ten gives up within 400 ms.
func (l *loopRig) playParty(ctx context.Context, turn int) {
	w := &waiter{}
	for m := range 1 + rand.IntN(2) {
		w.party = append(w.party, fmt.Sprintf("t-%d-%d", turn, m))
	}
	if !l.enqueue(ctx, w) {
		return
	}
	patience := time.Duration(1+rand.IntN(400)) * time.Millisecond
	if rand.IntN(10) > 0 {
		patience = 20 * time.Second // only tickets for which no partner is left wait for so long
	}
	l.follow(ctx, w, time.Now().Add(patience))
}

// enqueue posts the ticket until a replica answers.
func (l *loopRig) enqueue(ctx context.Context, w *waiter) bool {
	names := []string{"duel", "squad", "asked"}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	body := fields{
		"profiles": names[:1+rand.IntN(2)], "party": w.party, "attributes": fields{"skill": 1000 + rand.IntN(1000)},
		"latencies": fields{"eu": 20},
	}
	answer := l.PlayUntilDone(ctx, w.party[0], "/tickets", body)
	if answer == nil {
		return false
	}
	w.id, w.last = answer["ticket_id"].(string), answer
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tickets[w.id] = w
	return true
}

var finalStates = []any{"assigned", "declined", "cancelled", "expired"}

// follow polls the ticket until its final state, answers ready checks for every member, and cancels it when nobody
// waits any more.
func (l *loopRig) follow(ctx context.Context, w *waiter, until time.Time) {
	answeredMatch := ""
	for ctx.Err() == nil && !slices.Contains(finalStates, w.last["state"]) {
		match, _ := w.last["match_id"].(string)
		if w.last["state"] == "accepting" && match != answeredMatch {
			answeredMatch = match
			l.answer(ctx, w)
		}
		if time.Now().After(until) {
			l.leave(ctx, w)
			continue
		}
		status, answer, err := l.askFor(ctx, w, http.MethodGet, fmt.Sprintf("?wait=1s&version=%v", w.last["version"]))
		switch {
		case err == nil && status == http.StatusOK:
			w.last = answer
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			l.T.Errorf("GET /tickets/%s answered %d: %v", w.id, status, answer)
			return
		default:
			pause(ctx, 50*time.Millisecond)
		}
	}
}

// answer accepts the match for every member; one of ten declines, and one of ten is silent.
func (l *loopRig) answer(ctx context.Context, w *waiter) {
	for _, sub := range w.party {
		path := "/accept"
		switch rand.IntN(10) {
		case 0:
			path = "/decline"
		case 1:
			continue
		}
		_, _, _ = l.PostPlay(sub, "/tickets/"+w.id+path, fields{"match_id": w.last["match_id"]})
		pause(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
	}
}

// leave cancels the ticket once. Without an answer the outcome is unknown, and the next poll shows it.
func (l *loopRig) leave(ctx context.Context, w *waiter) {
	status, answer, err := l.askFor(ctx, w, http.MethodDelete, "")
	switch {
	case err != nil || status >= http.StatusInternalServerError || status == http.StatusTooManyRequests:
		pause(ctx, 50*time.Millisecond)
	case status == http.StatusOK:
		w.last = answer
		w.isCancelled = answer["state"] == "cancelled"
	case status == http.StatusConflict:
		if ticket, ok := answer["ticket"].(map[string]any); ok {
			w.last = ticket
		}
		pause(ctx, 50*time.Millisecond)
	default:
		l.T.Errorf("DELETE /tickets/%s answered %d: %v", w.id, status, answer)
	}
}

func (l *loopRig) askFor(ctx context.Context, w *waiter, method, query string) (int, fields, error) {
	header := l.HeaderOf(w.party[rand.IntN(len(w.party))])
	return l.CallJSON(ctx, method, l.NextReplica()+"/tickets/"+w.id+query, header, nil)
}
