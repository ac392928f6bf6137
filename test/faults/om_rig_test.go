package faults

import (
	"context"
	"sync"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/test/rigtest"
)

// omRig is an installation with players, directors and a match function of Open Match, and the answers that each got.
type omRig struct {
	*rig
	grpcAddrs []string
	conns     *rigtest.Conns
	function  *pb.FunctionConfig

	mu      sync.Mutex
	created []string // ids of tickets
	// cancelAnswers are the answers to cancels, by ticket: cancelled, tooLate, or noAnswer where there was none.
	cancelAnswers map[string]string
	matches       map[string]*delivered // by the connection that the match's tickets get
}

func newOMRig(t *testing.T, replicas int) *omRig {
	t.Helper()
	l := &omRig{
		rig: newRig(t, "DIRECTOR_OM_REGISTRATION=100ms", "DIRECTOR_OM_COLLECTION=3s",
			"DIRECTOR_OM_PENDING_FOR="+matchedFor.String()),
		cancelAnswers: map[string]string{}, matches: map[string]*delivered{},
	}
	for range replicas {
		l.grpcAddrs = append(l.grpcAddrs, rigtest.FreeAddr(t))
	}
	l.conns = rigtest.DialAll(t, l.grpcAddrs...)
	l.function = functionstest.ServeMMF(t, functionstest.OfPool(l.conns.NextConn, pairOldest))
	return l
}

// startReplica starts the nth replica at its address.
func (l *omRig) startReplica(n int) *process {
	l.T.Helper()
	return l.ServeReplica("--work", "--grpc-addr", l.grpcAddrs[n])
}

// pairOldest makes matches of the oldest tickets of a pool, of at most 500 pairs.
func pairOldest(tickets []*pb.Ticket) []*pb.Match {
	return functionstest.Pairs(uuid.NewString)(tickets[:min(len(tickets), 1000)])
}

// assign assigns tickets to a connection by one call.
func assign(ctx context.Context, conn *grpc.ClientConn, where string, tickets ...string) error {
	_, err := pb.NewBackendServiceClient(conn).AssignTickets(ctx, &pb.AssignTicketsRequest{
		Assignments: []*pb.AssignmentGroup{{TicketIds: tickets, Assignment: &pb.Assignment{Connection: where}}},
	})
	return err
}
