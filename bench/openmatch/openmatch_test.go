package openmatch

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/must"
)

// startEcho returns its address.
func startEcho(t *testing.T) string {
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeEcho(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}

func options(addr, scenario string) bench.Options {
	return bench.Options{
		Scenario: bench.Find(Scenarios, scenario), URLs: []string{addr}, Duration: time.Hour, Token: "shown",
		Load: bench.Load{Callers: 4, Turns: 20, Tickets: 500, Connections: 2},
	}
}

// Pins a load that counts tickets wrongly, an echo that sends larger messages than clients accept, and calls that fail
// without a reason.
func TestEcho(t *testing.T) {
	t.Parallel()
	addr := startEcho(t)
	for _, scenario := range []string{"tickets", "query"} {
		res, err := bench.Run(t.Context(), options(addr, scenario))
		require.NoError(t, err)
		require.EqualValues(t, 20, res.Calls)
		require.Zero(t, res.Failed, res.Errors)
		require.Equal(t, 2, res.Connections)
	}
	l := &load{job: &bench.Job{}}
	conn, err := l.connect(addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.grpc.Close()) }()
	n, err := conn.count(t.Context(), poolOf("many", 2*echoPage+1))
	require.NoError(t, err)
	require.Equal(t, 2*echoPage+1, n)

	o := options(addr, "fetch")
	o.Tickets = 100
	res, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, res.Calls, res.Errors["Unimplemented"])
	o = options(addr, "watch")
	o.Watchers = 100
	_, err = bench.Run(t.Context(), o)
	require.ErrorContains(t, err, "watchers cannot be assigned", "nobody was watched")
}

// Pins a page that is counted wrongly, and bytes that are counted as a page and are none.
func TestCounting(t *testing.T) {
	t.Parallel()
	page := &pb.QueryTicketsResponse{}
	for range 300 {
		page.Tickets = append(page.Tickets, newTicket("one").GetTicket())
	}
	whole, err := proto.Marshal(page)
	require.NoError(t, err)
	for cut, says := range map[int]error{0: nil, 1: errPage, 3: errPage} {
		var got []byte
		pieces := mem.BufferSlice{mem.SliceBuffer(whole[:100]), mem.SliceBuffer(whole[100 : len(whole)-cut])}
		require.NoError(t, raw{}.Unmarshal(pieces, &got))
		n, err := countFields(got)
		require.ErrorIs(t, err, says)
		require.Equal(t, says == nil, n == 300)
	}
	var back pb.QueryTicketsResponse
	one, err := proto.Marshal(page.GetTickets()[0])
	require.NoError(t, err)
	echoed, err := proto.Marshal(pageOf(one, 3))
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(echoed, &back))
	require.Len(t, back.GetTickets(), 3)
	require.True(t, proto.Equal(page.GetTickets()[0], back.GetTickets()[2]))
}

// FuzzCounting pins an answer that makes a load panic or loop forever.
func FuzzCounting(f *testing.F) {
	f.Add([]byte{0x0a, 0x01, 0x00})
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, page []byte) {
		n, err := countFields(page)
		require.True(t, err != nil || n <= len(page)/2)
	})
}

// Pins an id that is read from bytes that are not a ticket, and truncated bytes.
func TestIDOfAnEncodedTicket(t *testing.T) {
	t.Parallel()
	ticket := newTicket("tag").GetTicket()
	ticket.Id = "the id"
	b, err := proto.Marshal(ticket)
	require.NoError(t, err)
	without := proto.Clone(ticket).(*pb.Ticket)
	without.Id = ""
	rest, err := proto.Marshal(without)
	require.NoError(t, err)
	require.Equal(t, "the id", idOf(b))
	require.Equal(t, "the id", idOf(append(rest, b...)), "not the first field")
	require.Empty(t, idOf(rest))
	rapid.Check(t, func(rt *rapid.T) {
		strange := rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes")
		var read pb.Ticket
		if err := proto.Unmarshal(strange, &read); err == nil {
			require.Equal(rt, read.GetId(), idOf(strange))
		}
	})
}
