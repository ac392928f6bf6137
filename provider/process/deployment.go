package process

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/lattice-director/director/provider"
)

// state is state.json. It holds no environment, whose values are secrets.
type state struct {
	Tag     provider.Tag             `json:"tag"`
	Owner   provider.Owner           `json:"owner"`
	App     string                   `json:"app"`
	Ports   map[string]provider.Port `json:"ports"`
	Started time.Time                `json:"started"`
	Ends    time.Time                `json:"ends"` // zero is never
}

// stopState is stop.json.
type stopState struct {
	KillAt    time.Time `json:"kill_at"`
	Signalled bool      `json:"signalled"` // SIGTERM was sent
	// Abandoned says that processes of the server survived SIGKILL for abandonAfter. Nobody waits for them any longer.
	Abandoned bool `json:"abandoned,omitempty"`
}

// deployment is a deployment as its directory describes it.
type deployment struct {
	state state

	dir string
}

func (d deployment) pathOf(file string) string { return filepath.Join(d.dir, file) }

func (d deployment) hasFile(file string) bool {
	_, err := os.Stat(d.pathOf(file))
	return err == nil
}

// readPID returns 0 as long as the process has not written all of it.
func (d deployment) readPID() int {
	text, _ := os.ReadFile(d.pathOf("pid"))
	digits, complete := strings.CutSuffix(string(text), "\n")
	pid, err := strconv.Atoi(digits)
	if !complete || err != nil || pid <= 1 { // kill(2) takes 1 and less for other processes
		return 0
	}
	return pid
}

// isAbandoned reports whether a server whose processes are alive counts as gone.
func (d deployment) isAbandoned() bool {
	var s stopState
	return readJSON(d.pathOf("stop.json"), &s) == nil && s.Abandoned
}

// exitText returns how the process ended, if that is known.
func (d deployment) exitText() string {
	text, _ := os.ReadFile(d.pathOf("exit"))
	return string(text[:min(len(text), provider.MaxErrorBytes)])
}

func readJSON(path string, to any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// writeJSON replaces a file as a whole.
func writeJSON(path string, from any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	draft := path + ".new"
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		return err
	}
	// Without fsync: a crash of the machine also ends the server, whose damaged file then counts as none.
	return os.Rename(draft, path)
}
