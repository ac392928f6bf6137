package bots

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk"
)

func seatIn(session string) sdk.Seat {
	return sdk.Seat{Match: sdk.Match{SessionID: session, Endpoint: "ws://" + session}}
}

// The demo proves with these numbers that players of a killed server were seated elsewhere: a rejoin must not count as
// a new match, nor a failure before the first welcome as a rejoin.
func TestVisitsTellHowTheyCameAbout(t *testing.T) {
	t.Parallel()
	r := &record{botStats: BotStats{Name: "bot-001", Errors: map[string]int{}}}
	r.countError(errNotReached)
	r.beginVisit(seatIn("a"))
	r.countError(errCutOff)
	r.countError(errNotReached)
	r.beginVisit(seatIn("a"))
	r.countError(errCutOff)
	r.beginVisit(seatIn("b"))
	r.endMatch()
	r.beginVisit(seatIn("b"))
	s := r.copyStats()
	var reasons []Reason
	for _, v := range s.Visits {
		reasons = append(reasons, v.Reason)
	}
	require.Equal(t, []Reason{Matched, Rejoined, Moved, Matched}, reasons)
	require.Equal(t, [3]int{2, 1, 1}, [3]int{s.Matches, s.Rejoins, s.Moves})
	require.Equal(t, map[string]int{"not_reached": 2, "cut_off": 2}, s.Errors)
	require.Equal(t, []string{"ws://a", "ws://b"}, s.Servers())
	require.Equal(t, map[string]int{"ws://b": 1}, Stats{Bots: []BotStats{s}}.Playing())
	r.beginVisit(seatIn("c"))
	require.Len(t, s.Visits, 4, "a snapshot is a copy")
}

// The first score after a rejoin includes the coins from before it.
func TestCoinsAreCountedOnce(t *testing.T) {
	t.Parallel()
	r := &record{botStats: BotStats{Name: "bot-001", Errors: map[string]int{}}}
	for _, visit := range [][]int{{0, 1, 3}, {3, 4}, {0, 0, 2}} {
		r.beginVisit(seatIn("a"))
		for _, score := range visit {
			r.noteState(&game.State{Players: []game.PlayerState{{Name: "other", Score: 99},
				{Name: "bot-001", Score: score}}})
		}
	}
	require.Equal(t, 6, r.copyStats().Coins)
	require.Equal(t, 8, r.copyStats().States)
}

// The memory of a bot that plays for a week is bounded.
func TestVisitsAreBounded(t *testing.T) {
	t.Parallel()
	r := &record{}
	for i := range 1000 {
		r.beginVisit(seatIn(fmt.Sprint(i)))
	}
	s := r.copyStats()
	require.Len(t, s.Visits, maxVisits)
	require.Equal(t, "999", s.Visits[maxVisits-1].SessionID)
	require.Equal(t, 1000, s.Matches)
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"no_capacity":    &sdk.Error{Status: 409, Code: "no_capacity"},
		"party_conflict": &sdk.Error{Status: 409, Code: "party_conflict"},
		"session_closed": &sdk.Error{Status: 410}, "no_seat": &sdk.Error{Status: 403},
		"unauthorized":         &sdk.Error{Status: 401},
		"director_unavailable": &sdk.Error{Status: 503},
		"refused":              asCutOff(websocket.CloseError{Code: game.StatusRefused}),
		"session_ended":        asCutOff(websocket.CloseError{Code: game.StatusSessionEnded}),
		"server_closing":       asCutOff(websocket.CloseError{Code: websocket.StatusGoingAway}),
		"cut_off":              asCutOff(errors.New("EOF")),
		"other":                errors.New("?"),
	} {
		require.Equal(t, want, errorKind(err))
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	client, err := sdk.New(sdk.Options{URLs: []string{"http://director.example"}})
	require.NoError(t, err)
	token := func(context.Context, string) (string, error) { return "", nil }
	_, err = New(Config{})
	require.Error(t, err)
	_, err = New(Config{Director: client, AccessToken: token, Region: "eu", Modes: []string{"ffa"}, MaxParty: 9})
	require.ErrorContains(t, err, "does not fit")
	s, err := New(Config{Director: client, AccessToken: token, Region: "eu", Modes: []string{"ffa", "duel"}, Count: 61,
		MaxParty: 4, Seed: 1})
	require.NoError(t, err)
	seen := map[string]bool{}
	sizes := map[int]int{}
	for _, p := range s.parties {
		sizes[len(p.members)]++
		for _, b := range p.members {
			seen[b.name] = true
		}
	}
	require.Len(t, seen, 61)
	require.True(t, seen["bot-001"] && seen["bot-061"])
	require.Len(t, sizes, 4, "parties of 1 to 4")
}
