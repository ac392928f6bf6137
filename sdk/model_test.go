package sdk

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// modelDirector keeps the seats of one session as the contract says: joined before left before ended, a jti good once.
type modelDirector struct {
	seats    map[string]bool // by player: connected
	redeemed map[string]bool // by jti
	closed   bool
}

func (d *modelDirector) apply(batch []*entry) (answer seatsAnswer) {
	var leaves []seatResult
	for _, e := range batch {
		switch e.kind {
		case joined:
			answer.Results = append(answer.Results, seatResult{e.seat.Sub, d.join(e.seat)})
		case left:
			leaves = append(leaves, seatResult{e.seat.Sub, "ok"})
			delete(d.seats, e.seat.Sub)
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
	connected, known := d.seats[seat.Sub]
	switch {
	case d.redeemed[seat.TokenID] && !connected:
		return "replay"
	case !known:
		return "unknown"
	}
	d.seats[seat.Sub], d.redeemed[seat.TokenID] = true, true
	return "ok"
}

// model is one session between a game, the room and the director, with a network that loses requests and answers.
type model struct {
	room     *room
	director *modelDirector
	doors    []*entry     // joins whose player still waits
	inside   []*Admission // who the game thinks plays, until they leave or are done
	serial   int
}

func (m *model) arrive(sub string) {
	if m.director.closed {
		return
	}
	if _, seated := m.director.seats[sub]; !seated {
		m.director.seats[sub] = false // Nobody comes without a seat; somebody who left gets another by matchmaking.
	}
	m.serial++
	seat := &Admission{Sub: sub, TokenID: fmt.Sprint(m.serial)}
	seat.ctx, seat.end = context.WithCancelCause(context.Background())
	e := &entry{kind: joined, seat: seat, verdict: make(chan error, 1)}
	m.room.queue = append(m.room.queue, e)
	m.doors = append(m.doors, e)
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

// Whatever order players come, give up, come again and leave in, and whatever the network loses: when all is told, the
// director has exactly those connected who play here, each of them once.
func TestDirectorAndGameServerAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &model{room: newRoom(context.Background(), "eu.1"), director: &modelDirector{map[string]bool{}, map[string]bool{}, false}}
		fates := rapid.SampledFrom([]string{"delivered", "request lost", "answer lost"})
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) { m.arrive(rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "sub")) },
			"give up": func(t *rapid.T) {
				if len(m.doors) > 0 {
					i := rapid.IntRange(0, len(m.doors)-1).Draw(t, "who")
					m.doors[i].abandoned = true
					m.doors = slices.Delete(m.doors, i, i+1)
				}
			},
			"leave": func(t *rapid.T) {
				if len(m.inside) > 0 {
					m.leave(rapid.IntRange(0, len(m.inside)-1).Draw(t, "who"))
				}
			},
			"report": func(t *rapid.T) { m.report(fates.Draw(t, "fate")) },
			"end": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					m.room.queue = append(m.room.queue, &entry{kind: ended})
				}
			},
		})
		for len(m.room.queue) > 0 {
			m.report("delivered")
		}
		require.Equal(t, m.playing(), m.director.connected())
	})
}

func (m *model) playing() (subs []string) {
	for _, seat := range m.inside {
		if seat.ctx.Err() == nil {
			subs = append(subs, seat.Sub)
		}
	}
	slices.Sort(subs)
	return subs
}

func (d *modelDirector) connected() (subs []string) {
	for sub, connected := range d.seats {
		if connected {
			subs = append(subs, sub)
		}
	}
	slices.Sort(subs)
	return subs
}

// A player who left during an outage and is back before the director heard of it keeps the seat.
func TestBackBeforeTheLeaveWasHeard(t *testing.T) {
	t.Parallel()
	m := &model{room: newRoom(context.Background(), "eu.1"), director: &modelDirector{map[string]bool{}, map[string]bool{}, false}}
	m.arrive("alice")
	m.report("delivered")
	m.leave(0)
	m.report("request lost")
	m.arrive("alice")
	m.report("delivered")
	require.Equal(t, []string{"alice"}, m.playing())
	require.Equal(t, []string{"alice"}, m.director.connected())
	m.report("delivered")
	require.Equal(t, []string{"alice"}, m.director.connected())
	require.Empty(t, m.room.queue)
}
