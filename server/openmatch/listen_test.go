package openmatch_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/openmatch"
)

// pinged returns the fate of a client that has no stream and pings at an interval.
func pinged(t *testing.T, addr string, every time.Duration, times int) (told *http2.GoAwayFrame) {
	conn := webtest.Dial(t, addr)
	must.Get(conn.Write([]byte(http2.ClientPreface)))(t)
	framer := http2.NewFramer(conn, conn)
	require.NoError(t, framer.WriteSettings())
	beat := time.NewTicker(every)
	defer beat.Stop()
	for answered := 0; answered < times; {
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(wait)))
		frame := must.Get(framer.ReadFrame())(t)
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			return f
		case *http2.SettingsFrame:
			if f.IsAck() {
				continue
			}
			require.NoError(t, framer.WriteSettingsAck())
		case *http2.PingFrame:
			answered++
		default:
			continue
		}
		<-beat.C
		require.NoError(t, framer.WritePing(false, [8]byte{}))
	}
	return nil
}

// Pins a server that disconnects Open Match's own clients, which ping without a stream. Here all intervals are 50 times
// shorter.
func TestPings(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { openmatch.WithMinPing(&c.Options, 100*time.Millisecond) })
	require.Nil(t, pinged(t, b.addr(), 150*time.Millisecond, 8))
	told := pinged(t, b.addr(), time.Millisecond, 1000)
	require.NotNil(t, told)
	require.Equal(t, "too_many_pings", string(told.DebugData()))
}

// Pins one of Open Match's three ports that serves its own service only, and a second Listen that opens them again.
func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) {
		c.Addrs = append(c.Addrs, "127.0.0.1:0")
		c.Listeners = []net.Listener{webtest.Listen(t)}
	})
	require.NoError(t, b.server.Listen(t.Context()))
	require.Len(t, b.server.Addrs(), 3)
	for _, addr := range b.server.Addrs() {
		conn := functionstest.Dial(t, addr.String())
		_, err := pb.NewFrontendServiceClient(conn).CreateTicket(t.Context(),
			&pb.CreateTicketRequest{Ticket: &pb.Ticket{}})
		require.NoError(t, err)
		_, err = pb.NewBackendServiceClient(conn).ReleaseAllTickets(t.Context(), &pb.ReleaseAllTicketsRequest{})
		require.NoError(t, err)
	}
}

// Pins a director that waits for a match function on a stopping replica, instead of getting Unavailable and retrying.
func TestStoppingWhileMatchesAreFetched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	called := make(chan struct{}, 1)
	at := functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		called <- struct{}{}
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	stream, err := b.FetchMatches(t.Context(), &pb.FetchMatchesRequest{Config: at, Profile: &pb.MatchProfile{Name: "p"}})
	require.NoError(t, err)
	<-called
	b.server.EndStreams()
	_, err = stream.Recv()
	refused(t, codes.Unavailable, "this replica is stopping: retry, another one answers", err)
	require.NoError(t, b.stop())
}
