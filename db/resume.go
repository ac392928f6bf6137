package db

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// seatRef names a seat.
type seatRef struct {
	session uuid.UUID
	sub     string
}

// verdict is what the seats around a request mean for it: an answer, or what to do before it is placed anew.
type verdict struct {
	answer   *Placement
	err      *Error
	giveUp   []seatRef   // seats superseded by this request
	playedIn []uuid.UUID // sessions where a member is connected
}

// resume looks for the answer that an earlier request already got. The rules, in order:
//
//   - The caller's unused seat for the same party and size is the answer again.
//   - A caller connected in a live session where the whole party has seats gets that session back.
//   - Otherwise unused seats in this mode are given up: those reserved for the caller, by whomever, those the caller
//     reserved for others, and those that strangers reserved for members of the party.
//   - A member with an unused seat that is its own, reserved or resolved by itself, is not pulled out of it: a conflict.
//
// A seat in a session that does not live any more counts for nothing. seats are those of the party's members, and those
// the caller reserved.
func resume(r PlaceRequest, seats []SeatsAroundRow, maxReserved int) verdict {
	var v verdict
	held, reserved := 0, map[string]SeatsAroundRow{}
	connected := map[string][]SeatsAroundRow{}
	for _, st := range seats {
		switch {
		case st.Mode != r.Mode:
			if st.State == "reserved" && st.ReservedBy == r.Caller {
				held++
			}
		case st.State == "reserved":
			reserved[st.Sub] = st
		case st.Live:
			connected[st.Sub] = append(connected[st.Sub], st)
		}
	}
	own, waiting := reserved[r.Caller]
	if waiting && own.Live && own.Party == partyKey(r.Party) && int(own.MaxPlayers) == r.MaxPlayers && allIn(r.Party, own.SessionID, reserved, connected) {
		v.answer = own.placement(r.Region)
		return v
	}
	for sub, st := range reserved {
		mine := sub == r.Caller || st.ReservedBy == r.Caller
		switch {
		case mine, !ownsSeat(st):
			v.giveUp = append(v.giveUp, seatRef{st.SessionID, sub})
		default:
			v.err = newError(Conflict, "party_conflict", "player %q of the party holds a seat elsewhere in this mode", sub)
		}
	}
	for _, st := range connected[r.Caller] {
		if allIn(r.Party, st.SessionID, reserved, connected) {
			return verdict{answer: st.placement(r.Region)}
		}
	}
	if v.err == nil && held+len(r.Party) > maxReserved {
		v.err = &Error{Kind: TooMany, Code: "too_many_reserved", RetryAfter: retryAfter,
			Detail: "the caller holds too many reserved seats: have them resolved, or let them expire"}
	}
	for _, sub := range r.Party {
		for _, st := range connected[sub] {
			v.playedIn = append(v.playedIn, st.SessionID)
		}
	}
	return v
}

// ownsSeat says that the player reserved the seat, or resolved it: nobody else's call takes it away.
func ownsSeat(st SeatsAroundRow) bool { return st.Live && (st.ReservedBy == st.Sub || st.Resolved) }

func allIn(subs []string, session uuid.UUID, reserved map[string]SeatsAroundRow, connected map[string][]SeatsAroundRow) bool {
	for _, sub := range subs {
		st, ok := reserved[sub]
		in := ok && st.SessionID == session ||
			slices.ContainsFunc(connected[sub], func(st SeatsAroundRow) bool { return st.SessionID == session })
		if !in {
			return false
		}
	}
	return true
}

func (st SeatsAroundRow) placement(region string) *Placement {
	return &Placement{
		SessionID: sessionID(region, st.SessionID), SessionHandle: st.Handle, Endpoint: st.Endpoint, Region: region,
		Mode: st.Mode, PlayerCount: int(st.PlayerCount), MaxPlayers: int(st.MaxPlayers),
	}
}

// partyKey is the same for the same set of players.
func partyKey(subs []string) uuid.UUID {
	sorted := slices.Sorted(slices.Values(subs))
	sum := sha256.Sum256([]byte(strings.Join(sorted, "\x00")))
	return uuid.UUID(sum[:16])
}
