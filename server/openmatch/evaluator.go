package openmatch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/cycle"
	"github.com/lattice-director/director/internal/panics"
)

// evaluator gives whom proposals are shown to, where the operator says: "grpc://host:port", "http://host:port", or with
// grpcs or https what presents a certificate that is believed. For "" it is nil: the default evaluator.
func (f *functions) evaluator(target string) (cycle.Evaluator, error) {
	if target == "" {
		return nil, nil //nolint:nilnil // What cycle.Options mean by it, too.
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("the evaluator's address cannot be read: %w", err)
	}
	at := address{host: u.Hostname()}
	if at.port, err = strconv.Atoi(u.Port()); err != nil || at.host == "" {
		return nil, errors.New("the evaluator's address needs a host and a port")
	}
	d := dialer{tracing: f.tracing}
	if strings.HasSuffix(u.Scheme, "s") {
		d.tls = f.tls()
	}
	switch u.Scheme {
	case "http", "https":
		f.trustedHTTP = newRESTClient(d)
		return &restEvaluator{client: f.trustedHTTP, target: at.url(u.Scheme, "/v1/evaluator/matches:evaluate").String(), log: f.log, guard: f.guard}, nil
	case "grpc", "grpcs":
		f.trusted = newConnections(d, f.patience)
		return &grpcEvaluator{connections: f.trusted, at: at, guard: f.guard}, nil
	}
	return nil, errors.New("the evaluator's address begins with none of grpc://, grpcs://, http:// and https://")
}

// grpcEvaluator is an evaluator that is called over gRPC, once a cycle.
type grpcEvaluator struct {
	connections *connections
	at          address
	guard       *panics.Guard
}

// Evaluate implements [cycle.Evaluator]. Proposals go out while acceptances come in. An evaluator that goes away before it
// has accepted anything, and is back, is shown everything again.
func (e *grpcEvaluator) Evaluate(ctx context.Context, in <-chan cycle.Proposal, accept func(id string) error) error {
	proposals := &exhibition{in: in, guard: e.guard}
	return e.connections.call(ctx, e.at, func(c *connection) (some bool, err error) { return c.evaluate(ctx, proposals, accept) })
}

// evaluate tells whether some were accepted.
func (c *connection) evaluate(ctx context.Context, proposals *exhibition, accept func(id string) error) (some bool, err error) {
	var showing sync.WaitGroup
	defer showing.Wait()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := pb.NewEvaluatorClient(c).Evaluate(ctx)
	if err != nil {
		return false, err
	}
	showing.Go(func() { proposals.showOrCancel(stream, cancel) })
	some, err = receive(stream.Recv, func(answer *pb.EvaluateResponse) error { return accept(answer.GetMatchId()) })
	if errors.Is(context.Cause(ctx), panics.ErrInternal) {
		err = panics.ErrInternal
	}
	return some, err
}

// exhibition is what an evaluator is shown.
type exhibition struct {
	in    <-chan cycle.Proposal
	shown []cycle.Proposal
	guard *panics.Guard
}

// showOrCancel is show, and ends the stream's context where that panics.
func (x *exhibition) showOrCancel(stream pb.Evaluator_EvaluateClient, cancel context.CancelCauseFunc) {
	err := x.guard.Do("evaluator's input", func() error { x.show(stream); return nil })
	if err != nil {
		cancel(err)
	}
}

// show sends the proposals so far, and the others until there are no more or the stream is over. Why it is over, its
// receiver hears.
func (x *exhibition) show(stream pb.Evaluator_EvaluateClient) {
	for _, p := range x.shown {
		if stream.Send(asRequest(p)) != nil {
			return
		}
	}
	for {
		select {
		case <-stream.Context().Done():
			return
		case p, more := <-x.in:
			if !more {
				_ = stream.CloseSend()
				return
			}
			x.shown = append(x.shown, p)
			if stream.Send(asRequest(p)) != nil {
				return
			}
		}
	}
}
