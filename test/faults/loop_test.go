package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/test/rigtest"
)

// Three replicas and three workers match parties by overlapping profiles, some after a ready check, while an Open Match
// director matches the same queue, players cancel, decline and are silent, and game servers, replicas and workers are
// killed and frozen and Postgres crashes. No ticket is in two matches, none is lost, each player of a match had one
// seat, and a cancelled ticket is in no match. With DIRECTOR_SOAK it is 20,000 tickets.
func TestTheLoopSurvivesAllFaults(t *testing.T) {
	t.Parallel()
	parties := longtest.Pick(250, 1000)
	if os.Getenv("DIRECTOR_SOAK") != "" {
		parties = 20_000
	}
	l := newLoopSoak(t)
	ctx, stop := context.WithCancel(t.Context())
	var faults, others sync.WaitGroup
	for n := range soakServers {
		others.Go(func() { l.runGameServer(ctx, n) })
	}
	others.Go(func() { l.runDirector(ctx, profiles()[1]) })
	others.Go(func() { l.checkInvariants(ctx) })
	others.Go(func() { l.queueOfFrontends(ctx) })
	faultsCtx, endFaults := context.WithCancel(ctx)
	faults.Go(func() { l.makeFaults(faultsCtx) })
	rigtest.Each(parties, 128, func(turn int) { l.players.playParty(t.Context(), turn) })
	endFaults()
	faults.Wait()
	stop()
	others.Wait()
	l.SQLPool.Reset()
	l.requireDecided()
	t.Logf("faults: %v", l.faults)
}

// loopSoak is the installation of all faults, with players whose tickets the director loop matches.
type loopSoak struct {
	*soak
	players *loopRig
}

func newLoopSoak(t *testing.T) *loopSoak {
	t.Helper()
	s := newSoak(t, 3, "DIRECTOR_OM_PLAYER_ARG=player", "DIRECTOR_OM_PENDING_FOR=20s", "DIRECTOR_TICKET_LEASE=30s")
	for name, document := range loopProfiles {
		s.ApplyProfile(fmt.Sprintf("name: %s\nmode: duel\nattributes: {skill: {type: number, default: 1500}}\n%s", name,
			document))
	}
	return &loopSoak{soak: s, players: &loopRig{omRig: s.omRig, tickets: map[string]*waiter{}}}
}

// queueOfFrontends queues tickets through Open Match's API, some with a player, which the loop may match as well.
func (l *loopSoak) queueOfFrontends(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		f := &pb.SearchFields{Tags: []string{"red"}, StringArgs: map[string]string{}}
		if n%2 == 0 {
			f.StringArgs["player"] = fmt.Sprintf("om-%d", n)
		}
		_, _ = l.create(ctx, f)
		pause(ctx, time.Duration(20+rand.IntN(60))*time.Millisecond)
	}
}

// inAMatch selects the tickets of $1 that the loop has matched.
const inAMatch = "SELECT x.ticket FROM unnest($1::text[]) AS x(ticket) WHERE EXISTS (SELECT FROM match_history m WHERE x.ticket = ANY (m.tickets))"

// requireDecided compares the answers that players got with the database.
func (l *loopSoak) requireDecided() {
	l.T.Helper()
	var assigned, cancelled, reported []string
	states := map[string]int{}
	for id, w := range l.players.tickets {
		state, _ := w.last["state"].(string)
		states[state]++
		reported = append(reported, id+" "+state)
		_, isSeated := w.last["session_handle"] // a ticket that an Open Match director assigned has none
		if state == "assigned" && isSeated {
			for _, sub := range w.party {
				assigned = append(assigned, id+" "+sub)
			}
		}
		if w.isCancelled {
			cancelled = append(cancelled, id)
		}
	}
	l.requireNone("states that players were told and that nobody recorded", `SELECT t.told FROM unnest($1::text[]) AS t(told)
		WHERE NOT EXISTS (SELECT FROM ticket_events e WHERE e.ticket_id || ' ' || e.state = t.told)`, reported)
	l.requireNone("tickets that ended twice", `SELECT ticket_id FROM ticket_events
		WHERE state IN ('assigned', 'declined', 'cancelled', 'expired') GROUP BY ticket_id HAVING count(*) > 1`)
	l.requireNone("tickets in two matches", "SELECT unnest(tickets) FROM match_history GROUP BY 1 HAVING count(*) > 1")
	l.requireNone("cancelled tickets in a match", inAMatch, cancelled)
	l.requireNone("players who were assigned and did not have one seat", `
		WITH held AS (SELECT match_id, sub, session_id FROM seats UNION SELECT match_id, sub, session_id FROM seat_history)
		SELECT a.ticket || ' ' || a.sub FROM (
			SELECT split_part(x, ' ', 1) AS ticket, split_part(x, ' ', 2) AS sub FROM unnest($1::text[]) AS x) a
		WHERE (SELECT count(*) FROM match_history m JOIN held h ON h.match_id = m.id AND h.sub = a.sub WHERE a.ticket = ANY (m.tickets)) <> 1`, assigned)
	l.requireNotMatchedByBoth()
	l.RequireInvariants()
	require.Zero(l.T, states["queued"]+states["paused"]+states["waiting_for_server"], "%v", states)
	require.Greater(l.T, states["assigned"], len(l.players.tickets)/2, "%v", states)
	require.NotEmpty(l.T, cancelled)
	l.T.Logf("%d tickets of our API (%v), %d players assigned, %d matches, %d of them of tickets of Open Match's frontends",
		len(l.players.tickets), states, len(assigned), one[int](l.rig, "SELECT count(*) FROM match_history"),
		one[int](l.rig, "SELECT count(*) FROM match_history WHERE profile = 'open'"))
}

// requireNotMatchedByBoth compares the matches of the Open Match director with those of the loop.
func (l *loopSoak) requireNotMatchedByBoth() {
	l.T.Helper()
	var settled []string
	for _, m := range l.matches {
		if m.settled {
			settled = append(settled, m.tickets...)
		}
	}
	l.requireNone("tickets matched by the loop and by an Open Match director", inAMatch, settled)
	require.NotEmpty(l.T, settled, "the Open Match director matched nothing")
}
