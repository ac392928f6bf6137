package db

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// resumePlacement decides whether an earlier request has placed the players already. The rules, in order:
//
//   - An unused seat of the caller for the same party and size is the answer again.
//   - A caller that is connected to a live session in which the whole party has seats gets that session again.
//   - Otherwise unused seats in this mode are given up: those reserved for the caller, those that the caller reserved
//     for others, and those that other callers reserved for members of the party.
//   - A member keeps an unused seat that it reserved or resolved itself: the request is a conflict.
//
// Seats in sessions that are not live do not count. seats are those of the party's members, and those that the caller
// reserved.
func resumePlacement(r PlaceRequest, seats []query.SeatsAroundRow, maxReserved int) verdict {
	h := holdings{reservedSeats: map[string]query.SeatsAroundRow{}, connectedSeats: map[string][]query.SeatsAroundRow{}}
	h.add(r, seats)
	if reserved := h.reservedPlacement(r); reserved != nil {
		return verdict{knownPlacement: reserved}
	}
	if rejoined := h.connectedPlacement(r); rejoined != nil {
		return verdict{knownPlacement: rejoined}
	}
	v := verdict{excludedSessions: h.connectedSessions(r.Party)}
	v.giveUp, v.err = h.supersededSeats(r)
	// The seats that the request gives up do not count; those in other modes stay.
	if v.err == nil && h.seatsElsewhere+len(r.Party) > maxReserved {
		v.err = &fault.Error{Kind: fault.TooMany, Code: "too_many_reserved", RetryAfter: fault.RetryAfter,
			Detail: "the caller holds too many reserved seats: have them resolved, or let them expire"}
	}
	return v
}

// holdings are the seats around a request, by player.
type holdings struct {
	reservedSeats  map[string]query.SeatsAroundRow // in the request's mode, in which a constraint allows one per player
	connectedSeats map[string][]query.SeatsAroundRow
	seatsElsewhere int // seats that the caller has reserved in other modes, for any player
}

func (h *holdings) add(r PlaceRequest, seats []query.SeatsAroundRow) {
	for _, st := range seats {
		switch {
		case st.Mode == r.Mode && st.State == "reserved":
			h.reservedSeats[st.Sub] = st
		case st.Mode == r.Mode && st.Live:
			h.connectedSeats[st.Sub] = append(h.connectedSeats[st.Sub], st)
		case st.Mode != r.Mode && st.State == "reserved" && st.ReservedBy == r.Caller:
			h.seatsElsewhere++
		}
	}
}

// reservedPlacement returns where the caller has an unused seat for the same party and size; nil: it has none.
func (h *holdings) reservedPlacement(r PlaceRequest) *Placement {
	own, ok := h.reservedSeats[r.Caller]
	same := ok && own.Live && own.Party == partyKey(r.Party) && int(own.MaxPlayers) == r.MaxPlayers
	if same && h.allIn(r.Party, own.SessionID) {
		return placementOfSeat(own, r.Region)
	}
	return nil
}

// connectedPlacement returns where the caller is connected and the whole party has seats; nil: nowhere.
func (h *holdings) connectedPlacement(r PlaceRequest) *Placement {
	for _, st := range h.connectedSeats[r.Caller] {
		if h.allIn(r.Party, st.SessionID) {
			return placementOfSeat(st, r.Region)
		}
	}
	return nil
}

// supersededSeats returns the unused seats that this request replaces, or a conflict when one of them is a member's
// own.
func (h *holdings) supersededSeats(r PlaceRequest) (giveUp []seatRef, err *fault.Error) {
	for sub, st := range h.reservedSeats {
		if sub != r.Caller && st.ReservedBy != r.Caller && ownsSeat(st) {
			return nil, fault.New(fault.Conflict, "party_conflict",
				"player %q of the party holds a seat elsewhere in this mode", sub)
		}
		giveUp = append(giveUp, seatRef{st.SessionID, sub})
	}
	return giveUp, nil
}

// connectedSessions returns the sessions to which players are connected.
func (h *holdings) connectedSessions(subs []string) (sessions []uuid.UUID) {
	for _, sub := range subs {
		for _, st := range h.connectedSeats[sub] {
			sessions = append(sessions, st.SessionID)
		}
	}
	return sessions
}

// allIn reports whether all players have seats in the session.
func (h *holdings) allIn(subs []string, session uuid.UUID) bool {
	isIn := func(st query.SeatsAroundRow) bool { return st.SessionID == session }
	for _, sub := range subs {
		reserved, ok := h.reservedSeats[sub]
		if !(ok && isIn(reserved)) && !slices.ContainsFunc(h.connectedSeats[sub], isIn) {
			return false
		}
	}
	return true
}

// ownsSeat reports whether the player reserved or resolved the seat itself, so that no other caller may take it away.
func ownsSeat(st query.SeatsAroundRow) bool {
	return st.Live && (st.ReservedBy == st.Sub || st.Resolved)
}

func placementOfSeat(st query.SeatsAroundRow, region string) *Placement {
	return &Placement{
		SessionID: sessionID(region, st.SessionID), SessionHandle: st.Handle, Endpoint: st.Endpoint, Region: region,
		Mode: st.Mode, PlayerCount: int(st.PlayerCount), MaxPlayers: int(st.MaxPlayers),
	}
}

// partyKey identifies a set of players, whatever their order.
func partyKey(subs []string) uuid.UUID {
	sorted := slices.Sorted(slices.Values(subs))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\x00")))
	return uuid.UUID(sum[:16])
}
