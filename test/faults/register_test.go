package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// A registration waits in the socket of a frozen replica while another process registers under the same id. When the
// replica continues, it reads the old registration, which must not supersede the newer process.
func TestLateRegistrationsSupersedeNoProcess(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestFrozenGameServerIsFenced")
	r := newRig(t)
	frozen, running := r.ServeReplica(), r.ServeReplica()
	base := fields{"endpoint": "h:1", "region": "eu", "modes": []string{"duel"}, "capacity": 64}
	call := func(path string, body fields) fields {
		t.Helper()
		return r.RequireOK(r.PostJSON(running.URL, path, http.Header{"X-Fleet-Token": {fleetToken}}, body))
	}
	register := func(id, boot string, replaces any) fields {
		t.Helper()
		body := maps.Clone(base)
		maps.Copy(body, fields{"instance_id": id, "boot_id": boot, "replaces": replaces})
		return call("/fleet/register", body)
	}
	for name, first := range map[string]bool{"first-registration": true, "another-registration": false} {
		before := register(name, "process-1", "none")
		late := maps.Clone(base)
		maps.Copy(late, fields{"instance_id": name, "boot_id": "process-1", "replaces": before["incarnation"],
			"endpoint": "h:2"})
		if first {
			maps.Copy(late, fields{"boot_id": "process-2", "replaces": "none"})
		}
		require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP))
		answer := r.send(frozen, "/fleet/register", late)
		now := register(name, "process-3", before["incarnation"])
		require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))

		// 503: Postgres has closed the idle connection of the frozen replica.
		require.Contains(t, []int{http.StatusConflict, http.StatusServiceUnavailable}, answer(), name)
		call("/fleet/heartbeat", fields{"instance_id": name, "incarnation": now["incarnation"]})
	}
}

// send writes a call into a replica's socket, which a frozen replica does not read yet. The function that it returns
// waits for the status of the answer.
func (r *rig) send(p *process, path string, body fields) (answer func() int) {
	r.T.Helper()
	text := must.Get(json.Marshal(body))(r.T)
	req := must.Get(http.NewRequestWithContext(r.T.Context(), http.MethodPost, p.URL+path, bytes.NewReader(text)))(r.T)
	req.Header = http.Header{"X-Fleet-Token": {fleetToken}, "Content-Type": {"application/json"}}
	conn := webtest.Dial(r.T, strings.TrimPrefix(p.URL, "http://"))
	require.NoError(r.T, req.Write(conn))
	return func() int {
		r.T.Helper()
		require.NoError(r.T, conn.SetReadDeadline(time.Now().Add(30*time.Second)))
		res, err := http.ReadResponse(bufio.NewReader(conn), req)
		require.NoError(r.T, err)
		_ = res.Body.Close()
		return res.StatusCode
	}
}
