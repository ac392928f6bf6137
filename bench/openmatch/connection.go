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

// window is how many bytes may be sent ahead, in a call and on a connection, as it is with a director.
const window = 1 << 20

// connection is one to a replica, which several callers share.
type connection struct {
	*grpc.ClientConn

	frontend pb.FrontendServiceClient
	backend  pb.BackendServiceClient
	query    pb.QueryServiceClient
}

// dial makes the connections, to the replicas in turn.
func (l *load) dial() error {
	for n := range l.Connections {
		conn, err := l.connect(l.URLs[n%len(l.URLs)])
		if err != nil {
			return err
		}
		l.conns = append(l.conns, conn)
	}
	return nil
}

// connect makes one that lasts as long as the run.
func (l *load) connect(addr string) (*connection, error) {
	options := []grpc.DialOption{ // grpc-go's defaults but for the windows: ones that grow cost a ping both ways for nearly every call
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
	}
	if l.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(l.Token)))
	}
	conn, err := grpc.NewClient(addr, options...)
	if err != nil {
		return nil, fmt.Errorf("%s is no address to connect to: %w", addr, err)
	}
	l.onClose(conn.Close)
	return &connection{conn, pb.NewFrontendServiceClient(conn), pb.NewBackendServiceClient(conn), pb.NewQueryServiceClient(conn)}, nil
}

// of is a caller's connection.
func (l *load) of(caller int) *connection { return l.conns[caller%len(l.conns)] }

// bearer is shown with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. A load runs where the network is trusted.
func (bearer) RequireTransportSecurity() bool { return false }

// failure is a call that did not go well. It is counted by its code.
type failure struct {
	kind string
	err  error
}

// Error implements error.
func (f failure) Error() string { return f.kind + ": " + f.err.Error() }

// Unwrap is for errors.Is.
func (f failure) Unwrap() error { return f.err }

// Kind is what failures are counted by.
func (f failure) Kind() string { return f.kind }

// counted gives an error of a call its kind.
func counted(err error) error {
	if err == nil {
		return nil
	}
	if said, ok := errors.AsType[failure](err); ok {
		return said
	}
	return failure{status.Code(err).String(), err}
}

// wrong is an answer that is not the one hoped for.
func wrong(kind, format string, args ...any) error {
	return failure{kind, fmt.Errorf(format, args...)}
}
