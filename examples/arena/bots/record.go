package bots

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk"
)

// record keeps one bot's statistics.
type record struct {
	// The bot writes what follows, and Stats reads it at any time.
	mu        sync.Mutex
	botStats  BotStats
	lostIn    string // the session that it was disconnected from and rejoins
	lastScore int    // in the last state of this visit
	hasState  bool   // a state of this visit has arrived
}

func (r *record) statsCopy() BotStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Maps and slices are cloned: the bot continues to write its own.
	copied := r.botStats
	copied.Errors = maps.Clone(r.botStats.Errors)
	copied.Visits = slices.Clone(r.botStats.Visits)
	return copied
}

// noteSeat begins a visit.
func (r *record) noteSeat(seat sdk.Seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	visit := Visit{StartedAt: time.Now(), Endpoint: seat.Endpoint, SessionID: seat.SessionID, Reason: Matched}
	// "" is a match that was not interrupted: the bot was not connected before, or had left by itself.
	switch r.lostIn {
	case "":
		r.botStats.Matches++
	case seat.SessionID:
		visit.Reason = Rejoined
		r.botStats.Rejoins++
	default:
		visit.Reason = Moved
		r.botStats.Moves++
	}
	if len(r.botStats.Visits) == maxVisits {
		r.botStats.Visits = slices.Delete(r.botStats.Visits, 0, 1)
	}
	r.botStats.Visits = append(r.botStats.Visits, visit)
	r.botStats.Playing, r.lostIn, r.hasState = true, "", false
}

// noteRest ends a match.
func (r *record) noteRest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.botStats.Playing, r.lostIn = false, ""
}

// noteTrouble counts an error, which ends a visit in progress.
func (r *record) noteTrouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Lost while it played: the next visit to the same session is a rejoin, and to another one a move.
	if r.botStats.Playing {
		r.botStats.Playing = false
		r.lostIn = r.botStats.Visits[len(r.botStats.Visits)-1].SessionID
	}
	r.botStats.Errors[errorKind(err)]++
	r.botStats.LastError = err.Error()
}

// noteState records a state. The first score of a visit may come from an earlier visit and is not counted again.
func (r *record) noteState(state *game.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.botStats.States++
	for _, p := range state.Players {
		if p.Name != r.botStats.Name {
			continue
		}
		if r.hasState {
			r.botStats.Coins += p.Score - r.lastScore
		}
		r.lastScore, r.hasState = p.Score, true
	}
}

// errorKind names an error in the counts of a run: by the close code of the game's connection where there is one, else
// by the kind that the SDK or this program gives it; "other" where it has none.
func errorKind(err error) string {
	// The close code first: an error with one is also errCutOff.
	switch websocket.CloseStatus(err) {
	case game.StatusRefused:
		return "refused"
	case game.StatusReplaced:
		return "replaced"
	case game.StatusSessionEnded:
		return "session_ended"
	case websocket.StatusGoingAway:
		return "server_closing"
	case websocket.StatusTryAgainLater:
		return "try_again"
	default:
	}
	for _, k := range [...]struct {
		err  error
		name string
	}{
		{sdk.ErrNoCapacity, "no_capacity"}, {sdk.ErrNotOffered, "not_offered"},
		{sdk.ErrPartyConflict, "party_conflict"}, {sdk.ErrGone, "session_closed"},
		{sdk.ErrForbidden, "no_seat"}, {sdk.ErrUnauthorized, "unauthorized"}, {sdk.ErrInvalid, "invalid"},
		{sdk.ErrUnavailable, "director_unavailable"}, {errNotReached, "not_reached"}, {errCutOff, "cut_off"},
	} {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "other"
}
