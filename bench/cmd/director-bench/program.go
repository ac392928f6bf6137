package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lattice-director/director/internal/cli"
)

// directorFlag adds the flag that names the director's binary.
const directorFlag = "director"

func (p *program) addDirectorFlag(flags *pflag.FlagSet, path *string) {
	flags.StringVar(path, directorFlag, p.variable("DIRECTOR_PROGRAM"),
		"The director's program, of a director of its own. "+
			"Not set: the one beside this program, else that of PATH [DIRECTOR_PROGRAM]")
}

// director is the path of the director's binary.
type director struct{ path, version string }

// findDirector returns the binary that the flag names, else the one beside this program, else that of PATH.
func findDirector(ctx context.Context, named string) (director, error) {
	path, err := lookUp(named)
	if err != nil {
		return director{}, err
	}
	text, err := exec.CommandContext(ctx, path, "version", "--output", "json").Output()
	if err != nil {
		return director{}, fmt.Errorf("%s version: %w", path, err)
	}
	var build struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &build); err != nil {
		return director{}, fmt.Errorf("%s version: %w", path, err)
	}
	return director{path, build.Version}, nil
}

func lookUp(named string) (string, error) {
	if named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", cli.Usage(fmt.Errorf("--%s: %w", directorFlag, err))
		}
		return filepath.Abs(path)
	}
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), "director")); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("director")
	if err != nil {
		return "", errors.Join(errors.New("no director to measure: build it beside this program ('make build' does), or name it with --"+directorFlag), err)
	}
	return path, nil
}

// program is shared by all commands.
type program struct {
	environ []string
	stderr  io.Writer
}

// variable returns the value of an environment variable; "" when it is not set.
func (p *program) variable(name string) string {
	for _, pair := range p.environ {
		if key, text, _ := strings.Cut(pair, "="); key == name {
			return text
		}
	}
	return ""
}
