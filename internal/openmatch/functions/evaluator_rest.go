package functions

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
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// restEvaluator calls an evaluator over HTTP, once in each cycle: the body of one POST streams the proposals while its
// answer streams the acceptances.
type restEvaluator struct {
	client    *restClient
	targetURL string
	log       *slog.Logger
	guard     *panics.Guard
}

// Evaluate implements [cycle.Evaluator].
func (e *restEvaluator) Evaluate(ctx context.Context, in <-chan cycle.Proposal, accept func(id string) error) error {
	var sending sync.WaitGroup
	// Deferred first, so that it runs last: the deferred calls below end what it waits for.
	defer sending.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, proposals := io.Pipe()
	defer func() { _ = body.Close() }() // ends a blocked write of writeProposals
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.targetURL, body)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	// The request gets a new connection: a streamed body cannot be sent again when an idle connection turns out to be
	// closed.
	request.Close = true
	sending.Go(func() {
		_ = proposals.CloseWithError(e.guard.Do("evaluator's input",
			func() error { return e.writeProposals(ctx, proposals, in) }))
	})
	_, err = e.client.readResults(request, func(result []byte) error {
		var answer pb.EvaluateResponse
		if err := fromUserCode.Unmarshal(result, &answer); err != nil {
			return status.Errorf(codes.Internal, "the evaluator's answer cannot be read: %v", err)
		}
		return accept(answer.GetMatchId())
	})
	return err
}

// writeProposals writes proposals until there are no more. A proposal that JSON cannot express, because it has an Any
// of an unknown type, is skipped and so not accepted: one caller's fault must not fail the cycle for all.
func (e *restEvaluator) writeProposals(ctx context.Context, to io.Writer, in <-chan cycle.Proposal) error {
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
				e.log.LogAttrs(ctx, slog.LevelWarn, "a proposal cannot be encoded as JSON for the evaluator",
					slog.String("match_id", p.ID), slog.Any("error", err))
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
