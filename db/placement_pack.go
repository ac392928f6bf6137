package db

import (
	"math"
	"slices"

	"github.com/google/uuid"
)

// shape is what must agree before players can share a session.
type shape struct {
	mode       string
	maxPlayers int
}

// party is one request as the packing sees it.
type party struct {
	shape
	size     int
	playedIn []uuid.UUID // sessions a member is connected to already: not for this party
	fillOnly bool        // no room is opened for it
}

// room is an open session, or one that is about to be opened.
type room struct {
	shape
	id      uuid.UUID
	players int
	host    int // index of the host it is to be opened on, or alreadyOpen
}

const alreadyOpen = -1

// host is an instance that sessions may be opened on.
type host struct {
	id        string
	modes     []string
	capacity  int
	reserved  int
	freeSlots int // sessions it may still open
	load      float64
}

// pack seats parties, in the order given, so that the oldest is served first: each in the fullest room it fits, else
// in a new one on the least loaded host that has max_players free. It answers, for each party, the index of its room
// or -1, and the rooms, players counted, with the new ones behind those given. It is pure; the arguments are not kept.
func pack(parties []party, rooms []room, hosts []host) (seated []int, _ []room) {
	rooms, hosts = slices.Clone(rooms), slices.Clone(hosts)
	byShape := map[shape][]int{}
	for i, r := range rooms {
		byShape[r.shape] = append(byShape[r.shape], i)
	}
	seated = make([]int, len(parties))
	for i, p := range parties {
		at := fullestFitting(p, rooms, byShape[p.shape])
		if at < 0 && !p.fillOnly {
			if h := leastLoaded(p.shape, hosts); h >= 0 {
				rooms = append(rooms, room{shape: p.shape, id: newID(), host: h})
				hosts[h].reserved += p.maxPlayers
				hosts[h].freeSlots--
				at = len(rooms) - 1
				byShape[p.shape] = append(byShape[p.shape], at)
			}
		}
		if at >= 0 {
			rooms[at].players += p.size
		}
		seated[i] = at
	}
	return seated, rooms
}

func fullestFitting(p party, rooms []room, among []int) int {
	best := -1
	for _, i := range among {
		r := rooms[i]
		fits := r.players+p.size <= r.maxPlayers && (best < 0 || r.players > rooms[best].players)
		if fits && !slices.Contains(p.playedIn, r.id) {
			best = i
		}
	}
	return best
}

func leastLoaded(s shape, hosts []host) int {
	best := -1
	for i, h := range hosts {
		if h.capacity-h.reserved < s.maxPlayers || h.freeSlots < 1 || !slices.Contains(h.modes, s.mode) {
			continue
		}
		if best < 0 || lighter(h, hosts[best]) {
			best = i
		}
	}
	return best
}

// lighter orders hosts as LockHosts does: by the worse of reported load and reserved share, then by share, then by id.
func lighter(a, b host) bool {
	shareA, shareB := a.share(), b.share()
	scoreA, scoreB := math.Max(a.load, shareA), math.Max(b.load, shareB)
	switch {
	case scoreA != scoreB:
		return scoreA < scoreB
	case shareA != shareB:
		return shareA < shareB
	}
	return a.id < b.id
}

func (h host) share() float64 { return float64(h.reserved) / float64(h.capacity) }
