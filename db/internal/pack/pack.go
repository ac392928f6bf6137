// Package pack seats parties in sessions and on hosts: a pure function that placement and the plans of pools share, so
// that a pool starts servers for exactly those whom placement would seat on them.
package pack

import (
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/value"
)

// Shape is what must be equal for players to share a session.
type Shape struct {
	Mode       string
	MaxPlayers int
}

// Party is a request as Seat sees it.
type Party struct {
	Shape    Shape
	Size     int
	PlayedIn []uuid.UUID // sessions that a member is connected to: not for this party
	FillOnly bool        // no session is opened for it
}

// Session is an open session, or one that is to be opened.
type Session struct {
	Shape       Shape
	ID          uuid.UUID
	PlayerCount int
	HostIndex   int // index of the host it is to be opened on, or AlreadyOpen
}

// AlreadyOpen is the host of a session that was open before.
const AlreadyOpen = -1

// Host is an instance that sessions may be opened on.
type Host struct {
	ID            string
	Modes         []string
	Capacity      int
	ReservedSeats int
	FreeSlots     int // sessions it may still open
	Load          float64
}

// SeatParties seats parties in their order, so that the oldest request is served first: each in the fullest session that it
// fits in, else in a new session on the least loaded host with max_players free seats. It returns for each party the
// index of its session, or -1, and the sessions with their players counted, the new ones behind the given ones. It is
// pure and changes no argument.
func SeatParties(parties []Party, sessions []Session, hosts []Host) (seated []int, _ []Session) {
	sessions, hosts = slices.Clone(sessions), slices.Clone(hosts)
	byShape := map[Shape][]int{}
	for i, r := range sessions {
		byShape[r.Shape] = append(byShape[r.Shape], i)
	}
	seated = make([]int, len(parties))
	for i, p := range parties {
		at := fullestFitting(p, sessions, byShape[p.Shape])
		if at < 0 && !p.FillOnly {
			if h := LeastLoaded(p.Shape, hosts); h >= 0 {
				sessions = append(sessions, Session{Shape: p.Shape, ID: value.NewID(), HostIndex: h})
				hosts[h].ReservedSeats += p.Shape.MaxPlayers
				hosts[h].FreeSlots--
				at = len(sessions) - 1
				byShape[p.Shape] = append(byShape[p.Shape], at)
			}
		}
		if at >= 0 {
			sessions[at].PlayerCount += p.Size
		}
		seated[i] = at
	}
	return seated, sessions
}

func fullestFitting(p Party, sessions []Session, among []int) int {
	best := -1
	for _, i := range among {
		r := sessions[i]
		fits := r.PlayerCount+p.Size <= r.Shape.MaxPlayers && (best < 0 || r.PlayerCount > sessions[best].PlayerCount)
		if fits && !slices.Contains(p.PlayedIn, r.ID) {
			best = i
		}
	}
	return best
}

// LeastLoaded returns the index of the host on which a session is opened, or -1.
func LeastLoaded(s Shape, hosts []Host) int {
	best := -1
	for i, h := range hosts {
		if h.Capacity-h.ReservedSeats < s.MaxPlayers || h.FreeSlots < 1 || !slices.Contains(h.Modes, s.Mode) {
			continue
		}
		if best < 0 || isLighter(h, hosts[best]) {
			best = i
		}
	}
	return best
}

// isLighter orders hosts as LockHosts does: by the worse of reported load and reserved share, then by share, then by id.
func isLighter(a, b Host) bool {
	shareA, shareB := a.share(), b.share()
	scoreA, scoreB := math.Max(a.Load, shareA), math.Max(b.Load, shareB)
	switch {
	case scoreA != scoreB:
		return scoreA < scoreB
	case shareA != shareB:
		return shareA < shareB
	}
	return a.ID < b.ID
}

func (h Host) share() float64 { return float64(h.ReservedSeats) / float64(h.Capacity) }
