package openmatch

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lattice-director/director/api/openmatch/pb"
)

const (
	// assigners is the number of concurrent AssignTickets calls of a director.
	assigners = 2
	// mostGroups is the most matches that one of them assigns.
	mostGroups = 512
)

// assigner assigns matches while others still arrive: each of its calls takes the matches that arrived during the
// previous one.
type assigner struct {
	conn    *connection
	matches chan *pb.Match
	workers sync.WaitGroup

	assigned atomic.Int64 // tickets
	mu       sync.Mutex
	err      error // first error
}

// newAssigner starts an assigner, which runs until finish. All its calls end with ctx.
func newAssigner(ctx context.Context, conn *connection) *assigner {
	a := &assigner{conn: conn, matches: make(chan *pb.Match, mostGroups)}
	for range assigners {
		a.workers.Go(func() {
			for first := range a.matches {
				a.note(a.assign(ctx, a.gather(first)))
			}
		})
	}
	return a
}

func (a *assigner) add(m *pb.Match) { a.matches <- m }

// gather takes the matches that have arrived, without waiting.
func (a *assigner) gather(m *pb.Match) (groups []*pb.AssignmentGroup) {
	for {
		groups = append(groups, groupOf(m))
		if len(groups) == mostGroups {
			return groups
		}
		select {
		case next, ok := <-a.matches:
			if !ok {
				return groups
			}
			m = next
		default:
			return groups
		}
	}
}

// groupOf assigns the players of a match to an address of their own.
func groupOf(m *pb.Match) *pb.AssignmentGroup {
	group := &pb.AssignmentGroup{Assignment: &pb.Assignment{Connection: fmt.Sprintf("%s.invalid:7777", m.GetMatchId())}}
	for _, t := range m.GetTickets() {
		group.TicketIds = append(group.TicketIds, t.GetId())
	}
	return group
}

func (a *assigner) assign(ctx context.Context, groups []*pb.AssignmentGroup) error {
	answer, err := a.conn.backend.AssignTickets(ctx, &pb.AssignTicketsRequest{Assignments: groups})
	if err != nil {
		return err
	}
	if n := len(answer.GetFailures()); n > 0 {
		return wrong("not assigned", "%d tickets of a match were not there", n)
	}
	for _, g := range groups {
		a.assigned.Add(int64(len(g.GetTicketIds())))
	}
	return nil
}

func (a *assigner) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// finish assigns the remaining matches and returns the first error. No match may be added afterwards.
func (a *assigner) finish() error {
	close(a.matches)
	a.workers.Wait()
	return a.err
}
