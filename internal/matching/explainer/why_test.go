package explainer_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/match/explain"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const universe = "global"

type bundle struct {
	*storetest.DB
	*explainer.Reader

	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, DB: storetest.New(t, func(c *db.Config) { c.Log = slog.New(slog.DiscardHandler) })}
	b.Reader = explainer.New(explainer.Options{Store: b.Store, Universe: universe})
	return b
}

func (b *bundle) explained(id string) explain.Ticket {
	b.t.Helper()
	return must.Get(b.Reader.Ticket(b.t.Context(), id))(b.t)
}

// Pins an explanation that does not see what the database says of the ticket, the others, the profile or the hosts.
func TestATicketThatWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	b.AddProfile("old", storetest.Duel)
	_, err := b.RetireProfile(t.Context(), db.ProfileEdit{Universe: universe, Name: "old", Author: "test"})
	require.NoError(t, err)
	me := b.QueuePlayer("ada", 1000, "duel", "missing", "old")
	b.QueuePlayer("bo", 1231, "duel")
	b.QueuePlayer("cy", 3000, "duel")
	b.QueuePlayer("dee", 1000, "other")

	found := b.explained(me)
	require.Equal(t, [3]any{"queued", []string{"ada"}, 3}, [3]any{found.State, found.Party, found.Read})
	p := found.Profiles[0]
	require.Equal(t, []string{"duel", "missing", "old"},
		[]string{p.Name, found.Profiles[1].Name, found.Profiles[2].Name})
	require.True(t, p.Candidate)
	require.Equal(t, 2, p.Others)
	require.Equal(t, 0, *p.Funnel[0].Left)
	require.Equal(t, 231.0, *p.WouldMatch[0].Within)
	require.Equal(t, "complete", p.Search)
	require.Equal(t, "no game region has a host of mode duel", p.NoHost)
	require.Equal(t, explain.Unknown, found.Profiles[1].Why[0].Reason)
	require.Equal(t, explain.Retired, found.Profiles[2].Why[0].Reason)

	b.AddServer("eu-1", 10)
	b.QueuePlayer("eve", 1050, "duel")
	p = b.explained(me).Profiles[0]
	require.Len(t, p.Match, 2)
	require.Equal(t, []explain.Region{{Region: "eu", Room: 10}}, p.Regions)

	b.Exec("UPDATE tickets SET paused_at = now() WHERE id = $1", me)
	found = b.explained(me)
	require.Equal(t, "paused", found.State)
	require.Equal(t, explain.InState, found.Profiles[0].Why[0].Reason)
}

// Pins a bound that is not said, and tickets of another region that count.
func TestTheBoundOfAnExplanation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	me := b.QueuePlayer("ada", 1000, "duel")
	for i := range 5 {
		b.QueuePlayer(fmt.Sprint("p", i), 5000, "duel")
	}
	b.Options.MaxCandidates = 3
	found := b.explained(me)
	require.True(t, found.Partial)
	require.Equal(t, 3, found.Read)
	require.Contains(t, found.Text(), "only 3 other tickets were read; there are more")
}

// Pins a ticket without profiles that is explained in none, or in those that do not hold it first.
func TestATicketThatNamesNoProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("a-tagged", "pool: {tags: [x]}\n"+storetest.Duel)
	b.AddProfile("b-open", "pool: {}\n"+storetest.Duel)
	b.AddProfile("c-named", storetest.Duel)
	found := b.explained(b.QueuePlayer("ada", 1000))
	require.Len(t, found.Profiles, 2)
	require.Equal(t, [2]any{"b-open", true}, [2]any{found.Profiles[0].Name, found.Profiles[0].Candidate})
	require.Equal(t, "tag x", found.Profiles[1].Why[0].Filter)
}

// Pins a player with a seat whose ticket looks as if it could be matched.
func TestAResolvedSeatIsAReason(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	b.AddServer("eu-1", 10)
	placed, err := b.Place(t.Context(), db.PlaceRequest{Caller: "ada", Party: []string{"ada"}, Region: "eu",
		Mode: "duel", MaxPlayers: 2})
	require.NoError(t, err)
	me := b.QueuePlayer("ada", 1000, "duel")
	require.True(t, b.explained(me).Profiles[0].Candidate, "an unused seat is given up")
	b.Exec("UPDATE seats SET resolved_at = now()")
	w := b.explained(me).Profiles[0].Why
	require.Len(t, w, 1)
	require.Equal(t, [2]string{explain.Seated, "ada"}, [2]string{w[0].Reason, w[0].Player})
	require.Contains(t, w[0].Text, placed.SessionID)
}

// The whole way: two tickets are matched, and the match and both tickets are explained afterwards.
func TestAMatchThatWasMade(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	b.AddServer("eu-1", 10)
	one, two := b.QueuePlayer("ada", 1000, "duel"), b.QueuePlayer("bo", 1090, "duel")
	b.work()
	var id uuid.UUID
	require.Eventually(t, func() bool {
		return b.Pool().QueryRow(t.Context(),
			"SELECT match_id FROM ticket_history GROUP BY 1 HAVING count(*) = 2").Scan(&id) == nil
	}, 20*time.Second, 20*time.Millisecond)

	m, err := b.Reader.Match(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, [5]any{"playing", "duel", 1, "eu", "eu-1"},
		[5]any{m.State, m.Profile, m.Version, m.Region, m.Host})
	require.NotEmpty(t, m.Seed)
	require.Contains(t, []string{one, two}, m.Anchor)
	require.Equal(t, []explain.MatchRule{{Rule: "near-skill", Value: 90, Limit: 100}}, m.Rules)
	require.Len(t, m.Teams, 2)
	require.Len(t, m.Tickets, 2)
	for _, ticket := range m.Tickets {
		require.Equal(t, "assigned", ticket.Outcome)
		require.NotNil(t, ticket.WaitedMS)
	}
	require.NotNil(t, m.CommittedAt)
	require.Contains(t, m.Text(), "rule near-skill: 90, limit 100")

	found := b.explained(one)
	require.Equal(t, [3]any{"assigned", id.String(), []string{"ada"}}, [3]any{found.State, found.MatchID, found.Party})
	b.Exec("DELETE FROM ticket_events")
	b.Exec("DELETE FROM settled_tickets")
	require.Equal(t, "assigned", b.explained(one).State, "the history knows it for longer")

	b.Exec("SELECT close_sessions('eu', ARRAY(SELECT id FROM sessions), 'test')")
	m, err = b.Reader.Match(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, [2]string{"ended", "eu-1"}, [2]string{m.State, m.Host})
}

// work runs a worker until the test ends.
func (b *bundle) work() {
	b.t.Helper()
	l := must.Get(loop.New(loop.Options{Store: b.Store, Universe: universe, Log: slog.New(slog.DiscardHandler)}))(b.t)
	background.Loop(b.t, l.Run)
}

// Pins a match whose players are asked, or which plays without history, that is said not to exist.
func TestAMatchWithoutHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel+"accept: {within: 20s}\n")
	b.AddServer("eu-1", 10)
	b.QueuePlayer("ada", 1000, "duel")
	me := b.QueuePlayer("bo", 1090, "duel")
	b.work()
	var id uuid.UUID
	require.Eventually(t, func() bool {
		return b.Pool().QueryRow(t.Context(),
			"SELECT id FROM matches").Scan(&id) == nil
	}, 20*time.Second, 20*time.Millisecond)
	m, err := b.Reader.Match(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "proposed", m.State)
	require.NotNil(t, m.Deadline)
	require.NotEmpty(t, m.Rules)
	require.Equal(t, "accepting", m.Tickets[0].Outcome)
	found := b.explained(me)
	require.Equal(t, [2]string{"accepting", id.String()}, [2]string{found.State, found.MatchID})
}

// Pins a stranger's id that is an internal error, and an answer that does not say for how long things are remembered.
func TestWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone := b.QueuePlayer("ada", 1000)
	for _, table := range []string{"tickets", "ticket_events", "ticket_players"} {
		b.Exec("DELETE FROM " + table)
	}
	for _, id := range []string{"nonsense", gone} {
		_, err := b.Reader.Ticket(t.Context(), id)
		require.True(t, fault.Is(err, fault.NotFound))
		require.ErrorContains(t, err, "DIRECTOR_MATCH_HISTORY")
	}
	_, err := b.Reader.Match(t.Context(), uuid.New())
	require.True(t, fault.Is(err, fault.NotFound))
	require.ErrorContains(t, err, "DIRECTOR_MATCH_HISTORY")
}

// Pins explanations that take all cores of a replica: the second waits, and gives up with its caller.
func TestOneExplanationAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	me := b.QueuePlayer("ada", 1000, "duel")
	entered, leave := make(chan struct{}), make(chan struct{})
	blocked := explainer.New(explainer.Options{Store: slowStore{b.Store, entered, leave}, Universe: universe})
	done := make(chan error, 1)
	go func() { _, err := blocked.Ticket(context.WithoutCancel(t.Context()), me); done <- err }()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := blocked.Ticket(ctx, me)
	require.True(t, fault.Is(err, fault.TooMany))
	close(leave)
	require.NoError(t, <-done)
}

// slowStore waits before it reads the queue.
type slowStore struct {
	*db.Store

	entered, leave chan struct{}
}

func (s slowStore) ReadCandidates(ctx context.Context, universe, after string) ([]db.Candidate, bool, error) {
	s.entered <- struct{}{}
	<-s.leave
	return s.Store.ReadCandidates(ctx, universe, after)
}
