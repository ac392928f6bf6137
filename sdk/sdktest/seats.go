package sdktest

import (
	"net/http"
	"slices"
)

const (
	reserved seatState = iota
	connected
	reaped // expired by the director; the player may still connect
)

// heldBy returns whether the seat is connected, and by that connection if both have a name.
func (s *seat) heldBy(connection string) bool {
	return s != nil && s.state == connected && (connection == "" || s.connection == "" || s.connection == connection)
}

// Session is the director's view of a session. Seats maps each player to whether the player is connected.
type Session struct {
	ID, Instance string
	Seats        map[string]bool
	Closed       bool
}

// Sessions returns all sessions, in the order they were opened.
func (d *Director) Sessions() (all []Session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.sessions {
		view := Session{ID: s.id, Instance: s.instance, Seats: map[string]bool{}, Closed: s.isClosed}
		for sub, seat := range s.seatBySub {
			if seat.state != reaped {
				view.Seats[sub] = seat.state == connected
			}
		}
		all = append(all, view)
	}
	return all
}

// CloseSession closes a session as an operator can.
func (d *Director) CloseSession(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.byID(id); s != nil {
		s.closeSeats()
		d.wakeWaiting()
	}
}

// Reap expires a player's seat, as the director does when the player does not connect in time.
func (d *Director) Reap(sessionID, sub string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.byID(sessionID); s != nil && s.seatBySub[sub] != nil {
		s.seatBySub[sub].state = reaped
		d.wakeWaiting()
	}
}

func (d *Director) byID(id string) *session {
	for _, s := range d.sessions {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (s *session) countSeats() (n int) {
	for _, seat := range s.seatBySub {
		if seat.state != reaped {
			n++
		}
	}
	return n
}

type joinedSeat struct {
	Sub        string `json:"sub"`
	JTI        string `json:"jti"`
	Connection string `json:"connection"`
}

func (d *Director) reportSeats(r *http.Request) (any, *problem) {
	var req struct {
		instanceRef
		SessionID       string       `json:"session_id"`
		Joined          []joinedSeat `json:"joined"`
		Left            []string     `json:"left"`
		LeftConnections []string     `json:"left_connections"`
		Ended           bool         `json:"ended"`
	}
	i, p := d.callingInstance(r, &req, &req.instanceRef)
	if p != nil {
		return nil, p
	}
	s := d.byID(req.SessionID)
	if s == nil || s.instance != i.registration.InstanceID {
		return nil, newProblem(http.StatusNotFound, "session_unknown", "there is no such session")
	}
	report := seatReport{results: []map[string]any{}}
	for _, join := range req.Joined {
		report.addResult(join.Sub, join.JTI, d.joinSeat(s, join), &report.joined)
	}
	for i, sub := range req.Left {
		connection := ""
		if i < len(req.LeftConnections) {
			connection = req.LeftConnections[i]
		}
		report.addResult(sub, "", s.leaveSeat(sub, connection), &report.leftCount)
	}
	if req.Ended || len(req.Left) > 0 && s.countSeats() == 0 {
		s.closeSeats()
	}
	return map[string]any{
		"session_id": s.id, "joined": report.joined, "left": report.leftCount,
		"player_count": s.countSeats(), "closed": s.isClosed, "results": report.results,
	}, nil
}

type seatReport struct {
	joined, leftCount int
	results           []map[string]any
}

func (r *seatReport) addResult(sub, jti, result string, ok *int) {
	status := map[string]int{"ok": 200, "replay": 409, "seat_gone": 410, "unknown": 404, "not_holder": 409}[result]
	entry := map[string]any{"sub": sub, "result": result, "status": status}
	if jti != "" {
		entry["jti"] = jti
	}
	if result == "ok" {
		*ok++
	}
	r.results = append(r.results, entry)
}

func (d *Director) joinSeat(s *session, j joinedSeat) string {
	seat := s.seatBySub[j.Sub]
	used, known := d.redeemed[j.JTI]
	switch {
	case known && used == redemption{s.id, j.Sub} && seat.heldBy(j.Connection):
		return "ok"
	case known:
		return "replay"
	case seat == nil:
		return "unknown"
	case seat.state == reaped && s.countSeats() >= s.maxPlayers:
		return "seat_gone"
	}
	seat.state, seat.connection = connected, j.Connection
	d.redeemed[j.JTI] = redemption{s.id, j.Sub}
	return "ok"
}

func (s *session) leaveSeat(sub, connection string) string {
	seat := s.seatBySub[sub]
	switch {
	case seat == nil || seat.state == reaped:
		return "unknown"
	case connection != "" && !seat.heldBy(connection):
		return "not_holder"
	}
	delete(s.seatBySub, sub)
	return "ok"
}

func sortedParty(party []string) []string {
	party = slices.Clone(party)
	slices.Sort(party)
	return party
}
