// Command names is a linter: it reports fields and functions that are named by a single participle, adjective, adverb
// or preposition (held, late, of): such a name does not say what is held. Names say which: two words where one does
// not.
//
//	names [-known FILE] DIR…
//
// It reads the Go files below each directory, except tests and generated files, prints a line for each such name, and
// exits with status 1 if there is one. FILE lists names that stay, a line each: the path below the directory, and the
// name. A line that no name needs is an error, so that the list only shrinks.
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
	findings, err := check(*file, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "names:", err)
		os.Exit(2)
	}
	for _, line := range findings {
		fmt.Println(line)
	}
	if len(findings) > 0 {
		fmt.Printf("%d names do not say which: give them a noun, or a verb and its object\n", len(findings))
		os.Exit(1)
	}
}

// check returns what is wrong below the directories, and with the list of known names.
func check(file string, dirs []string) ([]string, error) {
	known, err := readKnown(file)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, dir := range dirs {
		found, err := inDirectory(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			path, _ := filepath.Rel(dir, f.position.Filename)
			if key := filepath.ToSlash(path) + " " + f.name; known[key] > 0 {
				known[key]--
				continue
			}
			lines = append(lines, fmt.Sprintf("%s: %s", f.position, f.name))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if known[key] > 0 {
			lines = append(lines, fmt.Sprintf("%s: remove the line %q: no name needs it", file, key))
		}
	}
	return lines, nil
}

// readKnown returns the number of times that each line is in the file. If file is "", there are none.
func readKnown(file string) (map[string]int, error) {
	known := map[string]int{}
	if file == "" {
		return known, nil
	}
	text, err := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			known[line]++
		}
	}
	return known, err
}

// finding is a name that does not say which.
type finding struct {
	position token.Position
	name     string
}

// inDirectory returns the findings of all Go files below dir, in the order of their paths.
func inDirectory(dir string) (findings []finding, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skippedDirectories, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		found, err := inFile(path, nil)
		findings = append(findings, found...)
		return err
	})
	return findings, err
}

// inFile returns the findings of one file. If source is nil, it is read from path.
func inFile(path string, source any) ([]finding, error) {
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
			if isBare(n.Name.Name) && !isVerb(n.Name.Name) && !isOfInterface(n) {
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
			fixed := field.Tag != nil && strings.Contains(strings.ToLower(field.Tag.Value), `"`+strings.ToLower(name.Name))
			if isBare(name.Name) && !fixed && !(isChannel && name.Name == "done") {
				report(name)
			}
		}
	}
}

// isOfInterface returns whether an interface of the standard library gives a method its name.
func isOfInterface(f *ast.FuncDecl) bool {
	return f.Recv != nil && slices.Contains([]string{"Is", "Done", "At"}, f.Name.Name)
}
