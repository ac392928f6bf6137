package main

import (
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
)

// Pins a command that writes something else than the protocol to its output.
func TestMCP(t *testing.T) {
	t.Parallel()
	requests, ask := io.Pipe()
	read, answers := io.Pipe()
	ended := make(chan error, 1)
	stderr := &logtest.Buffer{}
	go func() {
		ended <- Run(t.Context(), []string{"mcp"}, env("DATABASE_URL="+dbtest.New(t)), requests, answers, stderr)
	}()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "v1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: read, Writer: ask}, nil)
	require.NoError(t, err)
	require.Equal(t, "lattice-director", session.InitializeResult().ServerInfo.Name)
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "doctor"})
	require.NoError(t, err)
	require.Contains(t, answer.Content[0].(*mcp.TextContent).Text, `"check":"database","state":"ok"`)
	require.NoError(t, session.Close())
	require.NoError(t, <-ended)
}
