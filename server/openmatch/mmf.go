package openmatch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/panics"
)

const (
	// maxMatch bounds, in bytes, a match: with what it is put into on its way it must not be more than clients take.
	maxMatch = maxMessage - 1<<10
	// maxAnswer bounds, in bytes, what a match function or an evaluator says in JSON.
	maxAnswer = 64 << 20
	// maxAnswerText bounds, in bytes, the text of an error that they tell in JSON.
	maxAnswerText = 1 << 10
)

// functions calls what users run: match functions, where callers of FetchMatches say, and the evaluator, where the
// operator says. It may be used from many goroutines.
type functions struct {
	log         *slog.Logger
	guard       *panics.Guard
	patience    time.Duration
	tracing     tracing
	believed    *x509.CertPool // who signs certificates; nil: whom the system believes
	connections *connections
	http        *restClient

	// The evaluator's connections, which go wherever they are told to.
	trusted     *connections
	trustedHTTP *restClient
}

// newFunctions makes the clients; they connect when they are used. Errors: an entry of the list, or a file, that cannot be
// read.
func newFunctions(o Options) (*functions, error) {
	list, err := parseAllowList(o.Functions, o.offLoopback() == "")
	if err != nil {
		return nil, err
	}
	f := &functions{log: o.Log, guard: o.guard, patience: o.Registration, tracing: tracing{o.Tracer}}
	guarded := dialer{allows: list.allows, tracing: f.tracing}
	if o.FunctionCA != "" {
		if f.believed, err = certificatesIn(o.FunctionCA); err != nil {
			return nil, fmt.Errorf("who signs match functions' certificates: %w", err)
		}
		guarded.tls = f.tls()
	}
	f.connections, f.http = newConnections(guarded, o.Registration), newRESTClient(guarded)
	return f, nil
}

func (f *functions) tls() *tls.Config {
	return &tls.Config{RootCAs: f.believed, MinVersion: tls.VersionTLS12}
}

// count has what is read of answers in JSON count against a memory.
func (f *functions) count(m memory) {
	f.http.memory = m
	if f.trustedHTTP != nil {
		f.trustedHTTP.memory = m
	}
}

// close hangs up where nobody is talking, and lets the others finish.
func (f *functions) close() {
	f.connections.close()
	f.http.close()
	if f.trusted != nil {
		f.trusted.close()
	}
	if f.trustedHTTP != nil {
		f.trustedHTTP.close()
	}
}

// run has a match function make matches for the profile, and hands on each as it comes. It returns when the function has
// no more, or with what went wrong: the function's own error, the one that propose returned, or why the context ended.
func (f *functions) run(ctx context.Context, config *pb.FunctionConfig, profile *pb.MatchProfile, propose func(*pb.Match) error) error {
	call := f.runGRPC // which tells whether a match function answered at all
	switch config.GetType() {
	case pb.FunctionConfig_GRPC:
	case pb.FunctionConfig_REST:
		call = f.runREST
	default:
		return status.Error(codes.InvalidArgument, "provided match function type is not supported")
	}
	at, err := addressOf(config)
	if err != nil {
		return err
	}
	answered, err := call(ctx, at, profile, propose)
	switch {
	case err != nil && ctx.Err() != nil && status.Code(err) != codes.Unavailable: // which says why it took so long
		return context.Cause(ctx)
	case err != nil && !answered:
		return &unreachableError{err}
	}
	return err
}

// runGRPC calls a match function over gRPC.
func (f *functions) runGRPC(ctx context.Context, at address, profile *pb.MatchProfile, propose func(*pb.Match) error) (answered bool, err error) {
	err = f.connections.call(ctx, at, func(c *connection) (some bool, err error) {
		some, answered, err = c.run(ctx, profile, propose)
		return some, err
	})
	return answered, err
}

// run tells whether there were some proposals, and whether the match function answered: what the client makes up of a connection that
// failed, or of an answer that is not gRPC, comes without headers.
func (c *connection) run(ctx context.Context, profile *pb.MatchProfile, propose func(*pb.Match) error) (some, answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // whose end tells the function that nobody listens any more
	defer cancel()
	stream, err := pb.NewMatchFunctionClient(c).Run(ctx, &pb.RunRequest{Profile: profile})
	if err != nil {
		return false, false, err
	}
	some, err = receive(stream.Recv, func(answer *pb.RunResponse) error { return propose(answer.GetProposal()) })
	header, failed := stream.Header()
	return some, some || failed == nil && header != nil || len(stream.Trailer()) > 0, err
}
