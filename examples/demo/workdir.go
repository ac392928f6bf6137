package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lattice-director/director/db/pglocal"
)

const workdirPrefix = "director-demo-"

// workdir is where everything of one demo lies: bin/ when it was built, postgres/ the cluster, logs/ what all said.
type workdir string

// newWorkdir makes one, after removing what is large of demos that were killed or failed a while ago. Their logs stay.
func newWorkdir(ctx context.Context) (workdir, error) {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), workdirPrefix+"*")) // The pattern is well-formed.
	for _, dir := range old {
		workdir(dir).shrink(ctx)
	}
	dir, err := os.MkdirTemp("", workdirPrefix)
	if err != nil {
		return "", err
	}
	// Postgres refuses to run as root; started by root it runs as somebody else, who has to get through here.
	return workdir(dir), errors.Join(os.Chmod(dir, 0o711), os.Mkdir(workdir(dir).logs(), 0o700))
}

// keepFor is how long the database of a demo that failed can be looked into.
const keepFor = time.Hour

// shrink removes the cluster and the binaries, unless the demo they belong to is still running. It holds the cluster from
// before there are binaries to its end.
func (w workdir) shrink(ctx context.Context) {
	if info, err := os.Stat(w.postgres()); err != nil || time.Since(info.ModTime()) < keepFor {
		return
	}
	if pglocal.Remove(ctx, w.postgres()) == nil { // Else it is in use, or another user's.
		_ = os.RemoveAll(w.bin())
	}
}

func (w workdir) postgres() string { return filepath.Join(string(w), "postgres") }
func (w workdir) bin() string      { return filepath.Join(string(w), "bin") }
func (w workdir) logs() string     { return filepath.Join(string(w), "logs") }

func (w workdir) remove() { _ = os.RemoveAll(string(w)) }

// binaries are the programs that the demo runs.
type binaries struct{ director, arena string }

// build takes the binaries of o.bin, or builds them.
func (w workdir) build(ctx context.Context, o options) (binaries, error) {
	dir := o.bin
	if dir == "" {
		dir = w.bin()
		const module = "github.com/lattice-director/director"
		cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", module+"/cmd/director", module+"/examples/arena")
		if output, err := cmd.CombinedOutput(); err != nil {
			return binaries{}, fmt.Errorf("go build: %w\n%s", err, output)
		}
	}
	dir, err := filepath.Abs(dir)
	b := binaries{director: filepath.Join(dir, "director"), arena: filepath.Join(dir, "arena")}
	for _, path := range []string{b.director, b.arena} {
		if err == nil {
			_, err = os.Stat(path)
		}
	}
	return b, err
}
