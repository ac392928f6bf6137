package functions

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// panickingLog panics at each record.
type panickingLog struct{ slog.Handler }

func (panickingLog) Enabled(context.Context, slog.Level) bool { return true }

func (panickingLog) Handle(context.Context, slog.Record) error { panic("at a proposal") }

// Pins a replica that crashes by a panic in the goroutine that sends proposals to the evaluator.
func TestAPanicWhileProposalsAreSentOverHTTP(t *testing.T) {
	t.Parallel()
	f := makeFunctions(t)
	f.log = slog.New(panickingLog{slog.DiscardHandler})
	e, err := f.newEvaluator(Judge(acceptsTickets).OverHTTP(t))
	require.NoError(t, err)
	in := make(chan cycle.Proposal, 1)
	in <- cycle.Proposal{Match: []byte{0xff}} // not a match: it is logged
	require.ErrorContains(t, e.Evaluate(t.Context(), in, func(string) error { return nil }), "internal error")
}

// panickingStream has no methods, so each call panics.
type panickingStream struct{ pb.Evaluator_EvaluateClient }

func TestAPanicWhileProposalsAreSentOverGRPC(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	(&evaluatorInput{}).sendOrCancel(panickingStream{}, cancel)
	require.Equal(t, panics.ErrInternal, context.Cause(ctx), "the error of the evaluation")
}
