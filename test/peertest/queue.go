package peertest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
)

// ticket is a state of a ticket, as the peer describes it.
type ticket struct {
	ID      string `json:"ticket_id"`
	State   string
	Version int
	Party   []string
	Place   int
	Handle  string `json:"session_handle"`
	Team    string
	Reason  string
	Detail  string
}

// texts returns each state with its version, "queued 1", in the order in which a player saw them.
func texts(states []ticket) (seen []string) {
	for _, s := range states {
		seen = append(seen, fmt.Sprintf("%s %d", s.State, s.Version))
	}
	return seen
}

// queue puts a player into the queue and follows the ticket.
func (r *Rig) queue(sub string, request object) ticket {
	r.T.Helper()
	t := ask[ticket](r, "queue", object{"player": sub, "request": request})
	require.Equal(r.T, "queued", t.State)
	ask[any](r, "watch", object{"player": sub})
	return t
}

// awaitState waits until a player has seen a state n times, and returns all that it has seen. A state that is over when
// the watch begins is not among them.
func (r *Rig) awaitState(sub, state string, n int) []ticket {
	r.T.Helper()
	return until(r, "states", object{"player": sub}, func(all []ticket) bool {
		seen := 0
		for _, s := range all {
			if s.State == state {
				seen++
			}
		}
		return seen >= n
	})
}

// awaitFinal waits until a player has seen a final state, and returns it.
func (r *Rig) awaitFinal(sub, state string) ticket {
	r.T.Helper()
	states := r.awaitState(sub, state, 1)
	return states[len(states)-1]
}

// callTicket calls accept, decline, cancel, read or next of the player's ticket.
func (r *Rig) callTicket(sub, method string) ticket {
	r.T.Helper()
	return ask[ticket](r, "ticketCall", object{"player": sub, "method": method})
}

// askedProfile is a profile, named asked, whose matches both players must accept.
const askedProfile = "name: asked\nmode: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\naccept: {within: 45s}\n"

// The replica of a stream is killed. While ada's client reconnects her ticket goes through three states, of which she
// misses none and sees none twice.
func survivesReplica(r *Rig) {
	a, b := r.serve(), r.serve()
	r.Installation.ApplyProfile(askedProfile)
	r.startGameServer(a, b)
	request := object{"profiles": []string{"asked"}}
	r.player("ada", a, b)
	r.queue("ada", request)
	r.awaitState("ada", "queued", 1)
	require.Eventually(r.T, func() bool { return r.callTicket("ada", "read").Place == 1 }, 30*time.Second,
		100*time.Millisecond, "her place in line")

	type stream struct{ Base, Resumed string }
	dies, stays := a, b
	if ask[[]stream](r, "streams", object{"player": "ada"})[0].Base == b.URL {
		dies, stays = b, a
	}
	dies.Process.Kill()
	for _, sub := range []string{"bo", "cy"} {
		r.player(sub, stays)
	}
	r.queue("bo", request)
	r.awaitState("bo", "accepting", 1)
	r.callTicket("bo", "decline")
	r.awaitFinal("bo", "declined")
	r.queue("cy", request)
	r.awaitState("cy", "accepting", 1)
	r.awaitState("ada", "accepting", 2)
	r.callTicket("ada", "accept")
	r.callTicket("cy", "accept")
	states := r.awaitState("ada", "assigned", 1)
	require.Equal(r.T, []string{"queued 1", "accepting 2", "queued 3", "accepting 4", "assigned 5"}, texts(states))
	streams := ask[[]stream](r, "streams", object{"player": "ada"})
	require.Equal(r.T, stays.URL, streams[len(streams)-1].Base)
	ask[any](r, "watched", object{"player": "ada"})
	last := states[4]
	require.NotEqual(r.T, r.awaitFinal("cy", "assigned").Team, last.Team)
	require.NotEmpty(r.T, ask[match](r, "resolve", object{"player": "ada", "handle": last.Handle}).Token)
	_, failed := try[ticket](r, "ticketCall", object{"player": "ada", "method": "cancel"})
	require.Equal(r.T, "assigned", failed.Code)
	require.Equal(r.T, "assigned", r.callTicket("ada", "next").State, "a final state again")
}

// A party has one ticket, which each member may follow and cancel.
func queuesParty(r *Rig) {
	a, b := r.serve(), r.serve()
	r.Installation.ApplyProfile("name: pairs\nmode: duel\nteams: [{name: red, players: 2}, {name: blue, players: 2}]\n")
	r.startGameServer(a, b)
	party := object{"profiles": []string{"pairs"}, "party": []string{"ada", "bo"}}
	r.player("ada", a, b)
	r.player("bo", b)
	t := r.queue("ada", party)
	require.Equal(r.T, t.ID, ask[ticket](r, "queue", object{"player": "bo", "request": party}).ID,
		"the same request returns the same ticket")
	ask[any](r, "ticket", object{"player": "bo", "id": t.ID})
	require.Equal(r.T, t.ID, r.callTicket("bo", "next").ID)
	_, failed := try[ticket](r, "queue", object{"player": "bo", "request": object{"profiles": []string{"pairs"}}})
	require.Equal(r.T, "party_conflict", failed.Code)
	require.Equal(r.T, "cancelled", r.callTicket("bo", "cancel").State)
	require.Equal(r.T, "cancelled_by_member", r.awaitFinal("ada", "cancelled").Reason)
	ask[any](r, "watched", object{"player": "ada"})

	r.queue("ada", party)
	other := object{"profiles": []string{"pairs"}, "party": []string{"cy", "di"}}
	r.player("cy", a, b)
	r.queue("cy", other)
	handle := r.awaitFinal("ada", "assigned").Handle
	require.Equal(r.T, handle, r.awaitFinal("cy", "assigned").Handle)
	require.NotEmpty(r.T, ask[match](r, "resolve", object{"player": "bo", "handle": handle}).Token)
	_, failed = try[ticket](r, "queue", object{"player": "ada", "request": object{"profiles": []string{"pears"}}})
	require.Equal(r.T, "profile_unknown", failed.Code)
}

// A refused access token is replaced once. A second refusal is the error of the call.
func replacesToken(r *Rig) {
	a := r.serve()
	r.Installation.ApplyProfile(askedProfile)
	r.startGameServer(a)
	expired := r.token("ada", -2*time.Minute)
	r.playerWith("ada", []string{expired, r.token("ada", time.Hour)}, a)
	require.NotEmpty(r.T, ask[match](r, "matchmake", object{"player": "ada", "request": duel}).Handle)
	require.Equal(r.T, 1, ask[int](r, "refreshed", object{"player": "ada"}))
	r.playerWith("bo", []string{expired, expired, expired}, a)
	_, failed := try[match](r, "matchmake", object{"player": "bo", "request": duel})
	require.Equal(r.T, "unauthorized", failed.Code)
	require.NotContains(r.T, failed.Message, expired)
	require.Equal(r.T, 1, ask[int](r, "refreshed", object{"player": "bo"}))

	r.queue("ada", object{"profiles": []string{"asked"}})
	r.playerWith("ada2", []string{expired, r.token("ada", time.Hour)}, a)
	ask[any](r, "ticket", object{"player": "ada2", "id": r.awaitState("ada", "queued", 1)[0].ID})
	ask[any](r, "watch", object{"player": "ada2"})
	r.awaitState("ada2", "queued", 1)
	require.Equal(r.T, 1, ask[int](r, "refreshed", object{"player": "ada2"}), "for a stream")
}

// Calls and watches that were aborted end with an AbortError, and so do later calls of the player.
func aborts(r *Rig) {
	a := r.serve()
	r.Installation.ApplyProfile(askedProfile)
	r.player("ada", a)
	r.beginStep("seat", "seat", object{"player": "ada", "request": duel, "awaitServers": true})
	r.awaitRetries("ada", 1)
	r.queue("ada", object{"profiles": []string{"asked"}})
	r.awaitState("ada", "queued", 1)
	ask[any](r, "abort", object{"player": "ada"})
	for step, args := range map[string]object{"end": {"id": "seat"}, "watched": {"player": "ada"},
		"matchmake": {"player": "ada", "request": duel}} {
		_, failed := try[any](r, step, args)
		require.NotNil(r.T, failed, step)
		require.Equal(r.T, "AbortError", failed.Name, step)
	}
}
