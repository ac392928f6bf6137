package openmatch_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/rest"
)

const (
	lobbyToken    = "a token of the lobby's"
	directorToken = "=a token= of the director's"
	anyToken      = "a token that opens all"
)

func tokens(c *config) {
	c.Tokens = []string{"frontend=" + lobbyToken, "backend=" + directorToken, anyToken}
	c.FailureRate = rest.Rate{PerSecond: -1}
}

// called returns the code of one call of each service.
func called(ctx context.Context, conn *grpc.ClientConn) (frontend, backend, query codes.Code) {
	_, err := pb.NewFrontendServiceClient(conn).GetTicket(ctx, &pb.GetTicketRequest{TicketId: "x"})
	frontend = status.Code(err)
	_, err = pb.NewBackendServiceClient(conn).ReleaseTickets(ctx, &pb.ReleaseTicketsRequest{})
	backend = status.Code(err)
	stream, err := pb.NewQueryServiceClient(conn).QueryTickets(ctx, &pb.QueryTicketsRequest{})
	if err == nil {
		_, err = stream.Recv()
	}
	return frontend, backend, status.Code(err)
}

// Pins a token that opens another service than its own, over gRPC or REST.
func TestTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, tokens)
	const no, denied, in, good, asked = codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.OK, codes.InvalidArgument
	for token, want := range map[string][3]codes.Code{
		"":                     {no, no, no},
		"wrong":                {no, no, no},
		lobbyToken:             {in, denied, denied},
		directorToken:          {denied, good, denied},
		anyToken:               {in, good, asked},
		anyToken + "x":         {no, no, no},
		"frontend=" + anyToken: {no, no, no},
	} {
		conn := b.dial(grpc.WithPerRPCCredentials(bearer(token)))
		var got [3]codes.Code
		got[0], got[1], got[2] = called(t.Context(), conn)
		require.Equal(t, want, got, token)

		require.Equal(t, want, calledOverREST(t, b.web.URL, nil, "bearer", token), token)
	}
	a := b.rest(http.MethodGet, frontendPath+"/nothing", "")
	require.JSONEq(t, `{"code":16,"message":"the token is missing or wrong: send it as metadata or header: authorization: Bearer <token>"}`, a.Body)
}

// Pins unlimited attempts to guess a token, and callers with a token that are refused because of such attempts.
func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	b := setup(t, tokens, func(c *config) { c.FailureRate = rest.Rate{PerSecond: 0.001, Burst: 3}; c.token = anyToken })
	conn := b.dial(grpc.WithPerRPCCredentials(bearer("wrong")))
	for _, want := range []codes.Code{codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated,
		codes.ResourceExhausted} {
		_, err := pb.NewFrontendServiceClient(conn).GetTicket(t.Context(), &pb.GetTicketRequest{})
		require.Equal(t, want, status.Code(err))
	}
	require.Equal(t, http.StatusTooManyRequests, b.rest(http.MethodGet, frontendPath+"/tickets/x", "").Status,
		"the same address")
	b.create(&pb.Ticket{})
}

// Pins a health service that needs a token, and reflection that needs none.
func TestHealthAndReflection(t *testing.T) {
	t.Parallel()
	b := setup(t, tokens)
	conn := b.dial()
	for _, service := range []string{"", "openmatch.FrontendService", "openmatch.BackendService",
		"openmatch.QueryService"} {
		answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		require.NoError(t, err)
		require.Equal(t, healthpb.HealthCheckResponse_SERVING, answer.GetStatus())
	}
	list := func(conn *grpc.ClientConn) (names []string, err error) {
		stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, stream.CloseSend()) }()
		_ = stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		answer, err := stream.Recv()
		for _, s := range answer.GetListServicesResponse().GetService() {
			names = append(names, s.GetName())
		}
		return names, err
	}
	_, err := list(conn)
	require.Equal(t, codes.Unauthenticated, status.Code(err))
	names, err := list(b.dial(grpc.WithPerRPCCredentials(bearer(directorToken))))
	require.NoError(t, err)
	require.Subset(t, names, []string{"openmatch.FrontendService", "openmatch.BackendService", "openmatch.QueryService",
		"grpc.health.v1.Health"})

	b.server.Drain()
	answer, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthpb.HealthCheckResponse_NOT_SERVING, answer.GetStatus())
}

// Pins a certificate that opens other services than its own, or that is required besides a token.
func TestCertificates(t *testing.T) {
	t.Parallel()
	a, strangers := certtest.New(t), certtest.New(t)
	var options openmatch.Options
	b := setup(t, func(c *config) {
		c.TLS = &tls.Config{Certificates: []tls.Certificate{a.Issue("localhost")}, MinVersion: tls.VersionTLS12}
		c.ClientCA, c.Tokens, c.ClientNames = a.File("ca.pem"), []string{anyToken}, []string{"lobby.example",
			"backend=director.example"}
		c.FailureRate = rest.Rate{PerSecond: -1}
		options = c.Options
	})
	web := httptest.NewUnstartedServer(b.web.Config.Handler)
	var err error
	web.TLS, err = options.ClientTLS(options.TLS)
	require.NoError(t, err)
	web.StartTLS()
	t.Cleanup(web.Close)
	const no, denied, in, good, asked = codes.Unauthenticated, codes.PermissionDenied, codes.NotFound, codes.OK, codes.InvalidArgument
	for name, c := range map[string]struct {
		token        string
		certificates []tls.Certificate
		want         [3]codes.Code
	}{
		"nothing":    {"", nil, [3]codes.Code{no, no, no}},
		"a token":    {anyToken, nil, [3]codes.Code{in, good, asked}},
		"opens all":  {"", []tls.Certificate{a.Issue("lobby.example")}, [3]codes.Code{in, good, asked}},
		"opens one":  {"", []tls.Certificate{a.Issue("director.example")}, [3]codes.Code{denied, good, denied}},
		"opens none": {"", []tls.Certificate{a.Issue("other.example")}, [3]codes.Code{denied, denied, denied}},
		"a stranger's": {"", []tls.Certificate{strangers.Issue("lobby.example")},
			[3]codes.Code{codes.Unavailable, codes.Unavailable, codes.Unavailable}},
		"a name and a token": {anyToken, []tls.Certificate{a.Issue("other.example")}, [3]codes.Code{in, good, asked}},
	} {
		config := &tls.Config{RootCAs: a.Pool,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if c.certificates == nil {
					return new(tls.Certificate), nil
				}
				return &c.certificates[0], nil
			}}
		conn := b.dial(grpc.WithTransportCredentials(credentials.NewTLS(config)),
			grpc.WithPerRPCCredentials(bearer(c.token)))
		var got [3]codes.Code
		got[0], got[1], got[2] = called(t.Context(), conn)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.want, calledOverREST(t, web.URL, config, "Bearer", c.token), name+", over REST")
	}
}

// calledOverREST returns the code of one request to each service; Unavailable where the connection fails.
func calledOverREST(t *testing.T, url string, config *tls.Config, scheme, token string) (got [3]codes.Code) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	for i, request := range []struct{ method, path, body string }{
		{http.MethodGet, frontendPath + "/tickets/x", ""}, {http.MethodPost, backendPath + "/tickets:release", "{}"},
		{http.MethodPost, queryPath + "/tickets:query", "{}"},
	} {
		r := must.Get(http.NewRequestWithContext(t.Context(), request.method, url+request.path,
			strings.NewReader(request.body)))(t)
		if token != "" {
			r.Header.Set("Authorization", scheme+" "+token)
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			got[i] = codes.Unavailable
			continue
		}
		require.NoError(t, answer.Body.Close())
		statuses := map[int]codes.Code{
			http.StatusOK: codes.OK, http.StatusUnauthorized: codes.Unauthenticated,
			http.StatusForbidden: codes.PermissionDenied,
			http.StatusNotFound:  codes.NotFound, http.StatusBadRequest: codes.InvalidArgument,
		}
		require.Contains(t, statuses, answer.StatusCode)
		got[i] = statuses[answer.StatusCode]
	}
	return got
}

// Pins a server without authentication because a setting was forgotten, and one that requires it on loopback.
func TestSettingsThatAreRefused(t *testing.T) {
	t.Parallel()
	store := storetest.Open(t, dbtest.New(t))
	makes := func(o openmatch.Options) error {
		o.Store = store
		s, err := openmatch.New(o)
		if err == nil {
			require.NoError(t, s.Stop(t.Context()))
		}
		return err
	}
	for name, c := range map[string]struct {
		options openmatch.Options
		says    string
	}{
		"open to all": {openmatch.Options{Addrs: []string{"127.0.0.1:1", ":50504"}},
			"clients that reach :50504 need no credentials: set tokens"},
		"open over REST": {openmatch.Options{Addrs: []string{"127.0.0.1:1"}, HTTPAddr: "10.0.0.1:8080"},
			"clients that reach 10.0.0.1:8080"},
		"a host's name": {openmatch.Options{Addrs: []string{"db.internal:1"}}, "clients that reach"},
		"a short token": {openmatch.Options{Tokens: []string{anyToken, "query=hunter2"}},
			"token 2 is shorter than 16 bytes"},
		"certificates without TLS": {openmatch.Options{ClientCA: "ca.pem"}, "requires TLS"},
		"no such authority": {openmatch.Options{ClientCA: "/nowhere/ca.pem",
			TLS: &tls.Config{MinVersion: tls.VersionTLS12}}, "/nowhere/ca.pem"},
		"an evaluator of no kind": {openmatch.Options{EvaluatorURL: "evaluator:50508"}, "evaluator"},
		"a function of no host":   {openmatch.Options{FunctionHosts: []string{"not a host"}}, "not a host"},
	} {
		err := makes(c.options)
		require.ErrorContains(t, err, c.says, name)
		require.NotContains(t, err.Error(), "hunter2", name)
	}
	_, err := openmatch.New(openmatch.Options{})
	require.ErrorContains(t, err, "a store is required")
	for _, fine := range []openmatch.Options{
		{Addrs: []string{"127.0.0.1:1", "[::1]:1", "localhost:1"}, HTTPAddr: "127.0.0.1:8080"},
		{Addrs: []string{":50504"}, OpenToAll: true},
		{Addrs: []string{":50504"}, Tokens: []string{anyToken}},
	} {
		require.NoError(t, makes(fine))
	}
}
