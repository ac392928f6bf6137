package sdk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelDirector keeps the seats of one session as the contract says: joined before left before ended, a jti good for one
// connection, and a seat freed only by the connection that holds it.
type modelDirector struct {
	seats    map[string]string // by player: the connection that holds the seat, empty when none does yet
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
	case d.redeemed[seat.TokenID] && holder != seat.connection:
		return "replay"
	case !known:
		return "unknown"
	}
	d.seats[seat.Sub], d.redeemed[seat.TokenID] = seat.connection, true
	return "ok"
}

func (d *modelDirector) leave(seat *Admission) string {
	holder, known := d.seats[seat.Sub]
	if known && holder != seat.connection {
		return "not_holder"
	}
	delete(d.seats, seat.Sub)
	return "ok"
}

// model is one session between a game, the room and the director, with a network that loses requests and answers.
type model struct {
	room     *room
	director *modelDirector
	doors    []*entry     // joins whose player still waits
	gaveUp   []*Admission // whose token may be shown again
	inside   []*Admission // who the game thinks plays, until they leave or are done
	serial   int
}

func newModel() *model {
	return &model{room: newRoom(context.Background(), "eu.1"), director: &modelDirector{map[string]string{}, map[string]bool{}, false}}
}

func (m *model) arrive(sub string) {
	if m.director.closed {
		return
	}
	if _, seated := m.director.seats[sub]; !seated {
		m.director.seats[sub] = "" // Nobody comes without a seat; somebody who left gets another by matchmaking.
	}
	m.serial++
	m.show(sub, fmt.Sprint(m.serial), fmt.Sprint("connection-", m.serial))
}

// show brings a token to the door, on a connection.
func (m *model) show(sub, token, connection string) {
	seat := &Admission{Sub: sub, TokenID: token, connection: connection}
	seat.ctx, seat.end = context.WithCancelCause(context.Background())
	e := &entry{kind: joined, seat: seat, verdict: make(chan error, 1)}
	m.room.queue = append(m.room.queue, e)
	m.doors = append(m.doors, e)
}

// replay shows a token of somebody who plays on a connection of its own, as if its redemption were forgotten here.
func (m *model) replay(i int) {
	m.serial++
	m.show(m.inside[i].Sub, m.inside[i].TokenID, fmt.Sprint("stranger-", m.serial))
}

func (m *model) giveUp(i int) {
	m.doors[i].abandoned = true
	m.gaveUp = append(m.gaveUp, m.doors[i].seat)
	m.doors = slices.Delete(m.doors, i, i+1)
}

// again shows the token of a player who gave up, as the same connection to the director.
func (m *model) again(i int) {
	seat := m.gaveUp[i]
	m.gaveUp = slices.Delete(m.gaveUp, i, i+1)
	m.show(seat.Sub, seat.TokenID, seat.connection)
}

// collect lets those at the door hear their verdicts.
func (m *model) collect() {
	m.doors = slices.DeleteFunc(m.doors, func(e *entry) bool {
		select {
		case err := <-e.verdict:
			if err == nil {
				m.inside = append(m.inside, e.seat)
			}
			return true
		default:
			return false
		}
	})
}

func (m *model) leave(i int) {
	seat := m.inside[i]
	m.inside = slices.Delete(m.inside, i, i+1)
	m.room.queue = append(m.room.queue, &entry{kind: left, seat: seat})
}

// report sends one batch over a network that may fail in either direction.
func (m *model) report(fate string) {
	batch := m.room.nextBatch()
	if len(batch) == 0 {
		return
	}
	if fate == "request lost" {
		m.room.putBack(batch)
		return
	}
	answer := m.director.apply(batch)
	if fate == "answer lost" {
		m.room.putBack(batch)
		return
	}
	m.room.settle(batch, answer, nil)
	if answer.Closed {
		m.room.strand()
	}
	m.collect()
}

// Whatever order players come, give up, come again and leave in, whoever shows their tokens, and whatever the network loses:
// when all is reported, the director has exactly those connected who play here, each of them over the connection that plays.
func TestDirectorAndGameServerAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel()
		fates := rapid.SampledFrom([]string{"delivered", "request lost", "answer lost"})
		// some picks one of n, if there are any.
		some := func(n int, act func(i int)) func(*rapid.T) {
			return func(t *rapid.T) {
				if n > 0 {
					act(rapid.IntRange(0, n-1).Draw(t, "which"))
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive":  func(t *rapid.T) { m.arrive(rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "sub")) },
			"give up": func(t *rapid.T) { some(len(m.doors), m.giveUp)(t) },
			"again":   func(t *rapid.T) { some(len(m.gaveUp), m.again)(t) },
			"replay":  func(t *rapid.T) { some(len(m.inside), m.replay)(t) },
			"leave":   func(t *rapid.T) { some(len(m.inside), m.leave)(t) },
			"report":  func(t *rapid.T) { m.report(fates.Draw(t, "fate")) },
			"end": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					m.room.queue = append(m.room.queue, &entry{kind: ended})
				}
			},
			"": func(t *rapid.T) {
				for _, seat := range m.inside {
					require.NotContains(t, seat.connection, "stranger", "a replay plays")
				}
			},
		})
		for len(m.room.queue) > 0 {
			m.report("delivered")
		}
		require.Equal(t, m.playing(), m.director.connected())
	})
}

// playing lists who plays here as "player connection", connected who the director thinks does.
func (m *model) playing() (seats []string) {
	for _, seat := range m.inside {
		if seat.ctx.Err() == nil {
			seats = append(seats, seat.Sub+" "+seat.connection)
		}
	}
	slices.Sort(seats)
	return seats
}

func (d *modelDirector) connected() (seats []string) {
	for sub, connection := range d.seats {
		if connection != "" {
			seats = append(seats, sub+" "+connection)
		}
	}
	slices.Sort(seats)
	return seats
}

// A player who left during an outage and is back before the director heard of it keeps the seat.
func TestBackBeforeTheLeaveWasHeard(t *testing.T) {
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
	require.Empty(t, m.room.queue)
}
