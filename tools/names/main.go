// Command names is a linter: it reports fields and functions that are named by a single participle, adjective, adverb
// or preposition (held, late, of): such a name does not say what is held. Names say which: two words where one does
// not.
//
//	names [-known FILE] DIR…
//
// It reads the Go files below each directory, except tests and generated files, and prints a line for each such name.
// FILE lists names that stay, a line each: the path below the directory, and the name. A line that no name needs is
// printed as well, so that the list only shrinks. The exit status is 1 if a line was printed, and 2 if a file cannot be
// read.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	file := flag.String("known", "", "file that lists names which stay")
	flag.Parse()
	lines, err := checkDirectories(*file, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(2)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	if len(lines) > 0 {
		fmt.Printf("%d names do not say which: give them a noun, or a verb and its object\n", len(lines))
		os.Exit(1)
	}
}

// checkDirectories returns a line for each name below the directories that is not among the known ones, and for each
// known one that is not there.
func checkDirectories(knownFile string, dirs []string) ([]string, error) {
	known, err := readKnown(knownFile)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, dir := range dirs {
		found, err := findInDirectory(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			path, _ := filepath.Rel(dir, f.position.Filename) // the file was found below dir
			key := filepath.ToSlash(path) + " " + f.name
			if known[key] > 0 {
				known[key]--
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: %s", f.position, f.name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if known[key] > 0 {
			lines = append(lines, fmt.Sprintf("%s: remove the line %q: no name needs it", knownFile, key))
		}
	}
	return lines, nil
}

// readKnown returns how often each line is in the file, without empty lines and comments (#). File "" has no lines.
func readKnown(file string) (map[string]int, error) {
	known := map[string]int{}
	if file == "" {
		return known, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		if name != "" && !strings.HasPrefix(name, "#") {
			known[name]++
		}
	}
	return known, nil
}

// finding is a name that does not say which.
type finding struct {
	position token.Position
	name     string
}

// findInDirectory returns the findings of all Go files below dir, in the order of their paths.
func findInDirectory(dir string) (findings []finding, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(skippedDirectories, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		found, err := findInFile(path, nil)
		findings = append(findings, found...)
		return err
	})
	return findings, err
}

// findInFile returns the findings of one file. If source is nil, it is read from path.
func findInFile(path string, source any) ([]finding, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	var findings []finding
	report := func(name *ast.Ident) {
		findings = append(findings, finding{files.Position(name.Pos()), name.Name})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StructType:
			reportFields(n, report)
		case *ast.FuncDecl:
			if isBare(n.Name.Name) && !isVerb(n.Name.Name) && !implementsStandard(n) {
				report(n.Name)
			}
		}
		return true
	})
	return findings, nil
}

// reportFields reports the bare names of a struct's fields. A field whose tag has the same word is named by a wire or a
// table; a channel done is Go's own idiom.
func reportFields(s *ast.StructType, report func(*ast.Ident)) {
	for _, field := range s.Fields.List {
		_, isChannel := field.Type.(*ast.ChanType)
		for _, name := range field.Names {
			hasTag := field.Tag != nil && strings.Contains(strings.ToLower(field.Tag.Value), `"`+strings.ToLower(name.Name))
			if isBare(name.Name) && !hasTag && !(isChannel && name.Name == "done") {
				report(name)
			}
		}
	}
}

// implementsStandard reports whether an interface of the standard library gives a method its name.
func implementsStandard(f *ast.FuncDecl) bool {
	return f.Recv != nil && slices.Contains([]string{"Is", "Done", "At"}, f.Name.Name)
}
