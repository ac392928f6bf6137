package assistant_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/assistant"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const duel = "teams: [{name: a, players: 1, count: 2}]\nrules: [{near: skill, within: 100}]\n"

// bundle is an installation, and an assistant that is connected to it.
type bundle struct {
	*storetest.DB
	t       *testing.T
	session *mcp.ClientSession
	ended   chan error // of the server
	stop    context.CancelFunc
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{DB: storetest.New(t), t: t, ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	b.stop = stop
	requests, ask := io.Pipe()
	read, answers := io.Pipe()
	o := assistant.Options{
		Store: b.Store, Doctor: doctor.Doctor{Store: b.Store}, Universe: "global", Version: "v1",
		Explain:   explainer.New(explainer.Options{Store: b.Store, Universe: "global"}),
		ErrorText: func(err error) error { return fmt.Errorf("explained: %w", err) },
	}
	go func() { b.ended <- assistant.Serve(ctx, o, requests, answers) }()
	b.session = must.Get(mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: read, Writer: ask}, nil))(t)
	t.Cleanup(func() { stop(); _ = b.session.Close(); _ = ask.Close(); _ = read.Close() })
	return b
}

// call returns the text of a tool's answer.
func (b *bundle) call(tool string, arguments map[string]any) (text string, isError bool) {
	b.t.Helper()
	answer := must.Get(b.session.CallTool(b.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments}))(b.t)
	require.Len(b.t, answer.Content, 1)
	content, ok := answer.Content[0].(*mcp.TextContent)
	require.True(b.t, ok)
	return content.Text, answer.IsError
}

// rows returns the rows of a list.
func (b *bundle) rows(tool string, arguments map[string]any) (rows []map[string]any, more bool) {
	b.t.Helper()
	text, isError := b.call(tool, arguments)
	require.False(b.t, isError, text)
	var answer struct {
		Rows []map[string]any
		More bool
	}
	require.NoError(b.t, json.Unmarshal([]byte(text), &answer), text)
	return answer.Rows, answer.More
}

// Pins a tool that changes something, or that an assistant must ask before it calls although it only reads.
func TestEveryToolReads(t *testing.T) {
	t.Parallel()
	b := setup(t)
	listed, err := b.session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		require.True(t, tool.Annotations.ReadOnlyHint, tool.Name)
		require.NotEmpty(t, tool.Description)
	}
	slices.Sort(names)
	require.Equal(t, []string{"capacity", "doctor", "events", "explain_ticket", "waiting_tickets"}, names)
	require.Contains(t, b.session.InitializeResult().Instructions, "Begin with the tool doctor")

	b.Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$")
	b.Store.Pool().Reset()
	for _, name := range names {
		var arguments map[string]any
		if name == "explain_ticket" {
			arguments = map[string]any{"ticket": "none"}
		}
		text, isError := b.call(name, arguments)
		require.Equal(t, name == "explain_ticket", isError, "%s: %s", name, text)
	}
	text, _ := b.call("doctor", nil)
	require.Contains(t, text, `"check":"writes","state":"fail"`)
}

func TestAnAssistantFindsWhyATicketWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", duel)
	b.AddServer("s1", 8)
	beginner, expert := b.QueuePlayer("ada", 100, "duel"), b.QueuePlayer("bo", 900, "duel")
	waiting, more := b.rows("waiting_tickets", map[string]any{"profile": "duel", "limit": 1})
	require.True(t, more)
	require.Equal(t, beginner, waiting[0]["ticket"])
	require.Equal(t, []any{"ada"}, waiting[0]["players"])
	text, isError := b.call("explain_ticket", map[string]any{"ticket": beginner})
	require.False(t, isError, text)
	require.Contains(t, text, expert, "the nearest ticket that cannot play with it")
	none, _ := b.rows("waiting_tickets", map[string]any{"profile": "other"})
	require.Empty(t, none)

	capacity, _ := b.rows("capacity", nil)
	require.Equal(t, []any{"eu", "", float64(8)}, []any{capacity[0]["region"], capacity[0]["why"], capacity[0]["free_seats"]})
	elsewhere, _ := b.rows("capacity", map[string]any{"region": "mars"})
	require.Empty(t, elsewhere)
	events, _ := b.rows("events", map[string]any{"kind": "instance.", "instance": "s1"})
	require.NotEmpty(t, events)
	for _, e := range events {
		require.Equal(t, "s1", e["instance"])
	}
}

// Pins an answer that fills the memory of an assistant, and a number that is taken for another one.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for tool, arguments := range map[string]map[string]any{
		"waiting_tickets": {"limit": 101}, "capacity": {"limit": -1}, "events": {"minutes": 20000}, "explain_ticket": {"ticket": "unknown"},
	} {
		text, isError := b.call(tool, arguments)
		require.True(t, isError, text)
		require.True(t, strings.HasPrefix(text, "explained: "), text)
	}
	b.Exec(`INSERT INTO events (region, kind, actor, detail) SELECT 'eu', 'pool.scaled', 'ada', jsonb_build_object('reason', repeat('x', 2000)) FROM generate_series(1, 100)`)
	text, _ := b.call("events", map[string]any{"kind": "pool.", "limit": 100})
	require.LessOrEqual(t, len(text), 48<<10)
	rows, more := b.rows("events", map[string]any{"kind": "pool.", "limit": 100})
	require.NotEmpty(t, rows)
	require.True(t, more, "it says that rows are left out")
	rows, more = b.rows("events", map[string]any{"kind": "pool.", "limit": 2})
	require.Len(t, rows, 2)
	require.True(t, more)
	old, _ := b.rows("events", map[string]any{"kind": "session."})
	require.Empty(t, old)
}

// Pins a command that stays when the assistant has gone, or that reports its end as a failure.
func TestTheServerEndsWithItsAssistant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.session.Close())
	require.NoError(t, <-b.ended)
	b = setup(t)
	b.stop()
	require.NoError(t, <-b.ended)
	require.Error(t, b.session.Ping(t.Context(), nil))
}
