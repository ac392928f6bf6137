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
	mu       sync.Mutex
	stats    BotStats
	lostIn   string // the session that it was disconnected from and rejoins
	score    int    // in the last state of this visit
	hasState bool   // a state of this visit has arrived
}

func (r *record) snapshot() BotStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	copied := r.stats
	copied.Errors = maps.Clone(r.stats.Errors)
	copied.Visits = slices.Clone(r.stats.Visits)
	return copied
}

// seated begins a visit.
func (r *record) seated(seat sdk.Seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	visit := Visit{StartedAt: time.Now(), Endpoint: seat.Endpoint, SessionID: seat.SessionID, Reason: Matched}
	switch r.lostIn {
	case "":
		r.stats.Matches++
	case seat.SessionID:
		visit.Reason = Rejoined
		r.stats.Rejoins++
	default:
		visit.Reason = Moved
		r.stats.Moves++
	}
	if len(r.stats.Visits) == maxVisits {
		r.stats.Visits = slices.Delete(r.stats.Visits, 0, 1)
	}
	r.stats.Visits = append(r.stats.Visits, visit)
	r.stats.Playing, r.lostIn, r.hasState = true, "", false
}

// rests ends a match.
func (r *record) rests() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.Playing, r.lostIn = false, ""
}

// trouble counts an error, which ends a visit in progress.
func (r *record) trouble(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stats.Playing {
		r.stats.Playing = false
		r.lostIn = r.stats.Visits[len(r.stats.Visits)-1].SessionID
	}
	r.stats.Errors[kind(err)]++
	r.stats.LastError = err.Error()
}

// saw records a state. The first score of a visit may come from an earlier visit and is not counted again.
func (r *record) saw(state *game.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.States++
	for _, p := range state.Players {
		if p.Name != r.stats.Name {
			continue
		}
		if r.hasState {
			r.stats.Coins += p.Score - r.score
		}
		r.score, r.hasState = p.Score, true
	}
}

func kind(err error) string {
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
