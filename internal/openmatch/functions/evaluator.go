package functions

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/base/endpoint"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// newEvaluator makes the client of the evaluator at "grpc://host:port" or "http://host:port", or with TLS at grpcs or
// https, and keeps its connections in f. For "" it returns nil: the default evaluator.
func (f *functions) newEvaluator(target string) (cycle.Evaluator, error) {
	if target == "" {
		return nil, nil //nolint:nilnil // cycle.Options.Evaluator: nil is the default
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("the evaluator's address cannot be read: %w", err)
	}
	isGRPC := u.Scheme == "grpc" || u.Scheme == "grpcs"
	if !isGRPC && u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the evaluator's address begins with none of grpc://, grpcs://, http:// and https://")
	}
	if !endpoint.HasHost(u) || u.Port() == "" {
		return nil, errors.New("the evaluator's address needs a host and a port from 1 to 65535")
	}
	at := address{host: u.Hostname()}
	at.port, _ = strconv.Atoi(u.Port()) // HasHost has judged it
	d := dialer{tracing: f.tracing}
	if strings.HasSuffix(u.Scheme, "s") {
		d.tlsConfig = f.tlsConfig()
	}
	if isGRPC {
		f.evaluatorConnections = newConnections(d, f.restartWait)
		return &grpcEvaluator{connections: f.evaluatorConnections, address: at, guard: f.guard}, nil
	}
	f.evaluatorHTTP = newRESTClient(d)
	return &restEvaluator{client: f.evaluatorHTTP,
		targetURL: at.urlOf(u.Scheme, "/v1/evaluator/matches:evaluate").String(), log: f.log, guard: f.guard}, nil
}

// grpcEvaluator calls an evaluator over gRPC, once in each cycle.
type grpcEvaluator struct {
	connections *connections
	address     address
	guard       *panics.Guard
}

// Evaluate implements [cycle.Evaluator]. It sends proposals while it receives acceptances. If the evaluator restarts
// before it has accepted a match, it gets all proposals again.
func (e *grpcEvaluator) Evaluate(ctx context.Context, in <-chan cycle.Proposal, accept func(id string) error) error {
	proposals := &evaluatorInput{newProposals: in, guard: e.guard}
	return e.connections.callAddress(ctx, e.address,
		func(c *connection) (gotAnswer bool, err error) { return c.evaluateOnce(ctx, proposals, accept) })
}

// evaluateOnce calls the evaluator once. gotAnswer reports whether the evaluator has accepted a match.
func (c *connection) evaluateOnce(ctx context.Context, proposals *evaluatorInput,
	accept func(id string) error) (gotAnswer bool, err error) {
	var sending sync.WaitGroup
	defer sending.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := pb.NewEvaluatorClient(c.client).Evaluate(ctx)
	if err != nil {
		return false, err
	}
	sending.Go(func() { proposals.sendOrCancel(stream, cancel) })
	gotAnswer, err = receiveAll(stream.Recv,
		func(answer *pb.EvaluateResponse) error { return accept(answer.GetMatchId()) })
	// The stream reports only that its context was canceled; callers get the reason.
	if errors.Is(context.Cause(ctx), panics.ErrInternal) {
		return gotAnswer, panics.ErrInternal
	}
	return gotAnswer, err
}

// evaluatorInput holds the proposals of a cycle for an evaluator that may restart.
type evaluatorInput struct {
	newProposals  <-chan cycle.Proposal
	sentProposals []cycle.Proposal
	guard         *panics.Guard
}

// sendOrCancel calls sendAll, and cancels the stream's context if that panics.
func (x *evaluatorInput) sendOrCancel(stream pb.Evaluator_EvaluateClient, cancel context.CancelCauseFunc) {
	err := x.guard.Do("evaluator's input", func() error { x.sendAll(stream); return nil })
	if err != nil {
		cancel(err)
	}
}

// sendAll sends all proposals until there are no more or the stream has ended. The receiving side gets the stream's
// error.
func (x *evaluatorInput) sendAll(stream pb.Evaluator_EvaluateClient) {
	// An evaluator that was restarted has lost what it was sent.
	for _, p := range x.sentProposals {
		if stream.Send(asRequest(p)) != nil {
			return
		}
	}
	for {
		select {
		case <-stream.Context().Done():
			return
		case p, more := <-x.newProposals:
			if !more {
				_ = stream.CloseSend()
				return
			}
			x.sentProposals = append(x.sentProposals, p)
			if stream.Send(asRequest(p)) != nil {
				return
			}
		}
	}
}
