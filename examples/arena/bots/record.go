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
	mu        sync.Mutex // the bot writes the fields, and Swarm.Stats reads them at any time
	botStats  BotStats
	lostIn    string // the session in which the connection was lost; "": no connection was lost in this match
	lastScore int    // in the last state of this visit
	hasState  bool   // a state of this visit has arrived
}

// copyStats returns the statistics until now.
func (r *record) copyStats() BotStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Maps and slices are cloned: the bot continues to write its own.
	copied := r.botStats
	copied.Errors = maps.Clone(r.botStats.Errors)
	copied.Visits = slices.Clone(r.botStats.Visits)
	return copied
}

// beginVisit records that a game server has welcomed the bot, and how the bot came there.
func (r *record) beginVisit(seat sdk.Seat) {
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

// endMatch records that the bot's match is over for it: its next visit is one of a new match.
func (r *record) endMatch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.botStats.Playing, r.lostIn = false, ""
}

// countError counts an error, which ends a visit in progress.
func (r *record) countError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// The connection was lost: the next visit to the same session is a rejoin, and to another one a move.
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
	byCloseCode := map[websocket.StatusCode]string{
		game.StatusRefused: "refused", game.StatusReplaced: "replaced", game.StatusSessionEnded: "session_ended",
		websocket.StatusGoingAway: "server_closing", websocket.StatusTryAgainLater: "try_again",
	}
	// The close code first: an error with one is also errCutOff.
	if kind, known := byCloseCode[websocket.CloseStatus(err)]; known {
		return kind
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
