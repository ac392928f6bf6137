package faults

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/sdk"
)

// A player's stream of events and a game server's long poll are at a replica that is killed. At another replica the
// stream continues with the states that the player has missed, and the server learns of the match.
func TestStreamsContinueAtAnotherReplica(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestTicketsSurviveKilledReplicas")
	r := newRig(t)
	first, second := r.ServeReplica(), r.ServeReplica()
	r.StartProcess("work")
	r.ApplyProfile("name: asked\nmode: duel\nteams: [{name: red, players: 1}, {name: blue, players: 1}]\naccept: {within: 20s}\n")

	client, err := sdk.New(sdk.Options{URLs: []string{first.URL, second.URL}})
	require.NoError(t, err)
	defer client.Close()
	server, err := sdk.Start(t.Context(), client, sdk.ServerOptions{
		InstanceID: "a", Endpoint: "127.0.0.1:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 8,
		FleetToken: fleetToken,
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close(t.Context()) })
	lists := server.Sessions(t.Context())
	require.Empty(t, <-lists)

	ada := r.QueueFor("ada", "asked")
	events := r.streamEvents(first, "ada", ada, "")
	next := func() string {
		e := <-events
		return e.Name + e.ID
	}
	require.Equal(t, "queued1", next())
	first.Process.Kill()
	require.Empty(t, next(), "cut off")
	r.SetURLs(second.URL)

	bo := r.QueueFor("bo", "asked")
	r.answer("ada", ada, "accept")
	r.answer("bo", bo, "decline")
	cy := r.QueueFor("cy", "asked")
	r.answer("cy", cy, "accept")
	events = r.streamEvents(second, "ada", ada, "1")
	for _, want := range []string{"accepting2", "queued3", "accepting4"} {
		require.Equal(t, want, next())
	}
	r.answer("ada", ada, "accept")
	require.Equal(t, "assigned5", next())
	require.Empty(t, next(), "nothing follows")

	select {
	case list := <-lists:
		require.Len(t, list, 1)
		require.Equal(t, "asked", list[0].Profile)
		var players, teams []string
		for _, p := range list[0].Players {
			require.Equal(t, sdk.SeatReserved, p.State)
			players, teams = append(players, p.Sub), append(teams, p.Team)
		}
		slices.Sort(teams)
		require.Equal(t, []string{"ada", "cy", "blue", "red"}, append(players, teams...))
	case <-time.After(30 * time.Second):
		require.Fail(t, "the game server was not told of the match")
	}
	r.RequireInvariants()
}

// answer answers the ready check of a ticket, as soon as there is one.
func (r *rig) answer(sub, ticket, answer string) {
	r.T.Helper()
	require.Eventually(r.T, func() bool {
		status, _, err := r.PostPlay(sub, "/tickets/"+ticket+"/"+answer, nil)
		return err == nil && status == http.StatusOK
	}, 30*time.Second, 100*time.Millisecond, "%s: %s", sub, answer)
}

// streamEvents follows the events of a ticket at a replica, after one of them. The channel is closed at the end of the
// stream.
func (r *rig) streamEvents(at *process, sub, ticket, last string) <-chan webtest.Event {
	r.T.Helper()
	request := webtest.Request(r.T, http.MethodGet, at.URL+"/tickets/"+ticket+"/events", nil)
	request.Header = r.HeaderOf(sub)
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	a, events := webtest.Events(r.T, &http.Client{}, request)
	require.Equal(r.T, http.StatusOK, a.Status)
	return events
}
