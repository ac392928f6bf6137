package sdk_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

// queueing is a director with a game server, and a ticket of two players.
type queueing struct {
	*wire
	client     *sdk.Client
	alice, bob *sdk.Player
	ticket     *sdk.Queued
}

func queued(t *testing.T) *queueing {
	w := newWire(t, sdktest.Options{})
	client := must.Get(sdk.New(sdk.Options{
		URLs: []string{"http://a.example", "http://b.example"}, HTTPClient: &http.Client{Transport: w}, FirstBackoff: time.Millisecond, MaxBackoff: time.Millisecond,
	}))(t)
	w.serve(func(o *sdk.ServerOptions) { o.Endpoint = "203.0.113.7:7777" })
	login := func(sub string) *sdk.Player {
		return sdk.NewPlayer(client, func(context.Context) (string, error) { return sub, nil })
	}
	q := &queueing{wire: w, client: client, alice: login("alice"), bob: login("bob")}
	q.ticket = must.Get(q.alice.Queue(t.Context(), sdk.TicketRequest{Profiles: []string{"duel"},
		Party:      []string{"alice", "bob"},
		Attributes: map[string]any{"skill": 5}}))(t)
	return q
}

func statesOf(statuses <-chan sdk.QueueStatus) (states []sdk.QueueState) {
	for s := range statuses {
		states = append(states, s.State)
	}
	return states
}

// Every member of a party follows the ticket and answers for itself.
func TestQueue(t *testing.T) {
	q := queued(t)
	again, err := q.bob.Queue(t.Context(), sdk.TicketRequest{Profiles: []string{"duel"}, Party: []string{"alice", "bob"}, Attributes: map[string]any{"skill": 5}})
	require.NoError(t, err)
	require.Equal(t, q.ticket.ID(), again.ID())
	_, err = q.bob.Queue(t.Context(), sdk.TicketRequest{Profiles: []string{"other"}})
	require.ErrorIs(t, err, sdk.ErrTicketExists)
	_, err = q.ticket.Accept(t.Context(), uuid.NewString())
	require.ErrorIs(t, err, sdk.ErrTooLate)

	require.NoError(t, q.director.Match("eu", "duel", true, q.ticket.ID()))
	status, err := q.ticket.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, sdk.QueueAccepting, status.State)
	require.Equal(t, 2, status.Accept.Players)
	_, err = q.ticket.Accept(t.Context(), uuid.NewString())
	require.ErrorIs(t, err, sdk.ErrTooLate, "another match than the player was asked about")
	_, err = q.ticket.Decline(t.Context(), uuid.NewString())
	require.ErrorIs(t, err, sdk.ErrTooLate)
	_, err = q.ticket.Accept(t.Context(), "")
	require.ErrorIs(t, err, sdk.ErrInvalid)
	accepted, err := q.ticket.Accept(t.Context(), status.MatchID)
	require.NoError(t, err)
	require.True(t, accepted.Accept.You)
	member := q.bob.Queued(q.ticket.ID())
	_, err = member.Accept(t.Context(), status.MatchID)
	require.NoError(t, err)
	status, err = member.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, sdk.QueueAssigned, status.State)
	ticket, err := q.bob.Resolve(t.Context(), status.Handle)
	require.NoError(t, err)
	require.Equal(t, "203.0.113.7:7777", ticket.Endpoint)
	_, err = q.ticket.Cancel(t.Context())
	require.ErrorIs(t, err, sdk.ErrAssigned)
	same, err := member.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, status, same, "nothing follows a final state")
}

// A stream that breaks is continued without a loss, and without a state that comes twice.
func TestWatchConnectsAgain(t *testing.T) {
	q := queued(t)
	var streams atomic.Int32
	q.inject(func(x exchange, forward func() *http.Response) (*http.Response, error) {
		if !strings.HasSuffix(x.path, "/events") || streams.Add(1)%2 == 1 {
			return nil, errNoFault
		}
		return nil, errCut
	})
	statuses, failed := q.ticket.Watch(t.Context())
	require.NoError(t, q.director.Match("eu", "duel", true, q.ticket.ID()))
	require.Equal(t, sdk.QueueAccepting, (<-statuses).State)
	_, err := q.ticket.Cancel(t.Context())
	require.NoError(t, err)
	require.Equal(t, []sdk.QueueState{sdk.QueueDeclined}, statesOf(statuses))
	require.NoError(t, failed())
}

// Behind a proxy that does not let streams through, Watch polls.
func TestWatchPolls(t *testing.T) {
	q := queued(t)
	q.inject(func(x exchange, forward func() *http.Response) (*http.Response, error) {
		if !strings.HasSuffix(x.path, "/events") {
			return nil, errNoFault
		}
		return respond(http.StatusOK, "text/html", "<html>")
	})
	statuses, failed := q.ticket.Watch(t.Context())
	require.NoError(t, q.director.Match("eu", "duel", false, q.ticket.ID()))
	require.Equal(t, []sdk.QueueState{sdk.QueueAssigned}, statesOf(statuses))
	require.NoError(t, failed())
}

// Errors that a retry cannot change end Watch.
func TestWatchEnds(t *testing.T) {
	q := queued(t)
	statuses, failed := q.bob.Queued("unknown").Watch(t.Context())
	require.Empty(t, statesOf(statuses))
	require.ErrorIs(t, failed(), sdk.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	statuses, failed = q.ticket.Watch(ctx)
	cancel()
	statesOf(statuses)
	require.ErrorIs(t, failed(), context.Canceled)
}

// Pins a client that repeated its call without a pause while a stopping replica answered early.
func TestNextPausesAfterEarlyAnswers(t *testing.T) {
	q := queued(t)
	var asked atomic.Int32
	q.inject(func(exchange, func() *http.Response) (*http.Response, error) {
		asked.Add(1)
		return respond(http.StatusOK, "application/json",
			`{"ticket_id": "`+q.ticket.ID()+`", "state": "queued", "version": 1}`)
	})
	patient, err := sdk.New(sdk.Options{URLs: []string{"http://a.example"}, HTTPClient: &http.Client{Transport: q.wire}, FirstBackoff: time.Hour, MaxBackoff: time.Hour})
	require.NoError(t, err)
	alice := sdk.NewPlayer(patient, func(context.Context) (string, error) { return "alice", nil })
	same := alice.Queued(q.ticket.ID())
	_, err = same.Next(t.Context()) // the first state
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = same.Next(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualValues(t, 2, asked.Load())
}
