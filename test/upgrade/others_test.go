package upgrade

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/test/rigtest"
)

// startFrontends starts callers that queue tickets through Open Match's API, which the director's loop matches by the
// profile "open". They retry what docs/openmatch.md says.
func (l *load) startFrontends(addrs ...string) {
	conns := rigtest.DialAll(l.T, addrs...)
	for n := range 2 {
		l.addCaller(fmt.Sprint("frontend-", n),
			func(ctx context.Context, sub string) error { return l.frontendOnce(ctx, conns, sub) })
	}
}

// frontendOnce queues a ticket, and waits until it is assigned or the load ends.
func (l *load) frontendOnce(ctx context.Context, conns *rigtest.Conns, sub string) error {
	ticket := &pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{"red"},
		StringArgs: map[string]string{"player": sub}}}
	err := l.askFrontend(ctx, conns, &ticket, func(ctx context.Context, c pb.FrontendServiceClient) (*pb.Ticket, error) {
		return c.CreateTicket(ctx, &pb.CreateTicketRequest{Ticket: ticket})
	})
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	for ticket.GetAssignment().GetConnection() == "" && !l.hasEnded() {
		rigtest.PauseFor(ctx, pollEvery)
		err := l.askFrontend(ctx, conns, &ticket, func(ctx context.Context, c pb.FrontendServiceClient) (*pb.Ticket, error) {
			return c.GetTicket(ctx, &pb.GetTicketRequest{TicketId: ticket.GetId()})
		})
		if err != nil {
			return fmt.Errorf("ticket %s: %w", ticket.GetId(), err)
		}
	}
	return nil
}

// askFrontend makes a call of a frontend until it is answered.
func (l *load) askFrontend(ctx context.Context, conns *rigtest.Conns, into **pb.Ticket,
	call func(context.Context, pb.FrontendServiceClient) (*pb.Ticket, error)) error {
	return conns.RetryCall(ctx, func(ctx context.Context, conn *grpc.ClientConn) error {
		answer, err := call(ctx, pb.NewFrontendServiceClient(conn))
		switch code := status.Code(err); code {
		case codes.OK:
			*into = answer
			l.judge.count("")
		case codes.Unavailable, codes.DeadlineExceeded:
			l.judge.count(code.String())
		default:
			l.judge.failf("Open Match: %v", err)
		}
		return err
	})
}

// rivalis is Rivalis game servers behind one address, and callers that create rooms there.
type rivalis struct {
	*load

	address *rigtest.Balancer
	agents  []*agents.Agent
}

// startRivalis starts two game servers, which connect to replicas at addresses, and a caller that creates rooms.
func (l *load) startRivalis(addrs ...string) *rivalis {
	r := &rivalis{load: l, address: rigtest.NewBalancer(l.T)}
	for _, addr := range addrs {
		r.address.AddAddr(addr)
	}
	for n := range 2 {
		agent := rigtest.NewAgent(r.address.ListenAddr(), fmt.Sprint("agent-", n))
		r.agents = append(r.agents, agent)
		background.RunUntilCanceled(l.T, agent.Run) // a frame that the protocol does not allow ends it
	}
	l.addCaller("rooms", r.roomOnce)
	return r
}

// roomOnce creates a room as docs/rivalis.md says, and closes it.
func (r *rivalis) roomOnce(ctx context.Context, id string) error {
	for ctx.Err() == nil {
		code, cause := r.CreateRoom(ctx, r.address.ListenAddr(), id)
		switch {
		case code == http.StatusCreated || code == http.StatusOK:
			return r.closeRoom(id)
		case code == 0, code >= http.StatusBadGateway, cause == "ROOM_NOT_FOUND",
			cause == "NO_CANDIDATE": // the agents of a replica that stops are reconnecting
			r.judge.count(fmt.Sprintf("room %d %s", code, cause))
		default:
			return fmt.Errorf("POST /v1/rooms answered %d %s", code, cause)
		}
		rigtest.PauseFor(ctx, pollEvery)
	}
	return errors.New("no room in time")
}

// closeRoom closes a room in the process that runs it, which has to be one.
func (r *rivalis) closeRoom(id string) error {
	closed := 0
	for _, agent := range r.agents {
		if agent.CloseRoom(id) {
			closed++
		}
	}
	if closed != 1 {
		return fmt.Errorf("room %s ran in %d processes", id, closed)
	}
	return nil
}
