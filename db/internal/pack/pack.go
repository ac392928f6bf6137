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

// Party is a request as [SeatParties] sees it.
type Party struct {
	Shape    Shape
	Size     int
	PlayedIn []uuid.UUID // sessions that a member is connected to, in which the party gets no seats
	FillOnly bool        // no session is opened for the party
}

// Session is an open session, or one that is to be opened.
type Session struct {
	Shape       Shape
	ID          uuid.UUID
	PlayerCount int
	HostIndex   int // index of the host on which the session is to be opened, or AlreadyOpen
}

// AlreadyOpen is the HostIndex of a session that was open before.
const AlreadyOpen = -1

// Host is an instance that sessions may be opened on.
type Host struct {
	ID            string
	Modes         []string
	Capacity      int
	ReservedSeats int
	FreeSlots     int     // how many more sessions may be opened on it
	Load          float64 // as the instance reports it: any measure that grows with the load
}

// SeatParties seats parties in their order, so that the oldest request is served first: each in the fullest session
// that it fits in, else in a new session on the least loaded host with max_players free seats. It returns for each
// party the index of its session, or -1, and the sessions with their players counted, the new ones behind the given
// ones. It changes no argument.
func SeatParties(parties []Party, sessions []Session, hosts []Host) (seated []int, _ []Session) {
	sessions, hosts = slices.Clone(sessions), slices.Clone(hosts)
	byShape := map[Shape][]int{}
	for i, r := range sessions {
		byShape[r.Shape] = append(byShape[r.Shape], i)
	}
	seated = make([]int, len(parties))
	for i, p := range parties {
		session := fullestFitting(p, sessions, byShape[p.Shape])
		if session < 0 && !p.FillOnly {
			if h := LeastLoaded(p.Shape, hosts); h >= 0 {
				sessions = append(sessions, Session{Shape: p.Shape, ID: value.NewID(), HostIndex: h})
				hosts[h].ReservedSeats += p.Shape.MaxPlayers
				hosts[h].FreeSlots--
				session = len(sessions) - 1
				byShape[p.Shape] = append(byShape[p.Shape], session)
			}
		}
		if session >= 0 {
			sessions[session].PlayerCount += p.Size
		}
		seated[i] = session
	}
	return seated, sessions
}

// fullestFitting returns the index of the fullest session in which the party fits, or -1. indexes are those of the
// sessions of the party's shape.
func fullestFitting(p Party, sessions []Session, indexes []int) int {
	best := -1
	for _, i := range indexes {
		s := sessions[i]
		fits := s.PlayerCount+p.Size <= s.Shape.MaxPlayers && !slices.Contains(p.PlayedIn, s.ID)
		if fits && (best < 0 || s.PlayerCount > sessions[best].PlayerCount) {
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

// isLighter orders hosts as LockHosts does: by the worse of reported load and reserved share, then by share, then by
// id.
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

// share returns which part of the host's seats is reserved.
func (h Host) share() float64 { return float64(h.ReservedSeats) / float64(h.Capacity) }
