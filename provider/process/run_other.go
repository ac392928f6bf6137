//go:build !linux && !darwin

package process

import (
	"context"
	"errors"
	"os"

	"github.com/lattice-director/director/provider"
)

// New returns this: file locks that a process inherits are needed.
var supported = errors.New("process: game servers as processes are not supported on this system")

func (*Provider) run(deployment, provider.Env, []string) error { return supported }

func lockFile(context.Context, string) (*os.File, error) { return nil, supported }

func (deployment) isAlive() bool { return false }

func terminate(int) error { return supported }

func kill(int) error { return supported }
