package openmatch

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
)

// load is a run in progress.
type load struct {
	job            *bench.Job
	tag            string // of all its tickets but those of a turn of fetch
	conns          []*grpc.ClientConn
	functionConfig *pb.FunctionConfig // address of its match function; nil before serveFunction
}

const (
	// window is the flow-control window of a call and of a connection, in bytes, the same as a director's.
	window = 1 << 20
	// maxConcurrent is the number of concurrent calls that prepare a run or delete its tickets.
	maxConcurrent = 256
)

// newLoad makes a load without connections.
func newLoad(_ context.Context, job *bench.Job) *load {
	job.Enter("queueing players")
	return &load{job: job, tag: "bench-" + job.ID}
}

// connectCallers makes the connections of the callers, over which the end of the run deletes its tickets.
func (l *load) connectCallers(context.Context) (err error) {
	if l.conns, err = l.connectAll(); err != nil {
		return err
	}
	l.job.OnEnd(l.deleteTickets)
	return nil
}

// connectAll makes as many connections as the load has, spread over the replicas.
func (l *load) connectAll() (conns []*grpc.ClientConn, err error) {
	urls := l.job.Options.URLs
	conns = make([]*grpc.ClientConn, l.job.Options.Load.Connections)
	for n := range conns {
		if conns[n], err = l.connect(urls[n%len(urls)]); err != nil {
			return nil, err
		}
	}
	return conns, nil
}

// connect makes a connection that lasts until the end of the run.
func (l *load) connect(addr string) (*grpc.ClientConn, error) {
	// The options are grpc-go's defaults except for the windows: dynamic ones cost a ping in both directions for nearly
	// every call.
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window)}
	if l.job.Options.Token != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(l.job.Options.Token)))
	}
	conn, err := grpc.NewClient(addr, options...)
	if err != nil {
		return nil, fmt.Errorf("%s is no address to connect to: %w", addr, err)
	}
	l.job.OnEnd(func(context.Context) error { return conn.Close() })
	return conn, nil
}

// connectionOf returns a caller's connection, which several callers share.
func (l *load) connectionOf(caller int) *grpc.ClientConn { return l.conns[caller%len(l.conns)] }

// frontendOf returns what creates and watches a caller's tickets.
func (l *load) frontendOf(caller int) pb.FrontendServiceClient {
	return pb.NewFrontendServiceClient(l.connectionOf(caller))
}

// bearer sends the token with each call.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Loads run in trusted networks.
func (bearer) RequireTransportSecurity() bool { return false }
