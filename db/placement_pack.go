package db

import (
	"math"
	"slices"

	"github.com/google/uuid"
)

// shape is what must be equal for players to share a session.
type shape struct {
	mode       string
	maxPlayers int
}

// party is a request as pack sees it.
type party struct {
	shape
	size     int
	playedIn []uuid.UUID // sessions that a member is connected to: not for this party
	fillOnly bool        // no session is opened for it
}

// packedSession is an open session, or one that is to be opened.
type packedSession struct {
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

// pack seats parties in their order, so that the oldest request is served first: each in the fullest session that it fits in,
// else in a new session on the least loaded host with max_players free seats. It returns for each party the index of its
// session, or -1, and the sessions with their players counted, the new ones behind the given ones. It is pure and changes no
// argument.
func pack(parties []party, sessions []packedSession, hosts []host) (seated []int, _ []packedSession) {
	sessions, hosts = slices.Clone(sessions), slices.Clone(hosts)
	byShape := map[shape][]int{}
	for i, r := range sessions {
		byShape[r.shape] = append(byShape[r.shape], i)
	}
	seated = make([]int, len(parties))
	for i, p := range parties {
		at := fullestFitting(p, sessions, byShape[p.shape])
		if at < 0 && !p.fillOnly {
			if h := leastLoaded(p.shape, hosts); h >= 0 {
				sessions = append(sessions, packedSession{shape: p.shape, id: newID(), host: h})
				hosts[h].reserved += p.maxPlayers
				hosts[h].freeSlots--
				at = len(sessions) - 1
				byShape[p.shape] = append(byShape[p.shape], at)
			}
		}
		if at >= 0 {
			sessions[at].players += p.size
		}
		seated[i] = at
	}
	return seated, sessions
}

func fullestFitting(p party, sessions []packedSession, among []int) int {
	best := -1
	for _, i := range among {
		r := sessions[i]
		fits := r.players+p.size <= r.maxPlayers && (best < 0 || r.players > sessions[best].players)
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
