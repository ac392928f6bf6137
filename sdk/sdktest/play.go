package sdktest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/token"
)

func (d *Director) playerHandler(handle func(r *http.Request, sub string) (any, *problem)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sub, err := d.opts.Access(raw)
		if !bearer || err != nil || sub == "" {
			newProblem(http.StatusUnauthorized, "unauthorized", "bad access token").writeTo(w)
			return
		}
		body, p := handle(r, sub)
		if p != nil {
			p.writeTo(w)
			return
		}
		writeJSON(w, http.StatusOK, "application/json", body)
	}
}

type matchRequest struct {
	Region     string   `json:"region"`
	Mode       string   `json:"mode"`
	Party      []string `json:"party"`
	MaxPlayers int      `json:"max_players"`
}

func (d *Director) matchmakePlayer(r *http.Request, sub string) (any, *problem) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, newProblem(http.StatusBadRequest, "invalid_json", "%v", err)
	}
	key := sub + "\x00" + r.Header.Get("Idempotency-Key")
	if stored, found := d.answers[key]; found && !strings.HasSuffix(key, "\x00") {
		if !bytes.Equal(stored.request, raw) {
			return nil, newProblem(http.StatusUnprocessableEntity, "idempotency_mismatch",
				"the first request with this key had another body")
		}
		return stored.answer, nil
	}
	answer, p := d.matchParty(raw, sub)
	if p == nil {
		d.answers[key] = storedAnswer{raw, answer}
	}
	return answer, p
}

func (d *Director) matchParty(raw []byte, sub string) (any, *problem) {
	var req matchRequest
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, newProblem(http.StatusBadRequest, "invalid_json", "%v", err)
	}
	if len(req.Party) == 0 {
		req.Party = []string{sub}
	}
	if req.MaxPlayers == 0 {
		req.MaxPlayers = d.opts.MaxPlayers
	}
	if !slices.Contains(req.Party, sub) || req.MaxPlayers < len(req.Party) {
		return nil, newProblem(http.StatusBadRequest, "invalid_request", "bad party")
	}
	s, p := d.placeParty(req, sub)
	if p != nil {
		return nil, p
	}
	return s.placementAnswer(), nil
}

// placeParty returns the session in which the caller has a seat, or takes new seats for the whole party.
func (d *Director) placeParty(req matchRequest, sub string) (*session, *problem) {
	party := sortedParty(req.Party)
	if s := d.seatOf(sub, req.Region, req.Mode); s != nil && s.keepsSeat(sub, party, req.MaxPlayers) {
		return s, nil
	}
	for _, member := range party {
		s := d.seatOf(member, req.Region, req.Mode)
		if s != nil && member != sub && (s.seatBySub[member].state == connected ||
			s.seatBySub[member].requestedBy == member) {
			return nil, newProblem(http.StatusConflict, "party_conflict",
				"a member of the party has a seat of their own")
		}
	}
	for _, member := range party {
		if s := d.seatOf(member, req.Region, req.Mode); s != nil {
			delete(s.seatBySub, member)
		}
	}
	s := d.sessionFor(req)
	if s == nil {
		return nil, d.noCapacity(req)
	}
	for _, member := range party {
		s.seatBySub[member] = &seat{party: party, requestedBy: sub}
	}
	return s, nil
}

// noCapacity distinguishes a full fleet from a region or mode that no instance has ever offered.
func (d *Director) noCapacity(req matchRequest) *problem {
	code := "region_unknown"
	for _, i := range d.latest {
		if i.registration.Region != req.Region {
			continue
		}
		if slices.Contains(i.registration.Modes, req.Mode) {
			code = "no_capacity"
			break
		}
		code = "mode_unknown"
	}
	return newProblem(http.StatusConflict, code, "no instance in %s can host %s", req.Region, req.Mode)
}

// keepsSeat returns whether a repeated request gets the same seat.
func (s *session) keepsSeat(sub string, party []string, maxPlayers int) bool {
	seat := s.seatBySub[sub]
	return seat.state == connected || seat.requestedBy == sub && slices.Equal(seat.party, party) &&
		s.maxPlayers == maxPlayers
}

func (d *Director) seatOf(sub, region, mode string) *session {
	for _, s := range d.sessions {
		if seat := s.seatBySub[sub]; seat != nil && seat.state != reaped && s.region == region && s.mode == mode {
			return s
		}
	}
	return nil
}

// sessionFor returns the fullest open session that fits the party, else a new one on the instance with the most free
// seats.
func (d *Director) sessionFor(req matchRequest) (best *session) {
	for _, s := range d.sessions {
		fits := !s.isClosed && s.region == req.Region && s.mode == req.Mode && s.maxPlayers == req.MaxPlayers &&
			s.countSeats()+len(req.Party) <= s.maxPlayers && !d.instances[s.instance].isDraining
		if fits && (best == nil || s.countSeats() > best.countSeats()) {
			best = s
		}
	}
	if best != nil {
		return best
	}
	if host := d.pickHost(req); host != nil {
		best = &session{
			id: req.Region + "." + uuid.NewString(), handle: req.Region + "." + rand.Text(),
			instance: host.registration.InstanceID,
			endpoint: host.registration.Endpoint, region: req.Region, mode: req.Mode, maxPlayers: req.MaxPlayers,
			seatBySub: map[string]*seat{},
			openedAt:  time.Now(),
		}
		d.sessions = append(d.sessions, best)
	}
	return best
}

func (d *Director) pickHost(req matchRequest) (best *instance) {
	for _, i := range d.instances {
		fits := !i.isDraining && i.registration.Region == req.Region &&
			slices.Contains(i.registration.Modes, req.Mode) &&
			d.freeSeats(i) >= req.MaxPlayers
		if fits && (best == nil || d.freeSeats(i) > d.freeSeats(best)) {
			best = i
		}
	}
	return best
}

func (s *session) placementAnswer() map[string]any {
	return map[string]any{
		"session_handle": s.handle, "session_id": s.id, "endpoint": s.endpoint, "region": s.region, "mode": s.mode,
		"player_count": s.countSeats(), "max_players": s.maxPlayers,
	}
}

func (d *Director) resolveSeat(r *http.Request, sub string) (any, *problem) {
	var req struct {
		Handle string `json:"session_handle"`
	}
	if p := readBody(r, &req); p != nil {
		return nil, p
	}
	s, p := d.openSession(func(s *session) bool { return s.handle == req.Handle })
	if p != nil {
		return nil, p
	}
	seat := s.seatBySub[sub]
	if seat == nil || seat.state == reaped {
		return nil, newProblem(http.StatusForbidden, "no_seat", "you hold no seat in this session")
	}
	now := time.Now()
	signed, err := d.Sign(token.SessionClaims{
		Subject: sub, SessionID: s.id, Handle: s.handle, Endpoint: s.endpoint, Region: s.region,
		ID: rand.Text(), IssuedAt: now, Expires: now.Add(d.opts.TokenTTL), Mode: s.mode, MaxPlayers: s.maxPlayers,
		Party: uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(seat.party, "\x00"))).String(),
	})
	if err != nil {
		return nil, newProblem(http.StatusInternalServerError, "internal", "%v", err)
	}
	return map[string]any{"endpoint": s.endpoint, "session_token": signed, "session_id": s.id}, nil
}

func (d *Director) readSession(r *http.Request, _ string) (any, *problem) {
	s, p := d.openSession(func(s *session) bool { return s.id == r.PathValue("id") })
	if p != nil {
		return nil, p
	}
	return s.placementAnswer(), nil
}

func (d *Director) openSession(matches func(*session) bool) (*session, *problem) {
	for _, s := range d.sessions {
		switch {
		case !matches(s):
		case s.isClosed:
			return nil, newProblem(http.StatusGone, "session_closed", "the session has ended")
		default:
			return s, nil
		}
	}
	return nil, newProblem(http.StatusNotFound, "session_unknown", "there is no such session")
}
