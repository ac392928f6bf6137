package rigtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/variant"
)

const (
	// AgentKey is the secret of Rivalis game servers.
	AgentKey = "an-agent-key-of-tests-0000000000000000"
	// AdminKey is the secret of callers of the orchestrator's REST API.
	AdminKey = "an-admin-key-of-tests-0000000000000000"
)

// OrchestratorSettings returns settings with which agents and callers of the orchestrator authenticate.
func OrchestratorSettings() []string {
	return []string{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS=" + AgentKey, "DIRECTOR_ORCHESTRATOR_ADMIN_KEYS=" + AdminKey}
}

// NewAgent returns a simulated Rivalis game server that connects to an address, host:port, and connects again soon.
func NewAgent(addr, name string, change ...func(*agents.Config)) *agents.Agent {
	c := variant.Apply(agents.Config{
		URL: "ws://" + addr, Key: AgentKey, Name: name, EndpointURL: "wss://" + name + ".example.com",
		RoomTypes: []string{"duel"},
		Random:    func() float64 { return 0.1 },
	}, change...)
	return agents.New(c)
}

// CallOrchestrator calls the orchestrator's REST API at an address once, over a connection of its own. Without an
// answer the status is 0. cause is set in answers that are errors.
func (r *Rig) CallOrchestrator(ctx context.Context, addr, method, path string,
	body any) (status int, cause string, data json.RawMessage) {
	var text []byte
	// A nil body would become the JSON text null, which is a body.
	if body != nil {
		text, _ = json.Marshal(body)
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, bytes.NewReader(text))
	require.NoError(r.T, err)
	req.Header.Set("Authorization", "Bearer "+AdminKey)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Close = true // behind a balancer each call may reach another replica
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", nil
	}
	defer func() { _ = res.Body.Close() }()
	var answer struct {
		Cause string          `json:"cause"`
		Data  json.RawMessage `json:"data"`
	}
	all, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		// The answer was cut off, as by the end of the replica: that is no answer either.
		return 0, "", nil
	}
	_ = json.Unmarshal(all, &answer)
	return res.StatusCode, answer.Cause, answer.Data
}

// CreateRoom creates a room as callers should: after ROOM_EXISTS it reads the room that an earlier call has created.
// Without an answer the status is 0.
func (r *Rig) CreateRoom(ctx context.Context, addr, id string) (status int, cause string) {
	status, cause, _ = r.CallOrchestrator(ctx, addr, http.MethodPost, "/v1/rooms", Fields{"type": "duel", "roomId": id})
	if cause == "ROOM_EXISTS" { // 404 while the first call still runs
		status, cause, _ = r.CallOrchestrator(ctx, addr, http.MethodGet, "/v1/rooms/"+id, nil)
	}
	return status, cause
}
