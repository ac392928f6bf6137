// Command names is a linter: it reports fields and functions that are named by a single participle, adjective, adverb
// or preposition (held, late, of), of which a reader has to look up what it is that is held. Names say which: two words
// where one does not.
//
//	names DIR…
//
// It reads the Go files below each directory, tests and generated files left out, prints a line for each such name, and
// exits with status 1 if there is one.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	var findings []string
	for _, dir := range os.Args[1:] {
		found, err := inDirectory(dir)
		if err != nil {
			fmt.Fprintln(os.Stderr, "names:", err)
			os.Exit(2)
		}
		findings = append(findings, found...)
	}
	for _, line := range findings {
		fmt.Println(line)
	}
	if len(findings) > 0 {
		fmt.Printf("%d names do not say which: give them a noun, or a verb and its object\n", len(findings))
		os.Exit(1)
	}
}

// inDirectory returns the findings of all Go files below dir, in the order of their paths.
func inDirectory(dir string) (findings []string, err error) {
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
func inFile(path string, source any) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, errors.Join(errors.New("every file must be Go"), err)
	}
	if ast.IsGenerated(file) {
		return nil, nil
	}
	var findings []string
	report := func(name *ast.Ident) {
		findings = append(findings, fmt.Sprintf("%s: %s", files.Position(name.Pos()), name.Name))
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
