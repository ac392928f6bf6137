package openmatch

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/health"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/openmatch/functions"
)

// New makes a Server that does nothing yet. It needs no database. Errors: an option is missing or invalid; callers need
// no credentials though OpenToAll is not set; the metrics are already registered.
func New(options Options) (*Server, error) {
	o := options.withDefaults()
	if err := o.checkRequired(); err != nil {
		return nil, err
	}
	s := &Server{
		options: o, health: health.NewServer(), sendQueues: newSendQueues(2*o.sendTimeout, o.QueueMemory),
		queryMemory: semaphore.NewWeighted(int64(o.QueryMemory)),
	}
	s.streamsContext, s.endStreams = context.WithCancel(context.Background())
	// The order matters: the engines use the guard, and the gateway connects to the gRPC server.
	for _, part := range []func() error{s.makeGuard, s.makeAccess, s.makeMatchmaker, s.makeMetrics, s.makeGRPC,
		s.makeGateway} {
		if err := part(); err != nil {
			return nil, fmt.Errorf("openmatch: %w", err)
		}
	}
	return s, nil
}

// makeGuard makes the guard that recovers panics of background goroutines; observeCall recovers those of calls.
func (s *Server) makeGuard() error {
	recovered := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "director_openmatch_panics_total",
		Help: "Recovered panics of background goroutines of the Open Match server, by goroutine. " +
			"Each is a defect: its stack is in the log.",
	}, []string{"goroutine"})
	s.options.guard = panics.New(s.options.Log, recovered)
	if s.options.Metrics == nil {
		return nil
	}
	return s.options.Metrics.Register(recovered)
}

func (s *Server) makeMetrics() (err error) {
	s.callMetrics, err = newCallMetrics(s.options.Metrics)
	return err
}

// makeMatchmaker makes the engines of WatchAssignments and FetchMatches.
func (s *Server) makeMatchmaker() (err error) {
	o := s.options
	s.watchHub, s.matchmaker = o.Hub, o.Matchmaker
	// The options have a hub where players and backends wait for tickets too: all share its readings.
	if s.watchHub == nil {
		s.watchHub = watch.New(o.Store, o.Universe, o.MaxWatchers, o.Log, o.guard)
	}
	if s.matchmaker != nil {
		return nil
	}
	s.matchmaker, err = functions.New(functions.Options{
		Store: o.Store, Universe: o.Universe, Registration: o.Registration, Collection: o.Collection,
		Evaluator: o.EvaluatorURL, Functions: o.FunctionHosts, Loopback: o.OnLoopback(), FunctionCA: o.FunctionCA,
		MaxBackfill: o.MaxTicket, Memory: int64(o.ProposalMemory), Log: o.Log, Metrics: o.Metrics, Tracer: o.Tracer,
		Guard: o.guard,
	})
	return err
}
