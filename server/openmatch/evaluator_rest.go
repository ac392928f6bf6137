package openmatch

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/cycle"
	"github.com/lattice-director/director/internal/panics"
)

// restEvaluator is an evaluator that is called over HTTP, once a cycle: requests stream out in the body of one POST while
// its answer streams in.
type restEvaluator struct {
	client *restClient
	target string
	log    *slog.Logger
	guard  *panics.Guard
}

// Evaluate implements [cycle.Evaluator].
func (e *restEvaluator) Evaluate(ctx context.Context, in <-chan cycle.Proposal, accept func(id string) error) error {
	var showing sync.WaitGroup
	defer showing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, proposals := io.Pipe()
	defer func() { _ = body.Close() }() // which a pipe does
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.target, body)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	request.Close = true // a body that streams cannot be sent again where an idle connection turns out to be cut
	showing.Go(func() {
		_ = proposals.CloseWithError(e.guard.Do("evaluator's input", func() error { return e.show(ctx, proposals, in) }))
	})
	_, err = e.client.results(request, func(result []byte) error {
		var answer pb.EvaluateResponse
		if err := fromUserCode.Unmarshal(result, &answer); err != nil {
			return status.Errorf(codes.Internal, "the evaluator's answer cannot be read: %v", err)
		}
		return accept(answer.GetMatchId())
	})
	return err
}

// show writes proposals until there are no more. One that JSON has no words for, because it holds an Any of a type that
// is not known here, is not shown, and so not accepted: it is one caller's fault, and the cycle is everybody's.
func (e *restEvaluator) show(ctx context.Context, to io.Writer, in <-chan cycle.Proposal) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p, more := <-in:
			if !more {
				return nil
			}
			text, err := inJSON(p)
			if err != nil {
				e.log.LogAttrs(ctx, slog.LevelWarn, "a proposal cannot be told to the evaluator in JSON", slog.String("match_id", p.ID), slog.Any("error", err))
				continue
			}
			if _, err := to.Write(append(text, '\n')); err != nil {
				return err
			}
		}
	}
}

func inJSON(p cycle.Proposal) ([]byte, error) {
	var m pb.Match
	if err := proto.Unmarshal(p.Match, &m); err != nil {
		return nil, err
	}
	return toUserCode.Marshal(&pb.EvaluateRequest{Match: &m})
}
