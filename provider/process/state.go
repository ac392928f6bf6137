package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lattice-director/director/provider"
)

func (p *Provider) dirOf(tag provider.Tag) string { return filepath.Join(p.config.Dir, string(tag)) }

// readDeployment returns the deployment of a tag, whatever its phase; false means that there is none. An invalid tag
// has none: it could name a path outside the directory. A damaged file is none either: files are replaced as a whole,
// so only a crash of the machine damages one.
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

// hasRun reports whether the process exists or has existed. A director that died between state.json and the start
// leaves a directory for which this is false; Deploy then starts the server.
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

func (p *Provider) observeDeployment(d deployment) provider.Observation {
	o := provider.Observation{
		Ref: provider.Ref(d.state.Tag), Tag: d.state.Tag, IP: p.config.Advertise, Ports: d.state.Ports,
		Started: d.state.Started, Ends: d.state.Ends,
	}
	switch alive := d.isAlive(); {
	case !alive:
		o.Phase, o.Error = provider.PhaseGone, d.exitText()
	// Before the next case: an abandoned deployment has a stop.json as well.
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

// stopGroup sends SIGTERM, once, and records when the process is to be killed.
func (d deployment) stopGroup(now time.Time, grace time.Duration) error {
	s := stopState{KillAt: now.Add(grace)}
	if err := readJSON(d.pathOf("stop.json"), &s); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// Once: at a second SIGTERM many games exit at once, in the middle of saving.
	if !s.Signalled && d.readPID() != 0 {
		if err := terminateGroup(d.readPID()); err != nil {
			return err
		}
		s.Signalled = true
	}
	// Also if the process has not written its id yet: the tidier then signals it.
	return writeJSON(d.pathOf("stop.json"), s)
}

// acquireLock takes the lock that orders all directors that share the directory.
func (p *Provider) acquireLock(ctx context.Context, op string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, provider.Fail(provider.Transient, op, err)
	}
	select {
	case p.lockSlot <- struct{}{}:
	case <-ctx.Done():
		return nil, provider.Fail(provider.Transient, op, ctx.Err())
	}
	file, err := lockFile(ctx, filepath.Join(p.config.Dir, ".lock"))
	if err != nil {
		<-p.lockSlot
		return nil, provider.Fail(provider.Transient, op, fmt.Errorf("cannot lock %s: %w", p.config.Dir, err))
	}
	return func() {
		_ = file.Close()
		<-p.lockSlot
	}, nil
}
