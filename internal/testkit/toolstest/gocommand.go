package toolstest

import (
	"context"
	"os/exec"
	"strings"
)

// GoCommand is a go command that runs in the directory of the product's module, also for tests of another module of
// this repository, whose go.mod has not all that the product's programs need.
func GoCommand(ctx context.Context, args ...string) (*exec.Cmd, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/lattice-director/director").Output()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = strings.TrimSpace(string(root))
	return cmd, nil
}
