package toolstest

import (
	"context"
	"os/exec"
	"strings"
)

// GoCommand returns a go command that runs in the directory of the product's module. Tests of another module of this
// repository need it to build the product's programs: their own go.mod lacks modules that these use.
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
