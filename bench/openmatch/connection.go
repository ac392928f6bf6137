package openmatch

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
)

// window is the flow-control window of a call and of a connection, in bytes, the same as a director's.
const window = 1 << 20

// connection is a connection to a replica, which several callers share.
type connection struct {
	*grpc.ClientConn

	frontend pb.FrontendServiceClient
	backend  pb.BackendServiceClient
	query    pb.QueryServiceClient
}

// connect makes a connection that lasts until the end of the run.
func (l *load) connect(addr string) (*connection, error) {
	options := []grpc.DialOption{ // grpc-go's defaults except for the windows: dynamic windows cost a ping in both directions for nearly every call
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStaticStreamWindowSize(window),
		grpc.WithStaticConnWindowSize(window),
	}
	if l.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(l.Token)))
	}
	conn, err := grpc.NewClient(addr, options...)
	if err != nil {
		return nil, fmt.Errorf("%s is no address to connect to: %w", addr, err)
	}
	l.onClose(conn.Close)
	return &connection{conn, pb.NewFrontendServiceClient(conn), pb.NewBackendServiceClient(conn),
		pb.NewQueryServiceClient(conn)}, nil
}

// of returns a caller's connection.
func (l *load) of(caller int) *connection { return l.conns[caller%len(l.conns)] }

// bearer sends the token with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Loads run in trusted networks.
func (bearer) RequireTransportSecurity() bool { return false }

// failure is a failed call. It is counted under its code.
type failure struct {
	kind string
	err  error
}

// Error implements error.
func (f failure) Error() string { return f.kind + ": " + f.err.Error() }

// Unwrap supports errors.Is.
func (f failure) Unwrap() error { return f.err }

// Kind is what failures are counted under.
func (f failure) Kind() string { return f.kind }

// counted adds the kind to an error of a call.
func counted(err error) error {
	if err == nil {
		return nil
	}
	if said, ok := errors.AsType[failure](err); ok {
		return said
	}
	return failure{status.Code(err).String(), err}
}

// wrong is the failure of a call with an unexpected answer.
func wrong(kind, format string, args ...any) error {
	return failure{kind, fmt.Errorf(format, args...)}
}
