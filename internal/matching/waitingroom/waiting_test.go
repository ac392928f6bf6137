package waitingroom

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

var errAway = &fault.Error{Kind: fault.Unavailable, Code: "unavailable"}

func TestAPlayerGetsAFreeSeatAtOnce(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		s.change(func() { s.seats["duel"] = 1 })
		began := time.Now()
		p := join(t, r, "ann")[0]
		<-p.Changed()
		require.Equal(t, "s-ann", p.State().Seat.SessionID)
		require.Zero(t, time.Since(began), "no timer is involved")
		p.LeaveWithSeat()
		require.Zero(t, r.Waiting())
		require.Empty(t, s.now().givenUp)
		require.Zero(t, s.now().rows, "a player who does not wait is no demand")
	})
}

// However many players wait, a queue without capacity asks for one seat a turn.
func TestAQueueWithoutCapacityAsksForOneSeat(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		players := join(t, r, names(200)...)
		require.Len(t, s.now().demand, 200)
		require.True(t, players[199].State().Recorded)
		before := s.now().places
		require.LessOrEqual(t, before, 2)
		<-time.After(20 * time.Second)
		settled()
		require.LessOrEqual(t, s.now().places-before, 11)
		require.Len(t, s.now().demand, 200)
	})
}

func TestTheOldestGetTheSeats(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		all := names(100)
		players := join(t, r, all...)
		settled()
		s.add("duel", 63) // 1 + 2 + 4 + 8 + 16 + 32
		settled()
		require.Equal(t, all[:63], slices.Sorted(slices.Values(s.now().seated)))
		for i, p := range players {
			require.Equal(t, i < 63, p.State().Seat != nil, i)
		}
		require.Len(t, s.now().demand, 37)
		late := join(t, r, "late")[0]
		s.add("duel", 1)
		<-time.After(time.Second)
		settled()
		require.NotNil(t, players[63].State().Seat)
		require.Nil(t, late.State().Seat, "newcomers queue behind those who wait")
	})
}

// A lost notification costs two seconds at most.
func TestTheTickerAloneFindsSeats(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		p := join(t, r, "ann")[0]
		settled()
		s.change(func() { s.seats["duel"] = 1 })
		<-time.After(lookEvery)
		settled()
		require.NotNil(t, p.State().Seat)
	})
}

func TestAPlayerThatLeavesTakesItsDemandAlong(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		players := join(t, r, "ann", "bob")
		require.Len(t, s.now().demand, 2)
		require.NoError(t, players[0].Leave(t.Context()))
		require.NoError(t, players[0].Leave(t.Context()), "a second time changes nothing")
		settled()
		require.NotContains(t, s.now().demand, "ann")
		require.Contains(t, s.now().demand, "bob")
		require.Equal(t, 1, r.Waiting())
		s.add("duel", 2)
		settled()
		require.Equal(t, []string{"bob"}, s.now().seated)
	})
}

func TestAPlayerThatLeavesGivesItsSeatBack(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		s.change(func() { s.seats["duel"] = 1 })
		p := join(t, r, "ann")[0]
		settled()
		require.NoError(t, p.Leave(t.Context()))
		require.Equal(t, []string{"ann"}, s.now().givenUp)
	})
}

// A player leaves while its call of Place runs: nobody else knows of the seat that the call reserves.
func TestASeatThatComesTooLateIsGivenBack(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		s.begun, s.resume = make(chan struct{}), make(chan struct{})
		s.change(func() { s.seats["duel"] = 1 })
		p := join(t, r, "ann")[0]
		<-s.begun
		require.NoError(t, p.Leave(t.Context()))
		s.resume <- struct{}{}
		settled()
		require.Equal(t, []string{"ann"}, s.now().seated)
		require.Equal(t, []string{"ann"}, s.now().givenUp)
	})
}

func TestAnErrorThatCapacityCannotCureEndsTheWait(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		conflict := &fault.Error{Kind: fault.Conflict, Code: "party_conflict"}
		s.change(func() { s.err = conflict })
		p := join(t, r, "ann")[0]
		settled()
		require.ErrorIs(t, p.State().Err, conflict)
		require.Nil(t, p.State().Seat)
	})
}

func TestPlayersOutlastAnOutage(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		s.change(func() { s.err = errAway })
		p := join(t, r, "ann")[0]
		<-time.After(10 * time.Second)
		settled()
		require.ErrorIs(t, p.State().Trouble, errAway)
		require.False(t, p.State().Recorded)
		s.change(func() { s.err = nil })
		<-time.After(lookEvery)
		settled()
		require.NoError(t, p.State().Trouble)
		require.True(t, p.State().Recorded)
		s.add("duel", 1)
		settled()
		require.NotNil(t, p.State().Seat)
	})
}

func TestPlayersLearnTheOutlookOfTheirPool(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		p := join(t, r, "ann")[0]
		settled()
		<-p.Changed()
		s.change(func() { s.outlook = fault.Outlook{Region: "eu", Mode: "duel", Starting: 2} })
		<-time.After(renewEvery)
		<-p.Changed()
		require.Equal(t, 2, p.State().Outlook.Starting)
	})
}

func TestAFullRoomRefuses(t *testing.T) {
	t.Parallel()
	r := New(Options{Store: newServers(), Limit: 1})
	p := join(t, r, "ann")[0]
	_, err := r.Join(Request{Region: "eu", Mode: "duel", Sub: "bob", MaxPlayers: 2})
	require.True(t, fault.Is(err, fault.TooMany))
	require.NoError(t, p.Leave(t.Context()))
	join(t, r, "bob")
}

// Demand is renewed before it lapses, of a part of the players at a time.
func TestDemandIsRenewed(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		join(t, r, names(100)...)
		settled()
		before := s.now()
		require.Equal(t, 100, before.rows)
		<-time.After(renewEvery) // the first part is due
		s.change(func() { s.mostRows = 0 })
		for range 2 {
			<-time.After(renewEvery)
			settled()
			now := s.now()
			require.InDelta(t, 100, now.rows-before.rows, 7)
			require.LessOrEqual(t, now.mostRows, 6, "one call renews a part")
			before = now
		}
		for sub, at := range s.now().written {
			require.Less(t, time.Since(at), TTL/2, sub)
		}
	})
}

func TestAPanicEndsTheWaitOfItsPlayer(t *testing.T) {
	t.Parallel()
	setup(t, func(t *testing.T, s *servers, r *Room) {
		s.change(func() { s.seats = nil; s.err = errors.New("unused") })
		r.store = panicking{s}
		p := join(t, r, "ann")[0]
		settled()
		require.Error(t, p.State().Err)
		r.store = s
	})
}

// Pins demand that outlived a replica which stopped right after its players had left.
func TestAStoppedRoomLeavesNoDemand(t *testing.T) {
	t.Parallel()
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := newServers()
			r := New(Options{Store: s})
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { r.Run(ctx) })
			p := join(t, r, "ann")[0]
			require.Len(t, s.now().demand, 1)
			require.NoError(t, p.Leave(ctx))
			stop()
			running.Wait()
			require.Empty(t, s.demand)
		})
	}
}

// refusingEnds is a store that deletes no demand; a player leaves while it tries.
type refusingEnds struct {
	*servers
	leave func()
}

func (s refusingEnds) EndWaiting(context.Context, []db.Waiting) error {
	s.leave()
	return errAway
}

// Pins a bound that dropped the demand of players who had just left, and kept that which lapses soon.
func TestTheOldestEndedDemandIsDropped(t *testing.T) {
	t.Parallel()
	r := New(Options{Limit: 2})
	r.endedDemand = []db.Waiting{{Player: "ann"}, {Player: "bob"}}
	r.store = refusingEnds{leave: func() { r.endedDemand = append(r.endedDemand, db.Waiting{Player: "cat"}) }}
	require.ErrorIs(t, r.deleteEnded(t.Context()), errAway)
	require.Equal(t, []db.Waiting{{Player: "bob"}, {Player: "cat"}}, r.endedDemand)
}
