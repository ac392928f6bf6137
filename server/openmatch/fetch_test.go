package openmatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/openmatch/functions/functionstest"
	"github.com/lattice-director/director/internal/testkit/logtest"
)

// Pins a failure of a match function that only its caller sees.
func TestAFunctionThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	b := setup(t, window(0, time.Minute), func(c *config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	_, err := b.fetch(functionstest.ServeMMF(t, func(*pb.RunRequest, functionstest.RunServer) error { return errors.New("no idea") }))
	require.ErrorContains(t, err, "no idea")
	log.AwaitLine(t, `msg="a match function failed" match_function.profile=p match_function.host=127.0.0.1`)
}

// window sets how long callers may join a cycle, and how long functions may propose after that.
func window(registration, collection time.Duration) func(*config) {
	return func(c *config) { c.Registration, c.Collection = registration, collection }
}

// fetch calls FetchMatches as a director does, and returns the matches and the error.
func (b *bundle) fetch(at *pb.FunctionConfig, pools ...*pb.Pool) (matches []*pb.Match, err error) {
	stream, err := b.FetchMatches(b.t.Context(),
		&pb.FetchMatchesRequest{Config: at, Profile: &pb.MatchProfile{Name: "p", Pools: pools}})
	err = functionstest.ReceiveEach(stream, err,
		func(answer *pb.FetchMatchesResponse) { matches = append(matches, answer.GetMatch()) })
	return matches, err
}

// proposing is a match function that proposes given matches.
func proposing(t *testing.T, matches ...*pb.Match) *pb.FunctionConfig {
	return functionstest.ServeMMF(t, functionstest.Proposing(matches...))
}

// pairing is a match function that puts each two tickets of its pool into a match.
func pairing(b *bundle) *pb.FunctionConfig {
	conn := func() *grpc.ClientConn { return b.conn }
	return functionstest.ServeMMF(b.t, functionstest.OfPool(conn, functionstest.Pairs(uuid.NewString)))
}

func TestFetchMatchesRequires(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for text, r := range map[string]*pb.FetchMatchesRequest{
		".config is required":  {Profile: &pb.MatchProfile{}},
		".profile is required": {Config: &pb.FunctionConfig{}},
	} {
		stream, err := b.FetchMatches(t.Context(), r)
		require.NoError(t, err)
		_, err = stream.Recv()
		refused(t, codes.InvalidArgument, text, err)
	}
}

// A director with a match function that queries: each ticket is in one match, complete, and in no later query on any
// replica.
func TestFetchMatches(t *testing.T) {
	t.Parallel()
	b := setup(t, window(50*time.Millisecond, 10*time.Second))
	other := replica(t, b.store.URL)
	created := map[string]*pb.Ticket{}
	for i := range 20 {
		ticket := b.create(&pb.Ticket{
			SearchFields: &pb.SearchFields{DoubleArgs: map[string]float64{"mmr": float64(i)}},
			Extensions:   map[string]*anypb.Any{"x": functionstest.UnknownAny()},
		})
		created[ticket.GetId()] = ticket
	}
	matches, err := b.fetch(pairing(other), &pb.Pool{})
	require.NoError(t, err)
	require.Len(t, matches, 10)
	for _, m := range matches {
		require.Equal(t, "pairs", m.GetMatchFunction())
		for _, ticket := range m.GetTickets() {
			same(t, created[ticket.GetId()], ticket)
			delete(created, ticket.GetId())
		}
	}
	require.Empty(t, created)
	require.Empty(t, b.queried(&pb.Pool{}))
	require.Empty(t, other.queried(&pb.Pool{}))
	matches, err = other.fetch(pairing(b), &pb.Pool{})
	require.NoError(t, err)
	require.Empty(t, matches)
}

// With a registration interval of zero each fetch is a cycle of its own.
func TestFetchMatchesWithoutAWindow(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for range 5 {
		b.create(&pb.Ticket{})
		b.create(&pb.Ticket{})
		matches, err := b.fetch(pairing(b), &pb.Pool{})
		require.NoError(t, err)
		require.Len(t, matches, 1)
	}
}

// An evaluator may wait for other callers until registration closes, so a fetch without a match does not end earlier.
func TestFetchMatchesEndsWithTheWindow(t *testing.T) {
	t.Parallel()
	const open = 300 * time.Millisecond
	b := setup(t, window(open, time.Second))
	at := proposing(t)
	start := time.Now()
	matches, err := b.fetch(at)
	require.NoError(t, err)
	require.Empty(t, matches)
	require.GreaterOrEqual(t, time.Since(start), open)
}

// A match function's error has both parts, and the code Unknown: clients search the text.
func TestFetchMatchesReturnsTheFunctionsError(t *testing.T) {
	t.Parallel()
	b := setup(t, window(0, 300*time.Millisecond))
	failing := func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: "before"}}); err != nil {
			return err
		}
		return status.Error(codes.DataLoss, "no idea whom to match")
	}
	hanging := func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		if err := stream.Send(&pb.RunResponse{Proposal: &pb.Match{MatchId: "before"}}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}
	garbage := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }
	for name, c := range map[string]struct {
		at      *pb.FunctionConfig
		text    string
		matches int
	}{
		"an error":                 {functionstest.ServeMMF(t, failing), "syncErr=[<nil>], mmfErr=[rpc error: code = DataLoss desc = no idea whom to match]", 1},
		"an id twice":              {proposing(t, &pb.Match{MatchId: "m"}, &pb.Match{MatchId: "m"}), `MatchMakingFunction returned same match_id twice: "m"`, 0},
		"a function that hangs":    {functionstest.ServeMMF(t, hanging), "mmfErr=[match function ran longer than proposal window, canceling]", 1},
		"garbage":                  {functionstest.ServeREST(t, garbage), "the match function cannot be called", 0},
		"an answer without match":  {proposing(t, nil), "an answer without a match", 0},
		"a type that is none":      {&pb.FunctionConfig{Host: "127.0.0.1", Port: 1, Type: 7}, "provided match function type is not supported", 0},
		"a host that is none":      {&pb.FunctionConfig{Host: "a b", Port: 1}, ".config.host must be a host's name or address", 0},
		"metadata":                 {&pb.FunctionConfig{Host: "169.254.169.254", Port: 80, Type: pb.FunctionConfig_REST}, "the match function cannot be called", 0},
		"a host that is not known": {&pb.FunctionConfig{Host: "192.0.2.1", Port: 80}, "the match function cannot be called", 0},
	} {
		matches, err := b.fetch(c.at)
		require.Equal(t, codes.Unknown, status.Code(err), name)
		require.ErrorContains(t, err, "error(s) in FetchMatches call. syncErr=[")
		require.ErrorContains(t, err, c.text, name)
		require.Len(t, matches, c.matches, name)
	}
}

// The failures of one match function affect its caller only. Another caller in the same cycle gets its matches in time.
func TestFetchMatchesOfABadNeighbour(t *testing.T) {
	t.Parallel()
	million := functionstest.ProposingCount(1_000_000)
	for name, bad := range map[string]func(*testing.T) *pb.FunctionConfig{
		"a million matches": func(t *testing.T) *pb.FunctionConfig { return functionstest.ServeMMF(t, million) },
		"hangs": func(t *testing.T) *pb.FunctionConfig {
			return functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
				<-stream.Context().Done()
				return nil
			})
		},
		"an endless answer": func(t *testing.T) *pb.FunctionConfig {
			return functionstest.ServeREST(t, func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
						return
					}
				}
			})
		},
		"fails": func(t *testing.T) *pb.FunctionConfig {
			return functionstest.ServeMMF(t, func(*pb.RunRequest, functionstest.RunServer) error { return errors.New("broken") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, window(100*time.Millisecond, 2*time.Second))
			other := replica(t, b.store.URL, window(100*time.Millisecond, 2*time.Second))
			b.create(&pb.Ticket{})
			b.create(&pb.Ticket{})
			at := bad(t)
			hurt, beside := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := other.fetch(at)
				hurt <- err
			}()
			go func() {
				_, err := other.fetch(proposing(t, &pb.Match{MatchId: "beside"}))
				beside <- err
			}()
			matches, err := b.fetch(pairing(b), &pb.Pool{})
			require.NoError(t, err)
			require.Len(t, matches, 1)
			require.NoError(t, <-beside)
			require.Error(t, <-hurt)
		})
	}
}

// Two matches with one id cannot be told apart, so all callers of the cycle get the error, on every replica.
func TestFetchMatchesWithTheIDOfAnother(t *testing.T) {
	t.Parallel()
	b := setup(t, window(300*time.Millisecond, time.Second))
	other := replica(t, b.store.URL, window(300*time.Millisecond, time.Second))
	at := proposing(t, &pb.Match{MatchId: "m"})
	second := make(chan error, 1)
	go func() {
		_, err := other.fetch(at)
		second <- err
	}()
	_, err := b.fetch(at)
	for _, err := range []error{err, <-second} {
		require.Equal(t, codes.Unknown, status.Code(err))
		require.ErrorContains(t, err, `multiple match functions used same match_id: "m"`)
	}
}

// A director that disconnects cancels its match function.
func TestFetchMatchesEndsWithTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t, window(0, time.Minute))
	called, gone := make(chan struct{}), make(chan struct{})
	at := functionstest.ServeMMF(t, func(_ *pb.RunRequest, stream functionstest.RunServer) error {
		close(called)
		<-stream.Context().Done()
		close(gone)
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := b.FetchMatches(ctx, &pb.FetchMatchesRequest{Config: at, Profile: &pb.MatchProfile{}})
	require.NoError(t, err)
	<-called
	cancel()
	<-gone
	_, err = stream.Recv()
	require.Equal(t, codes.Canceled, status.Code(err))
}

// Over REST each match is a line, and so is an error after it.
func TestFetchMatchesOverREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := proposing(t, &pb.Match{MatchId: "m"})
	body := fmt.Sprintf(`{"config":{"host":%q,"port":%d},"profile":{"name":"p"}}`, at.GetHost(), at.GetPort())
	answer := b.rest(http.MethodPost, "/v1/backendservice/matches:fetch", body)
	require.Equal(t, http.StatusOK, answer.Status)
	require.JSONEq(t, `{"result":{"match":{"match_id":"m"}}}`, answer.Body)
	answer = b.rest(http.MethodPost, "/v1/backendservice/matches:fetch", `{"config":{"type":"REST"},"profile":{}}`)
	require.Equal(t, http.StatusInternalServerError, answer.Status)
	require.Contains(t, answer.Body, "error(s) in FetchMatches call. syncErr=[\\u003cnil\\u003e]")
}
