package process

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lattice-director/director/provider"
)

// state is state.json. It holds no environment: its values are secrets.
type state struct {
	Tag     provider.Tag             `json:"tag"`
	Owner   provider.Owner           `json:"owner"`
	App     string                   `json:"app"`
	Ports   map[string]provider.Port `json:"ports"`
	Started time.Time                `json:"started"`
	Ends    time.Time                `json:"ends"` // zero is never
}

// stopping is stop.json.
type stopping struct {
	KillAt    time.Time `json:"kill_at"`
	Signalled bool      `json:"signalled"` // SIGTERM was sent
	// Abandoned says that processes of the server survived SIGKILL for abandonAfter. Nobody waits for them any longer.
	Abandoned bool `json:"abandoned,omitempty"`
}

// deployment is a directory of one deployment.
type deployment struct {
	state state

	dir string
}

func (p *Provider) dirOf(tag provider.Tag) string { return filepath.Join(p.config.Dir, string(tag)) }

// readDeployment returns the deployment of a tag, whatever its phase; false means that there is none. An invalid tag has none: it
// could name a path outside the directory. A damaged file is none either: files are replaced as a whole, so only a
// crash of the machine damages one.
func (p *Provider) readDeployment(tag provider.Tag) (deployment, bool, error) {
	if !tag.Valid() {
		return deployment{}, false, nil
	}
	d := deployment{dir: p.dirOf(tag)}
	text, err := os.ReadFile(d.pathOf("state.json"))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return deployment{}, false, nil
	}
	if err != nil {
		return deployment{}, false, err // such as too many open files: this does not mean that there is none
	}
	if err := json.Unmarshal(text, &d.state); err != nil || d.state.Tag != tag {
		return deployment{}, false, nil //nolint:nilerr // see above
	}
	return d, true, nil
}

// allDeployments returns all in the order of their tags, or an error.
func (p *Provider) allDeployments() ([]deployment, error) {
	entries, err := os.ReadDir(p.config.Dir) // sorted by name
	if err != nil {
		return nil, err
	}
	var all []deployment
	for _, e := range entries {
		d, ok, err := p.readDeployment(provider.Tag(e.Name()))
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, d)
		}
	}
	return all, nil
}

func (d deployment) pathOf(file string) string { return filepath.Join(d.dir, file) }

func (d deployment) hasFile(file string) bool {
	_, err := os.Stat(d.pathOf(file))
	return err == nil
}

// hasRun reports whether the process exists or has existed. A director that died between state.json and the start leaves a
// directory for which this is false; Deploy then starts the server.
func (d deployment) hasRun() bool { return d.readPID() != 0 || d.isAlive() }

// createDir makes the directory, and state.json last: a directory without it is no deployment.
func (d deployment) createDir() error {
	if err := os.RemoveAll(d.dir); err != nil {
		return err
	}
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		return err
	}
	return writeJSON(d.pathOf("state.json"), d.state)
}

// makeWorkingDir returns the working directory of the server. Another user gets one of its own, and passes through the
// deployment's, whose files it cannot read.
func (d deployment) makeWorkingDir(user *User) (string, error) {
	if user == nil {
		return d.dir, nil
	}
	dir := d.pathOf("work")
	if err := errors.Join(os.Chmod(d.dir, 0o711), os.Mkdir(dir, 0o700)); err != nil {
		return "", err
	}
	return dir, os.Chown(dir, int(user.UID), int(user.GID))
}

// makeDir makes the directory of all deployments.
func makeDir(dir string, user *User) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || user == nil {
		return err
	}
	return os.Chmod(dir, 0o711)
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

func (p *Provider) observeDeployment(d deployment) provider.Observation {
	o := provider.Observation{
		Ref: provider.Ref(d.state.Tag), Tag: d.state.Tag, IP: p.config.Advertise, Ports: d.state.Ports,
		Started: d.state.Started, Ends: d.state.Ends,
	}
	switch alive := d.isAlive(); {
	case !alive:
		o.Phase, o.Error = provider.PhaseGone, d.exitText()
	case d.isAbandoned():
		o.Phase, o.Error = provider.PhaseGone, "some of its processes survive SIGKILL: look at the host"
	case d.hasFile("stop.json"):
		o.Phase = provider.PhaseStopping
	case d.readPID() == 0:
		o.Phase = provider.PhaseStarting
	default:
		o.Phase = provider.PhaseReady
	}
	o.Raw = string(o.Phase)
	return o
}

// isAbandoned reports whether a server whose processes are alive counts as gone.
func (d deployment) isAbandoned() bool {
	var s stopping
	return readJSON(d.pathOf("stop.json"), &s) == nil && s.Abandoned
}

// exitText returns how the process ended, if that is known.
func (d deployment) exitText() string {
	text, _ := os.ReadFile(d.pathOf("exit"))
	return string(text[:min(len(text), provider.MaxErrorBytes)])
}

// stopGroup sends SIGTERM, once, and records when the process is to be killed.
func (d deployment) stopGroup(now time.Time, grace time.Duration) error {
	s := stopping{KillAt: now.Add(grace)}
	if err := readJSON(d.pathOf("stop.json"), &s); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if !s.Signalled && d.readPID() != 0 {
		if err := terminateGroup(d.readPID()); err != nil {
			return err
		}
		s.Signalled = true
	}
	// Also if the process has not written its id yet: the tidier then signals it.
	return writeJSON(d.pathOf("stop.json"), s)
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
	return os.Rename(draft, path)
}
