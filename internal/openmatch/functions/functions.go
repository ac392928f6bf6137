package functions

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/base/outbound"
	"github.com/lattice-director/director/internal/base/panics"
)

// functions calls user code: match functions at addresses that callers of FetchMatches and profiles name, and the
// evaluator at the address that the operator names. Safe for concurrent use.
type functions struct {
	log                 *slog.Logger
	guard               *panics.Guard
	restartWait         time.Duration // see connections
	tracing             tracing
	certificateRoots    *x509.CertPool // of certificates; nil: the system's
	functionConnections *connections
	functionHTTP        *restClient

	// The evaluator's connections, which no allow-list limits. nil: the evaluator is called otherwise, or is the default.
	evaluatorConnections *connections
	evaluatorHTTP        *restClient
}

// newFunctions makes the clients, which connect when they are used. Errors: Functions or FunctionCA is invalid.
func newFunctions(o Options) (*functions, error) {
	list, err := outbound.ParseAllowList(o.Functions, o.Loopback)
	if err != nil {
		return nil, err
	}
	f := &functions{log: o.Log, guard: o.Guard, restartWait: o.Registration, tracing: tracing{o.Tracer}}
	guarded := dialer{outbound: outbound.Dialer{Allows: list.Allows}, tracing: f.tracing}
	if o.FunctionCA != "" {
		if f.certificateRoots, err = CertificatesIn(o.FunctionCA); err != nil {
			return nil, fmt.Errorf("the authority of match functions' certificates: %w", err)
		}
		guarded.tlsConfig = f.tlsConfig()
	}
	f.functionConnections, f.functionHTTP = newConnections(guarded, o.Registration), newRESTClient(guarded)
	return f, nil
}

// CertificatesIn reads a PEM file. Errors: it cannot be read, or has no certificate.
func CertificatesIn(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("no certificate in %s", file)
	}
	return pool, nil
}

func (f *functions) tlsConfig() *tls.Config {
	return &tls.Config{RootCAs: f.certificateRoots, MinVersion: tls.VersionTLS12}
}

// limitMemory counts JSON answers against a memory while they are read.
func (f *functions) limitMemory(m memory) {
	f.functionHTTP.answerMemory = m
	if f.evaluatorHTTP != nil {
		f.evaluatorHTTP.answerMemory = m
	}
}

// closeIdle closes idle connections at once, and the others after their calls.
func (f *functions) closeIdle() {
	f.functionConnections.closeAll()
	f.functionHTTP.closeIdle()
	if f.evaluatorConnections != nil {
		f.evaluatorConnections.closeAll()
	}
	if f.evaluatorHTTP != nil {
		f.evaluatorHTTP.closeIdle()
	}
}

// callFunction calls a match function for a profile, and propose with each match as it arrives. Errors: the function's
// own, the one that propose returned, or the cause of the context's end.
func (f *functions) callFunction(ctx context.Context, config *pb.FunctionConfig, profile *pb.MatchProfile,
	propose func(*pb.Match) error) error {
	// answered says that a match function has answered, and not something else at its address.
	var call func(ctx context.Context, at address, profile *pb.MatchProfile,
		propose func(*pb.Match) error) (answered bool, err error)
	switch config.GetType() {
	case pb.FunctionConfig_GRPC:
		call = f.runGRPC
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
	// Operators need the cause Unavailable, not the timeout that followed while the call waited for a connection.
	case err != nil && ctx.Err() != nil && status.Code(err) != codes.Unavailable:
		return context.Cause(ctx)
	case err != nil && !answered:
		return &unreachableError{err}
	}
	return err
}

// runGRPC calls a match function over gRPC.
func (f *functions) runGRPC(ctx context.Context, at address, profile *pb.MatchProfile,
	propose func(*pb.Match) error) (answered bool, err error) {
	err = f.functionConnections.callAddress(ctx, at, func(c *connection) (gotProposal bool, err error) {
		gotProposal, answered, err = c.runFunction(ctx, profile, propose)
		return gotProposal, err
	})
	return answered, err
}

// runFunction calls a match function once. It reports whether there were proposals, and whether a match function
// answered: the errors that the client makes of a failed connection, or of an answer that is not gRPC, have no headers.
func (c *connection) runFunction(ctx context.Context, profile *pb.MatchProfile,
	propose func(*pb.Match) error) (gotProposal, answered bool, err error) {
	ctx, cancel := context.WithCancel(ctx) // its end cancels the function's call
	defer cancel()
	stream, err := pb.NewMatchFunctionClient(c.client).Run(ctx, &pb.RunRequest{Profile: profile})
	if err != nil {
		return false, false, err
	}
	gotProposal, err = receiveAll(stream.Recv,
		func(answer *pb.RunResponse) error { return propose(answer.GetProposal()) })
	header, headerErr := stream.Header()
	hasHeader := headerErr == nil && header != nil || len(stream.Trailer()) > 0
	return gotProposal, gotProposal || hasHeader, err
}
