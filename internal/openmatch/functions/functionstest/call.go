package functionstest

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// Dial makes a client connection, without TLS unless the options say otherwise, until the test ends.
func Dial(t testing.TB, addr string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn, err := grpc.NewClient(addr, append([]grpc.DialOption{plain}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// ReceiveAll reads an answer to its end. It takes the results of the call, and returns its error as well as that of
// reading, with the messages before it.
func ReceiveAll[M any](stream grpc.ServerStreamingClient[M], err error) (all []*M, _ error) {
	err = ReceiveEach(stream, err, func(m *M) { all = append(all, m) })
	return all, err
}

// ReceiveEach is ReceiveAll for each message as it comes.
func ReceiveEach[M any](stream grpc.ServerStreamingClient[M], err error, got func(*M)) error {
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err == nil {
			got(m)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
