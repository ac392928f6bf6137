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

// ticket waits for [Director.Match].
type ticket struct {
	id      string
	request []byte
	party   []string
	states  []map[string]any // the documents of its versions
	match   *proposal        // that its players are asked about
}

// proposal is a match that waits for its players.
type proposal struct {
	id           string
	region, mode string
	tickets      []*ticket
	accepted     map[string]bool
	until        time.Time
}

func (d *Director) ticketRoutes() {
	d.mux.HandleFunc("POST /tickets", d.createTicket)
	d.mux.HandleFunc("GET /tickets/{id}", d.player(d.getTicket))
	d.mux.HandleFunc("DELETE /tickets/{id}", d.player(d.cancelTicket))
	d.mux.HandleFunc("POST /tickets/{id}/accept",
		d.player(func(r *http.Request, sub string) (any, *problem) { return d.answer(r, sub, true) }))
	d.mux.HandleFunc("POST /tickets/{id}/decline",
		d.player(func(r *http.Request, sub string) (any, *problem) { return d.answer(r, sub, false) }))
	d.mux.HandleFunc("GET /tickets/{id}/events", d.watchTicket)
}

// Match makes a match of tickets, in a session of a region and mode that has room for all of their players. With
// accept, the players are asked first, for 20 seconds by the tickets' documents; time ends no ready check here. Errors:
// a ticket is not in the queue; there is no room.
func (d *Director) Match(region, mode string, accept bool, ids ...string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := &proposal{id: uuid.NewString(), region: region, mode: mode, accepted: map[string]bool{},
		until: time.Now().Add(20 * time.Second)}
	for _, id := range ids {
		t := d.tickets[id]
		if t == nil || t.state() != "queued" {
			return fmt.Errorf("sdktest: ticket %s is not in the queue", id)
		}
		p.tickets = append(p.tickets, t)
	}
	if !accept {
		return d.assign(p)
	}
	for _, t := range p.tickets {
		t.match = p
		d.enter(t, "accepting", map[string]any{"match_id": p.id})
	}
	return nil
}

// assign seats the players of a match.
func (d *Director) assign(p *proposal) error {
	var party []string
	for _, t := range p.tickets {
		party = append(party, t.party...)
	}
	size := max(d.opts.MaxPlayers, len(party))
	s, refused := d.place(matchRequest{Region: p.region, Mode: p.mode, Party: party, MaxPlayers: size}, party[0])
	if refused != nil {
		return fmt.Errorf("sdktest: %s", refused.detail)
	}
	for _, t := range p.tickets {
		t.match = nil
		d.enter(t, "assigned", map[string]any{
			"match_id": p.id, "session_handle": s.handle, "endpoint": s.endpoint, "region": s.region,
		})
	}
	return nil
}

func (t *ticket) state() string { return t.states[len(t.states)-1]["state"].(string) }

// enter adds a state to a ticket and wakes those that wait for one.
func (d *Director) enter(t *ticket, state string, fields map[string]any) {
	document := map[string]any{"ticket_id": t.id, "state": state, "version": len(t.states) + 1, "party": t.party}
	maps.Copy(document, fields)
	t.states = append(t.states, document)
	d.wake()
}

// document returns a ticket as a player sees it.
func (t *ticket) document(sub string) map[string]any {
	document := maps.Clone(t.states[len(t.states)-1])
	if p := t.match; p != nil {
		players := 0
		for _, other := range p.tickets {
			players += len(other.party)
		}
		document["accept"] = map[string]any{
			"until": p.until.UTC().Format(time.RFC3339), "players": players, "accepted": len(p.accepted),
			"you": p.accepted[sub],
		}
	}
	return document
}

func (d *Director) createTicket(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	d.player(func(r *http.Request, sub string) (any, *problem) {
		t, created, p := d.queue(r, sub)
		if p != nil {
			return nil, p
		}
		if created {
			status = http.StatusCreated
		}
		return t.document(sub), nil
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

// queue returns the ticket of a request. A player has one ticket here, whatever its profiles.
func (d *Director) queue(r *http.Request, sub string) (t *ticket, created bool, p *problem) {
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
	party := sorted(request.Party)
	if len(party) == 0 {
		party = []string{sub}
	}
	for _, other := range d.tickets {
		switch {
		case other.final() || !slices.ContainsFunc(other.party,
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
	d.enter(t, "queued", nil)
	return t, true, nil
}

func (t *ticket) final() bool {
	return slices.Contains([]string{"assigned", "declined", "cancelled", "expired"}, t.state())
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
	d.await(r, wait, func() bool { return len(t.states) > version || t.final() })
	return t.document(sub), nil
}

// await waits until a ticket has changed so that done holds. Other requests are served meanwhile.
func (d *Director) await(r *http.Request, wait time.Duration, done func() bool) {
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
	case t.match != nil:
		return d.answer(r, sub, false)
	case t.state() == "assigned":
		return nil, newProblem(http.StatusConflict, "assigned", "the ticket is assigned")
	case !t.final():
		d.enter(t, "cancelled", map[string]any{"reason": "cancelled_by_member"})
	}
	return t.document(sub), nil
}

// answer records whether a player accepts. A party of which one declines leaves the queue, and the others are back in
// it.
func (d *Director) answer(r *http.Request, sub string, accept bool) (any, *problem) {
	t, p := d.ticketOf(r, sub)
	asked, unreadable := askedMatch(r)
	switch {
	case p != nil:
		return nil, p
	case unreadable != nil:
		return nil, newProblem(http.StatusBadRequest, "invalid_request", "match_id: %v", unreadable)
	case t.state() == "declined" && !accept:
		return t.document(sub), nil // the same call again
	case t.match == nil, asked != "" && asked != t.match.id:
		return nil, newProblem(http.StatusConflict, "too_late", "no answer of yours is awaited for this match")
	case accept:
		return d.accept(t, sub)
	}
	match := t.match
	for _, other := range match.tickets {
		other.match = nil
		if other != t {
			d.enter(other, "queued", nil)
		}
	}
	d.enter(t, "declined", map[string]any{"reason": "not_accepted", "match_id": match.id})
	return t.document(sub), nil
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

func (d *Director) accept(t *ticket, sub string) (any, *problem) {
	match, players := t.match, 0
	match.accepted[sub] = true
	for _, other := range match.tickets {
		players += len(other.party)
	}
	if len(match.accepted) == players {
		if err := d.assign(match); err != nil {
			return nil, newProblem(http.StatusServiceUnavailable, "unavailable", "%v", err)
		}
	}
	return t.document(sub), nil
}

// watchTicket sends the states that the caller does not know, as soon as there is one, and ends the stream: a director
// may end it at any time.
func (d *Director) watchTicket(w http.ResponseWriter, r *http.Request) {
	known, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
	d.player(func(r *http.Request, sub string) (any, *problem) {
		t, p := d.ticketOf(r, sub)
		if p != nil {
			return nil, p
		}
		d.await(r, time.Minute, func() bool { return len(t.states) > known || t.final() })
		var stream bytes.Buffer
		for i, state := range t.states {
			if i == len(t.states)-1 {
				state = t.document(sub)
			}
			if data, err := json.Marshal(state); err == nil && (i >= known || t.final() && i == len(t.states)-1) {
				fmt.Fprintf(&stream, "event: %s\nid: %d\ndata: %s\n\n", state["state"], i+1, data)
			}
		}
		return events(stream.Bytes()), nil
	})(w, r)
}

// events are a stream, which writeJSON sends as it is.
type events []byte
