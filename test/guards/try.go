package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// failedTest finds a top-level test that failed in the output of go test.
var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// checkTests runs the tests of all guards of a package with the guards in place. Errors: a test fails.
func checkTests(ctx context.Context, root, pkg string, guards []Guard) error {
	var tests []string
	for _, g := range guards {
		if g.Package == pkg {
			tests = append(tests, g.Tests...)
		}
	}
	// One run for all of them: the package is built once.
	_, output, err := runTests(ctx, root, pkg, tests)
	if err != nil {
		return fmt.Errorf("tests of %s fail although the guards are there: %w\n%s", pkg, err, output)
	}
	return nil
}

// runWithout runs the tests of a guard with the guard removed, and returns those that failed. Errors: no test ran,
// since the code does not build without the guard.
func (g *Guard) runWithout(ctx context.Context, root string) ([]string, error) {
	dir, err := os.MkdirTemp("", "guards-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := g.writeOverlay(root, dir)
	if err != nil {
		return nil, err
	}
	// The overlay replaces the file for this build alone: the working tree stays as it is.
	failed, output, err := runTests(ctx, root, g.Package, g.Tests, "-overlay", overlay)
	if err != nil && len(failed) == 0 {
		return nil, fmt.Errorf("no test ran without the guard: %w\n%s", err, output)
	}
	return failed, nil
}

// writeOverlay writes into dir the file without the guard, and an overlay that puts it in the place of the real one. It
// returns the overlay's path.
func (g *Guard) writeOverlay(root, dir string) (string, error) {
	text, err := g.withoutGuard(root)
	if err != nil {
		return "", err
	}
	replaced, err := filepath.Abs(filepath.Join(root, g.File))
	if err != nil {
		return "", err
	}
	without, overlay := filepath.Join(dir, filepath.Base(g.File)), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(without, []byte(text), 0o600); err != nil {
		return "", err
	}
	body, err := json.Marshal(map[string]map[string]string{"Replace": {replaced: without}})
	if err != nil {
		return "", err
	}
	return overlay, os.WriteFile(overlay, body, 0o600)
}

// runTests runs tests of a package. It returns the names of those that failed, and the error of go test, which is set
// when one has failed or none has run. A test that hangs fails by its time limit.
func runTests(ctx context.Context, root, pkg string, tests []string,
	flags ...string) (failed []string, output string, err error) {
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	args := append([]string{"test", "-count=1", "-timeout=3m", "-run", pattern}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// go test returns an error when a test fails, which is expected here: the names in the output decide.
	err = cmd.Run()
	for _, m := range failedTest.FindAllStringSubmatch(out.String(), -1) {
		failed = append(failed, m[1])
	}
	// A guard against waiting for ever is noticed by a test that hangs; go test does not say which.
	if err != nil && len(failed) == 0 && strings.Contains(out.String(), "panic: test timed out") {
		failed = append(failed, tests[0])
	}
	slices.Sort(failed)
	return slices.Compact(failed), out.String(), err
}
