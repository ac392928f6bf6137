package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// overload is the load on a replica, and how long it lasts.
type overload struct {
	limit     int64 // bytes of memory
	tickets   int
	watchers  int
	functions int // of each kind
	duration  time.Duration
}

// A replica in a small container serves all other callers while clients query the whole queue and do not read the
// answer, watchers do not read one large assignment after the other, and match functions answer without end.
// DIRECTOR_TEST_MEMORY=full makes it a million tickets in 512 MiB, which takes two minutes.
//
//nolint:paralleltest // it needs the machine for itself
func TestMemoryIsBounded(t *testing.T) {
	longtest.Only(t, "TestSlowBodiesBlockNoOtherCallers")
	s := overload{limit: 256 << 20, tickets: 100_000, watchers: 200, functions: 4,
		duration: time.Duration(longtest.Pick(10, 20)) * time.Second}
	if os.Getenv("DIRECTOR_TEST_MEMORY") == "full" {
		s = overload{limit: 512 << 20, tickets: 1_000_000, watchers: 1000, functions: 12, duration: 90 * time.Second}
	}
	r := newRig(t, "DIRECTOR_OM_COLLECTION=3s")
	// With a profile the worker keeps the queue in memory.
	r.ApplyProfile("name: any\nmode: duel\npool: {tags: [mine]}\nteams: [{name: all, players: 2}]\n")
	r.limitMemory(s.limit)
	addr := rigtest.FreeAddr(t)
	p := r.ServeReplica("--work", "--grpc-addr", addr)
	b := &overloaded{rig: r, addr: addr, overload: s}
	b.fill()

	ctx, stop := context.WithTimeout(t.Context(), s.duration)
	defer stop()
	for range 8 {
		b.wg.Go(func() { b.queryUnread(ctx) })
	}
	b.wg.Go(func() { b.watchUnread(ctx) })
	for range s.functions {
		b.wg.Go(func() { b.fetch(ctx, functionstest.ServeREST(t, endlessAnswer)) })
		b.wg.Go(func() { b.fetch(ctx, functionstest.ServeMMF(t, endlessMatches)) })
	}
	b.wg.Go(func() { b.measure(ctx, p) })
	gap := b.play(ctx)
	b.wg.Wait()

	select {
	case <-p.Process.Done():
		require.Fail(t, "the replica was killed")
	default:
	}
	peak := b.peak.Load()
	t.Logf("at most %d MiB of %d; %d tickets created, deleted and found by others, longest wait %s; %d of their queries, %d unread ones and %d calls of FetchMatches were refused",
		peak>>20, s.limit>>20, b.played.Load(), gap, b.refused.Load(), b.unreadRefused.Load(), b.fetchRefused.Load())
	require.Positive(t, peak)
	require.Less(t, peak, s.limit)
	require.Less(t, gap, 10*time.Second)
	require.Greater(t, b.played.Load(), int64(s.duration/time.Second))
	require.Positive(t, b.found.Load())
	ctx, stop = context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	require.NoError(t, rigtest.DialAll(t, addr).RetryCall(ctx, b.findMine), "the memory of the overload is free again")
}

// overloaded is a replica under overload, and counts of calls.
type overloaded struct {
	*rig
	overload
	addr string
	wg   sync.WaitGroup

	peak          atomic.Int64 // bytes of anonymous memory
	played, found atomic.Int64 // rounds of playOnce, and those whose query was answered
	// Queries of playOnce, unread queries, and calls of FetchMatches that were refused.
	refused, unreadRefused, fetchRefused atomic.Int64
}

// measure records the peak of a process's anonymous memory until ctx ends.
func (b *overloaded) measure(ctx context.Context, p *process) {
	for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		b.peak.Store(max(b.peak.Load(), rigtest.MemoryOf(p.Process.PID(), "RssAnon")))
	}
}

// dial makes a connection whose client buffers at most 64 KiB of unread answers.
func (b *overloaded) dial() *grpc.ClientConn {
	return functionstest.Dial(b.T, b.addr, grpc.WithStaticStreamWindowSize(64<<10))
}

// fill queues the tickets that the unread queries match, of 300 bytes each.
func (b *overloaded) fill() {
	extensions := must.Get(proto.Marshal(&pb.Ticket{Extensions: map[string]*anypb.Any{"x": {TypeUrl: strings.Repeat("x",
		260)}}}))(b.T)
	must.Get(b.SQLPool.Exec(b.T.Context(), `INSERT INTO tickets (region, id, created, terms, double_keys, doubles, body)
		SELECT 'global', id, 1, '{}', '{}', '{}', '\x0a14'::bytea || convert_to(id, 'UTF8') || $2
		FROM (SELECT lpad(n::text, 20, '0') AS id FROM generate_series(1, $1::int) n) AS made`, b.tickets, extensions))(b.T)
	must.Get(b.SQLPool.Exec(b.T.Context(), "ANALYZE tickets"))(b.T)
}

// queryUnread queries all tickets every few seconds, and reads only the first page.
func (b *overloaded) queryUnread(ctx context.Context) {
	conn := b.dial()
	for ctx.Err() == nil {
		stream, err := pb.NewQueryServiceClient(conn).QueryTickets(ctx, &pb.QueryTicketsRequest{Pool: &pb.Pool{}})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			b.unreadRefused.Add(1)
		}
		pause(ctx, 4*time.Second)
	}
}

// watchUnread watches many tickets without reading, while they get large assignments.
func (b *overloaded) watchUnread(ctx context.Context) {
	frontend := pb.NewFrontendServiceClient(b.dial())
	var ids []string
	for len(ids) < b.watchers && ctx.Err() == nil {
		if made, err := frontend.CreateTicket(ctx, &pb.CreateTicketRequest{Ticket: &pb.Ticket{}}); err == nil {
			ids = append(ids, made.GetId())
		}
	}
	backend := b.dial()
	for round := 0; ctx.Err() == nil; round++ {
		conn := b.dial()
		for _, id := range ids {
			_, _ = pb.NewFrontendServiceClient(conn).WatchAssignments(ctx, &pb.WatchAssignmentsRequest{TicketId: id})
		}
		for n := range 12 {
			for some := range slices.Chunk(ids, 100) {
				_ = assign(ctx, backend, fmt.Sprint(round, ".", n, strings.Repeat("x", 16<<10)), some...)
			}
		}
	}
}

// fetch calls FetchMatches in a loop, and reads no match.
func (b *overloaded) fetch(ctx context.Context, function *pb.FunctionConfig) {
	conn := b.dial()
	for ctx.Err() == nil {
		stream, err := pb.NewBackendServiceClient(conn).FetchMatches(ctx,
			&pb.FetchMatchesRequest{Config: function, Profile: &pb.MatchProfile{Name: "endless"}})
		if err == nil {
			if _, err := stream.Recv(); err != nil {
				b.fetchRefused.Add(1)
			}
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// endlessAnswer is a match function over REST whose answer is a JSON object without end.
func endlessAnswer(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	_, err := io.WriteString(w, `{"result":{"proposal":{"matchId":"`)
	for err == nil && r.Context().Err() == nil {
		_, err = io.WriteString(w, strings.Repeat("x", 64<<10))
	}
}

// endlessMatches is a match function that proposes matches of a megabyte without end.
func endlessMatches(_ *pb.RunRequest, stream functionstest.RunServer) error {
	large := strings.Repeat("x", 1<<20)
	for n := 0; ; n++ {
		id := fmt.Sprintf("%p-%d", stream, n)
		if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: id, MatchProfile: large}}); err != nil {
			return err
		}
	}
}

// play creates, finds and deletes tickets, as other callers do, until ctx ends. It returns the longest time without
// success.
func (b *overloaded) play(ctx context.Context) (gap time.Duration) {
	conn, last := b.dial(), time.Now()
	for ctx.Err() == nil {
		if err := b.playOnce(ctx, conn); err != nil {
			pause(ctx, 50*time.Millisecond)
			continue
		}
		gap, last = max(gap, time.Since(last)), time.Now()
		b.played.Add(1)
	}
	return max(gap, time.Since(last))
}

func (b *overloaded) playOnce(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	frontend := pb.NewFrontendServiceClient(conn)
	made, err := frontend.CreateTicket(ctx,
		&pb.CreateTicketRequest{Ticket: &pb.Ticket{SearchFields: &pb.SearchFields{Tags: []string{"mine"}}}})
	if err != nil {
		return err
	}
	switch err := b.findMine(ctx, conn); status.Code(err) {
	case codes.OK:
		b.found.Add(1)
	case codes.ResourceExhausted:
		b.refused.Add(1)
	default:
		return err
	}
	_, err = frontend.DeleteTicket(ctx, &pb.DeleteTicketRequest{TicketId: made.GetId()})
	return err
}

// findMine queries the pool that matches only the ticket of playOnce.
func (b *overloaded) findMine(ctx context.Context, conn *grpc.ClientConn) error {
	stream, err := pb.NewQueryServiceClient(conn).QueryTickets(ctx,
		&pb.QueryTicketsRequest{Pool: &pb.Pool{TagPresentFilters: []*pb.TagPresentFilter{{Tag: "mine"}}}})
	_, err = functionstest.ReceiveAll(stream, err)
	return err
}
