//go:build !linux && !darwin

package process

import (
	"context"
	"errors"
	"os"

	"github.com/lattice-director/director/provider"
)

// errUnsupported is what New returns here: a deployment is alive as long as its processes hold a file lock that they
// inherited, and other systems have no such lock.
var errUnsupported = errors.New("process: game servers as processes are not supported on this system")

func (*Provider) runServer(deployment, provider.Env, []string) error { return errUnsupported }

func isShortage(error) bool { return false }

func lockFile(context.Context, string) (*os.File, error) { return nil, errUnsupported }

func (deployment) isAlive() bool { return false }

func terminateGroup(int) error { return errUnsupported }

func killGroup(int) error { return errUnsupported }
