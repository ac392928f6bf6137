package sdk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelDirector keeps the seats of one session by the contract: it applies joins, then leaves, then the end; a jti is
// valid for one connection; only the connection that holds a seat frees it.
type modelDirector struct {
	seats    map[string]string // by player: the connection that holds the seat, empty while it is reserved
	redeemed map[string]bool   // by jti
	closed   bool
}

func (d *modelDirector) apply(batch []*entry) (answer seatsAnswer) {
	var leaves []seatResult
	for _, e := range batch {
		switch e.kind {
		case joined:
			answer.Results = append(answer.Results, seatResult{e.seat.Sub, d.join(e.seat)})
		case left:
			leaves = append(leaves, seatResult{e.seat.Sub, d.leave(e.seat)})
		case ended:
			clear(d.seats)
			d.closed = true
		}
	}
	answer.Results = append(answer.Results, leaves...)
	answer.Closed = d.closed
	return answer
}

func (d *modelDirector) join(seat *Admission) string {
	holder, known := d.seats[seat.Sub]
	switch {
	case d.redeemed[seat.TokenID] && holder != seat.connectionName:
		return "replay"
	case !known:
		return "unknown"
	}
	d.seats[seat.Sub], d.redeemed[seat.TokenID] = seat.connectionName, true
	return "ok"
}

func (d *modelDirector) leave(seat *Admission) string {
	holder, known := d.seats[seat.Sub]
	if known && holder != seat.connectionName {
		return "not_holder"
	}
	delete(d.seats, seat.Sub)
	return "ok"
}

// model is one session as the game, the SDK and the director see it, with a network that loses requests and answers.
type model struct {
	session  *session
	director *modelDirector
	waiting  []*entry     // joins without a result
	gaveUp   []*Admission // of abandoned joins; their tokens may be presented again
	inside   []*Admission // the players of the game
	serial   int
}

func newModel() *model {
	return &model{session: newSession(context.Background(), "eu.1"),
		director: &modelDirector{map[string]string{}, map[string]bool{}, false}}
}

func (m *model) leave(i int) {
	m.session.queuedEntries = append(m.session.queuedEntries, &entry{kind: left, seat: m.inside[i]})
	m.inside = slices.Delete(m.inside, i, i+1)
}

func (m *model) arrive(sub string) {
	if m.director.closed {
		return
	}
	if _, seated := m.director.seats[sub]; !seated {
		m.director.seats[sub] = "" // Matchmaking reserves a seat before a player connects.
	}
	m.serial++
	m.show(sub, fmt.Sprint(m.serial), fmt.Sprint("connection-", m.serial))
}

// show presents a token on a connection.
func (m *model) show(sub, token, connection string) {
	seat := &Admission{Sub: sub, TokenID: token, connectionName: connection}
	seat.ctx, seat.end = context.WithCancelCause(context.Background())
	e := &entry{kind: joined, seat: seat, resultQueue: make(chan error, 1)}
	m.session.queuedEntries = append(m.session.queuedEntries, e)
	m.waiting = append(m.waiting, e)
}

// collect removes the joins that have a result, and adds the admitted players to inside.
func (m *model) collect() {
	m.waiting = slices.DeleteFunc(m.waiting, func(e *entry) bool {
		select {
		case err := <-e.resultQueue:
			if err == nil {
				m.inside = append(m.inside, e.seat)
			}
			return true
		default:
			return false
		}
	})
}

// report sends one batch over a network that may fail in either direction.
func (m *model) report(fate string) {
	batch := m.session.beginBatch()
	if len(batch) == 0 {
		return
	}
	var answer seatsAnswer
	if fate != "request lost" {
		answer = m.director.apply(batch)
	}
	if fate != "delivered" {
		m.session.putBack(batch)
		return
	}
	m.session.settleEntries(batch, answer, nil)
	if answer.Closed {
		m.session.endAdmissions()
	}
	m.collect()
}

// Players join, give up, try again and leave in any order, tokens are replayed, and the network loses requests and
// answers. Once everything is reported, the director's connected seats are exactly the game's players, each with its
// connection.
func TestDirectorAndGameServerAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		fates := rapid.SampledFrom([]string{"delivered", "request lost", "answer lost"})
		// some applies act to one of n elements, if there are any.
		some := func(t *rapid.T, n int, act func(i int)) {
			if n > 0 {
				act(rapid.IntRange(0, n-1).Draw(t, "which"))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				m.arrive(rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "sub"))
			},
			"give up": func(t *rapid.T) {
				some(t, len(m.waiting), func(i int) {
					m.waiting[i].isAbandoned = true
					m.gaveUp = append(m.gaveUp, m.waiting[i].seat)
					m.waiting = slices.Delete(m.waiting, i, i+1)
				})
			},
			"present the token of an abandoned join again": func(t *rapid.T) {
				some(t, len(m.gaveUp), func(i int) {
					seat := m.gaveUp[i]
					m.gaveUp = slices.Delete(m.gaveUp, i, i+1)
					m.show(seat.Sub, seat.TokenID, seat.connectionName)
				})
			},
			"replay a token on another connection": func(t *rapid.T) { // as if this process had forgotten that it was spent
				some(t, len(m.inside), func(i int) {
					m.serial++
					m.show(m.inside[i].Sub, m.inside[i].TokenID, fmt.Sprint("stranger-", m.serial))
				})
			},
			"leave":  func(t *rapid.T) { some(t, len(m.inside), m.leave) },
			"report": func(t *rapid.T) { m.report(fates.Draw(t, "fate")) },
			"end": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					m.session.queuedEntries = append(m.session.queuedEntries, &entry{kind: ended})
				}
			},
			"": func(t *rapid.T) {
				for _, seat := range m.inside {
					require.NotContains(t, seat.connectionName, "stranger", "a replay plays")
				}
			},
		})
		for len(m.session.queuedEntries) > 0 {
			m.report("delivered")
		}
		require.Equal(t, m.playing(), m.director.connected())
	})
}

// playing returns the game's players as "player connection".
func (m *model) playing() (seats []string) {
	for _, seat := range m.inside {
		if seat.ctx.Err() == nil {
			seats = append(seats, seat.Sub+" "+seat.connectionName)
		}
	}
	slices.Sort(seats)
	return seats
}

// connected returns the director's connected seats as "player connection".
func (d *modelDirector) connected() (seats []string) {
	for sub, connection := range d.seats {
		if connection != "" {
			seats = append(seats, sub+" "+connection)
		}
	}
	slices.Sort(seats)
	return seats
}

// A player who leaves during an outage and joins again before that is reported keeps the seat.
func TestRejoinBeforeTheLeaveIsReported(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.arrive("alice")
	m.report("delivered")
	m.leave(0)
	m.report("request lost")
	m.arrive("alice")
	m.report("delivered")
	require.Equal(t, []string{"alice connection-2"}, m.playing())
	require.Equal(t, []string{"alice connection-2"}, m.director.connected())
	m.report("delivered")
	require.Equal(t, []string{"alice connection-2"}, m.director.connected())
	require.Empty(t, m.session.queuedEntries)
}
