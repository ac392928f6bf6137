package rest_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
)

func TestRequestIDIsTheCallersOrNew(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{})
	require.Equal(t, "a.B:1-_", b.get("/x", "X-Request-Id", "a.B:1-_").Header().Get("X-Request-Id"))
	seen := map[string]bool{}
	for _, bad := range []string{"", " ", "a b", "é", strings.Repeat("x", 129), "a\x00", `"}{"`} {
		id := b.get("/x", "X-Request-Id", bad).Header().Get("X-Request-Id")
		require.Regexp(t, `^[0-9a-f]{32}$`, id)
		require.False(t, seen[id])
		seen[id] = true
	}
}

func TestRequestIDIsOnEveryAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{}).fails(errors.New("x"))
	b.GET("/panic", func(*gin.Context) { panic("boom") })
	for _, path := range []string{"/fail", "/panic", "/nothing", "/join"} {
		require.Equal(t, "id-1", b.get(path, "X-Request-Id", "id-1").Header().Get("X-Request-Id"), path)
	}
	require.Equal(t, "id-1", b.post(with(`"seats":1`), "X-Request-Id", "id-1").Header().Get("X-Request-Id"))
}

// Packages that know no HTTP log with their context, and their records carry the request id.
func TestRequestIDIsInEveryRecordOfItsContext(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(rest.LogHandler(rest.LogHandler(slog.NewTextHandler(&out, nil)))).With(slog.String("part", "db"))
	b := setup(t, rest.Options{})
	b.GET("/logs", rest.Handle(http.StatusOK, func(ctx context.Context, _ rest.In[rest.None]) (rest.None, error) {
		log.InfoContext(ctx, "inside")
		return rest.None{}, nil
	}))
	b.get("/logs", "X-Request-Id", "id-1")
	require.Equal(t, 1, strings.Count(out.String(), "request_id=id-1"), out.String())
	out.Reset()
	log.InfoContext(context.Background(), "outside")
	require.NotContains(t, out.String(), "request_id")
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	b := setup(t, rest.Options{QuietRoutes: []string{"/healthz"}}).fails(errors.New("x"))
	b.GET("/healthz", func(*gin.Context) {})
	b.post(with(`"seats":1`), "X-Request-Id", "id-1")
	b.post(`{`)
	b.get("/healthz")
	b.serve(request("BREW", "/pot", ""))
	b.get("/fail")

	lines := b.lines(t)
	require.Len(t, lines, 5, "one for each request")
	require.Equal(t, "request", lines[0]["msg"])
	require.Equal(t, "POST", lines[0]["method"])
	require.Equal(t, "/join", lines[0]["route"])
	require.EqualValues(t, 200, lines[0]["status"])
	require.Equal(t, "id-1", lines[0]["request_id"])
	require.Positive(t, lines[0]["bytes"])
	require.Contains(t, lines[0], "duration")
	require.Equal(t, "invalid_json", lines[1]["code"])
	require.NotContains(t, lines[1], "error", "no cause for errors of the caller")
	require.Equal(t, "DEBUG", lines[2]["level"])
	require.Equal(t, "other", lines[3]["method"])
	require.Equal(t, "unmatched", lines[3]["route"])
	require.Equal(t, "ERROR", lines[4]["level"])
}

// Logs are copied, shipped and read by many: they must not hold credentials or session handles.
func TestSecretsNeverReachTheLog(t *testing.T) {
	t.Parallel()
	verify := func(_ context.Context, raw string) (string, error) {
		if raw == "good-s3cret" {
			return "alice", nil
		}
		return "", errors.New("signature is wrong")
	}
	b := setup(t, rest.Options{})
	fleet := rest.FleetTokens{SharedSecrets: []string{"fleet-s3cret"}}.Handler()
	player := rest.RequireBearer(verify, nil)
	answer := rest.Handle(http.StatusOK, join)
	b.POST("/fleet", fleet, answer)
	b.POST("/play", player, answer)
	b.GET("/sessions/:id", player, func(*gin.Context) { panic("boom") })
	body := with(`"labels":{"session_handle":"handle-s3cret"}`)
	headers := []string{"X-Fleet-Token", "fleet-s3cret", "Authorization", "Bearer good-s3cret", "Cookie", "c=s3cret"}
	for _, r := range []*http.Request{
		request("POST", "/fleet?token=s3cret", body, headers...),
		request("POST", "/play?access_token=s3cret", body, headers...),
		request("POST", "/fleet", body, "X-Fleet-Token", "wrong-s3cret"),
		request("POST", "/play", body, "Authorization", "Bearer bad-s3cret"),
		request("POST", "/play", body, "Authorization", "s3cret"),
		request("POST", "/play", `{"id":"s3cret s3cret"}`, headers...),
		request("POST", "/play", `{"s3cret`, headers...),
		request("GET", "/sessions/s3cret", "", headers...),
		request("GET", "/nowhere/s3cret", "", headers...),
		request("s3cret", "/play", "", headers...),
	} {
		b.serve(r)
	}
	require.Len(t, b.lines(t), 11, "one each, and the panic")
	require.NotContains(t, b.log.String(), "s3cret")
}
