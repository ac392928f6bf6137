package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// Guard is a piece of code whose removal a test must notice.
type Guard struct {
	Name    string   `yaml:"name"`    // what it guards, as a sentence
	File    string   `yaml:"file"`    // from the root of the repository
	Remove  string   `yaml:"remove"`  // stands once in File
	With    string   `yaml:"with"`    // what stands there instead; empty: nothing
	Package string   `yaml:"package"` // of the tests, as ./db
	Tests   []string `yaml:"tests"`   // at least one of them must fail
}

// readGuards reads a list of guards. Errors: a field that is unknown or empty, with its line.
func readGuards(file string) ([]Guard, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var guards []Guard
	if err := yaml.UnmarshalWithOptions(text, &guards, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	// The parser refuses unknown fields, and accepts that some are missing.
	for i, g := range guards {
		if g.Name == "" || g.File == "" || g.Remove == "" || g.Package == "" || len(g.Tests) == 0 {
			return nil, fmt.Errorf("%s: guard %d (%s) needs name, file, remove, package and tests", file, i+1, g.Name)
		}
	}
	return guards, nil
}

// withoutGuard returns the text of the guard's file without the guard. Errors: the guard does not stand in it exactly
// once.
func (g *Guard) withoutGuard(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, g.File))
	if err != nil {
		return "", err
	}
	// Of two equal texts, one could not tell which is the guard.
	if n := strings.Count(string(text), g.Remove); n != 1 {
		return "", fmt.Errorf("%q stands %d times in %s, not once: bring the list up to date", g.Remove, n, g.File)
	}
	return strings.Replace(string(text), g.Remove, g.With, 1), nil
}

// missingTest returns the first test of the guard that its package does not have, or "".
func (g *Guard) missingTest(root string) (string, error) {
	// Found in the text of the files: to list tests, go test would have to build the package.
	files, err := filepath.Glob(filepath.Join(root, g.Package, "*_test.go"))
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all.Write(text)
	}
	// A test may have been renamed since its guard was listed.
	for _, test := range g.Tests {
		if !regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(test) + `\(`).MatchString(all.String()) {
			return test, nil
		}
	}
	return "", nil
}
