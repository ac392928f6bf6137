package pglocal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const superuser = "postgres"

// majorOf returns the major version of Postgres that made the data directory, 0 if there is none.
func majorOf(data string) (int, error) {
	content, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, fmt.Errorf("%s is not a data directory of Postgres: %w", data, err)
	}
	return major, nil
}

// binariesFor returns an installation that can run the data directory. made is the version that made it, or 0.
func binariesFor(o Options, data string, made int) (Binaries, error) {
	b, err := chooseBinaries(o, made)
	if err != nil || made == 0 || made == b.Major {
		return b, err
	}
	return b, fmt.Errorf("%s was made by Postgres %d, but the binaries in %s are version %d: set %s to a "+
		"directory with version %d, or use another data directory", data, made, b.Dir, b.Major, EnvBinDir, made)
}

func chooseBinaries(o Options, made int) (Binaries, error) {
	if o.Binaries.Dir != "" {
		return o.Binaries, nil
	}
	// The newest would refuse the data of another major version.
	if made != 0 {
		if b, err := findBinaries(func(b Binaries) bool { return b.Major == made }); err == nil && b.Dir != "" {
			return b, nil
		}
	}
	return Find()
}

// initCluster makes the data directory. It gets its final name only when it is complete, so that a run that was killed
// leaves no partial one under that name.
func initCluster(ctx context.Context, b Binaries, as account, at layout, durable bool) error {
	if err := os.RemoveAll(at.partialDir); err != nil {
		return err
	}
	if err := as.privateDir(at.partialDir); err != nil {
		return err
	}
	if err := writePassword(at.passwordFile, as); err != nil {
		return err
	}
	args := []string{
		"-D", at.partialDir, "-U", superuser, "--encoding=UTF8", "--locale=C", "--no-instructions",
		"--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile=" + at.passwordFile,
	}
	if !durable {
		args = append(args, "--no-sync")
	}
	if err := runToEnd(ctx, exec.Command(b.programPath("initdb"), args...), as); err != nil {
		return err
	}
	return os.Rename(at.partialDir, at.dataDir)
}

func writePassword(path string, as account) error {
	if err := os.WriteFile(path, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	return as.chown(path) // initdb reads it
}

func readPassword(path string) (string, error) {
	content, err := os.ReadFile(path)
	return strings.TrimSpace(string(content)), err
}

// runToEnd runs a program until it ends. The error of a failed one contains the end of its output.
func runToEnd(ctx context.Context, cmd *exec.Cmd, as account) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	p, err := launchProcess(cmd, as, syscall.SIGKILL, nil)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		// Waited for: from then on it leaves the directory alone.
		_ = p.cmd.Process.Kill()
		<-p.done
		return ctx.Err()
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), p.err, lastLines(output.Bytes(), 8))
	}
	return nil
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
