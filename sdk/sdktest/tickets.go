package sdktest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

func (d *Director) ticketRoutes() {
	d.mux.HandleFunc("POST /tickets", d.createTicket)
	d.mux.HandleFunc("GET /tickets/{id}", d.playerHandler(d.getTicket))
	d.mux.HandleFunc("DELETE /tickets/{id}", d.playerHandler(d.cancelTicket))
	d.mux.HandleFunc("POST /tickets/{id}/accept",
		d.playerHandler(func(r *http.Request, sub string) (any, *problem) { return d.answerCheck(r, sub, true) }))
	d.mux.HandleFunc("POST /tickets/{id}/decline",
		d.playerHandler(func(r *http.Request, sub string) (any, *problem) { return d.answerCheck(r, sub, false) }))
	d.mux.HandleFunc("GET /tickets/{id}/events", d.watchTicket)
}

// Match makes a match of tickets, in a session of a region and mode that has room for all of their players. With
// accept, the players are asked first, for 20 seconds by the tickets' documents; time ends no ready check here. Errors:
// a ticket is not in the queue; there is no room.
func (d *Director) Match(region, mode string, accept bool, ids ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &proposal{id: uuid.NewString(), region: region, mode: mode, acceptedBySub: map[string]bool{},
		answerUntil: time.Now().Add(20 * time.Second)}
	for _, id := range ids {
		t := d.tickets[id]
		if t == nil || t.currentState() != "queued" {
			return fmt.Errorf("sdktest: ticket %s is not in the queue", id)
		}
		p.tickets = append(p.tickets, t)
	}
	if !accept {
		return d.assignTickets(p)
	}
	for _, t := range p.tickets {
		t.proposedMatch = p
		d.enterState(t, "accepting", map[string]any{"match_id": p.id})
	}
	return nil
}

// assignTickets seats the players of a match.
func (d *Director) assignTickets(p *proposal) error {
	var party []string
	for _, t := range p.tickets {
		party = append(party, t.party...)
	}
	size := max(d.opts.MaxPlayers, len(party))
	s, refused := d.placeParty(matchRequest{Region: p.region, Mode: p.mode, Party: party, MaxPlayers: size}, party[0])
	if refused != nil {
		return fmt.Errorf("sdktest: %s", refused.detail)
	}
	for _, t := range p.tickets {
		t.proposedMatch = nil
		d.enterState(t, "assigned", map[string]any{
			"match_id": p.id, "session_handle": s.handle, "endpoint": s.endpoint, "region": s.region,
		})
	}
	return nil
}

func (t *ticket) currentState() string {
	return t.stateDocuments[len(t.stateDocuments)-1]["state"].(string)
}

// enterState adds a state to a ticket and wakes those that wait for one.
func (d *Director) enterState(t *ticket, state string, fields map[string]any) {
	document := map[string]any{"ticket_id": t.id, "state": state, "version": len(t.stateDocuments) + 1,
		"party": t.party}
	maps.Copy(document, fields)
	t.stateDocuments = append(t.stateDocuments, document)
	d.wakeWaiting()
}

// documentFor returns a ticket as a player sees it.
func (t *ticket) documentFor(sub string) map[string]any {
	document := maps.Clone(t.stateDocuments[len(t.stateDocuments)-1])
	if p := t.proposedMatch; p != nil {
		players := 0
		for _, other := range p.tickets {
			players += len(other.party)
		}
		document["accept"] = map[string]any{
			"until": p.answerUntil.UTC().Format(time.RFC3339), "players": players, "accepted": len(p.acceptedBySub),
			"you": p.acceptedBySub[sub],
		}
	}
	return document
}

func (d *Director) createTicket(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	d.playerHandler(func(r *http.Request, sub string) (any, *problem) {
		t, created, p := d.queueTicket(r, sub)
		if p != nil {
			return nil, p
		}
		if created {
			status = http.StatusCreated
		}
		return t.documentFor(sub), nil
	})(statusWriter{w, &status}, r)
}

// statusWriter replaces the status of a success.
type statusWriter struct {
	http.ResponseWriter
	status *int
}

func (w statusWriter) WriteHeader(status int) {
	if status == http.StatusOK {
		status = *w.status
	}
	w.ResponseWriter.WriteHeader(status)
}

// queueTicket returns the ticket of a request. A player has one ticket here, whatever its profiles.
func (d *Director) queueTicket(r *http.Request, sub string) (t *ticket, created bool, p *problem) {
	raw, err := io.ReadAll(r.Body)
	var request struct {
		Party []string `json:"party"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &request)
	}
	if err != nil {
		return nil, false, newProblem(http.StatusBadRequest, "invalid_json", "%v", err)
	}
	party := sortedParty(request.Party)
	if len(party) == 0 {
		party = []string{sub}
	}
	for _, other := range d.tickets {
		switch {
		case other.isFinal() || !slices.ContainsFunc(other.party,
			func(s string) bool { return slices.Contains(party, s) }):
		case bytes.Equal(other.request, raw) && slices.Contains(other.party, sub):
			return other, false, nil
		case slices.Contains(other.party, sub):
			return nil, false, newProblem(http.StatusConflict, "ticket_exists", "you wait with another ticket")
		default:
			return nil, false, newProblem(http.StatusConflict, "party_conflict",
				"a member of the party waits with a ticket of its own")
		}
	}
	t = &ticket{id: rand.Text(), request: raw, party: party}
	d.tickets[t.id] = t
	d.enterState(t, "queued", nil)
	return t, true, nil
}

func (t *ticket) isFinal() bool {
	return slices.Contains([]string{"assigned", "declined", "cancelled", "expired"}, t.currentState())
}

func (d *Director) ticketOf(r *http.Request, sub string) (*ticket, *problem) {
	t := d.tickets[r.PathValue("id")]
	if t == nil || !slices.Contains(t.party, sub) {
		return nil, newProblem(http.StatusNotFound, "ticket_unknown", "there is no such ticket")
	}
	return t, nil
}

func (d *Director) getTicket(r *http.Request, sub string) (any, *problem) {
	t, p := d.ticketOf(r, sub)
	if p != nil {
		return nil, p
	}
	wait, _ := time.ParseDuration(r.URL.Query().Get("wait"))
	version, _ := strconv.Atoi(r.URL.Query().Get("version"))
	d.awaitDone(r, wait, func() bool { return len(t.stateDocuments) > version || t.isFinal() })
	return t.documentFor(sub), nil
}

// awaitDone waits until a ticket has changed so that done holds. Other requests are served meanwhile.
func (d *Director) awaitDone(r *http.Request, wait time.Duration, done func() bool) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for !done() {
		changed := d.changed
		d.mu.Unlock()
		ended := false
		select {
		case <-changed:
		case <-over.C:
			ended = true
		case <-r.Context().Done():
			ended = true
		}
		d.mu.Lock()
		if ended {
			return
		}
	}
}

func (d *Director) cancelTicket(r *http.Request, sub string) (any, *problem) {
	t, p := d.ticketOf(r, sub)
	switch {
	case p != nil:
		return nil, p
	case t.proposedMatch != nil:
		return d.answerCheck(r, sub, false)
	case t.currentState() == "assigned":
		return nil, newProblem(http.StatusConflict, "assigned", "the ticket is assigned")
	case !t.isFinal():
		d.enterState(t, "cancelled", map[string]any{"reason": "cancelled_by_member"})
	}
	return t.documentFor(sub), nil
}

// answerCheck records whether a player accepts. A party of which one declines leaves the queue, and the others are back
// in it.
func (d *Director) answerCheck(r *http.Request, sub string, accept bool) (any, *problem) {
	t, p := d.ticketOf(r, sub)
	asked, unreadable := askedMatch(r)
	switch {
	case p != nil:
		return nil, p
	case unreadable != nil:
		return nil, newProblem(http.StatusBadRequest, "invalid_request", "match_id: %v", unreadable)
	case t.currentState() == "declined" && !accept:
		return t.documentFor(sub), nil // the same call again
	case t.proposedMatch == nil, asked != "" && asked != t.proposedMatch.id:
		return nil, newProblem(http.StatusConflict, "too_late", "no answer of yours is awaited for this match")
	case accept:
		return d.acceptMatch(t, sub)
	}
	match := t.proposedMatch
	for _, other := range match.tickets {
		other.proposedMatch = nil
		if other != t {
			d.enterState(other, "queued", nil)
		}
	}
	d.enterState(t, "declined", map[string]any{"reason": "not_accepted", "match_id": match.id})
	return t.documentFor(sub), nil
}

// askedMatch returns the match that a player answers for; "" if the request has no body.
func askedMatch(r *http.Request) (string, error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil || len(raw) == 0 {
		return "", err
	}
	var request struct {
		MatchID *uuid.UUID `json:"match_id"`
	}
	if err := json.Unmarshal(raw, &request); err != nil || request.MatchID == nil {
		return "", err
	}
	return request.MatchID.String(), nil
}

func (d *Director) acceptMatch(t *ticket, sub string) (any, *problem) {
	match, players := t.proposedMatch, 0
	match.acceptedBySub[sub] = true
	for _, other := range match.tickets {
		players += len(other.party)
	}
	if len(match.acceptedBySub) == players {
		if err := d.assignTickets(match); err != nil {
			return nil, newProblem(http.StatusServiceUnavailable, "unavailable", "%v", err)
		}
	}
	return t.documentFor(sub), nil
}

// watchTicket sends the states that the caller does not know, as soon as there is one, and ends the stream: a director
// may end it at any time.
func (d *Director) watchTicket(w http.ResponseWriter, r *http.Request) {
	known, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	d.playerHandler(func(r *http.Request, sub string) (any, *problem) {
		t, p := d.ticketOf(r, sub)
		if p != nil {
			return nil, p
		}
		d.awaitDone(r, time.Minute, func() bool { return len(t.stateDocuments) > known || t.isFinal() })
		var stream bytes.Buffer
		for i, state := range t.stateDocuments {
			if i == len(t.stateDocuments)-1 {
				state = t.documentFor(sub)
			}
			if data, err := json.Marshal(state); err == nil &&
				(i >= known || t.isFinal() && i == len(t.stateDocuments)-1) {
				fmt.Fprintf(&stream, "event: %s\nid: %d\ndata: %s\n\n", state["state"], i+1, data)
			}
		}
		return events(stream.Bytes()), nil
	})(w, r)
}
