package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Error lists what is wrong with a document.
type Error struct {
	Problems []Problem // 1 to 16, in the order of their lines
}

// Problem is one thing that is wrong, and what is allowed instead.
type Problem struct {
	Line   int    `json:"line"`   // counts from 1
	Column int    `json:"column"` // in characters, counts from 1
	Path   string `json:"path"`   // of the value, such as "teams[0].players"; "" for the whole document
	Text   string `json:"text"`
}

// Error implements error: a line for each problem.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// String formats the problem as "line 4, column 12: teams[0].players: …".
func (p Problem) String() string {
	if p.Path == "" {
		return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.Text)
	}
	return fmt.Sprintf("line %d, column %d: %s: %s", p.Line, p.Column, p.Path, p.Text)
}

// maxProblems bounds an Error: a document with more problems was not meant as a profile.
const maxProblems = 16

// report collects problems.
type report struct {
	problems  []Problem
	ruleDepth int // of or, and, not around the rule that is being checked
}

// add adds a problem of a node. It returns false, so that checks can end with it.
func (r *report) add(n *node, format string, args ...any) bool {
	return r.addAt(n.line, n.column, n.path, format, args...)
}

func (r *report) addAt(line, column int, path, format string, args ...any) bool {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Line: line, Column: column, Path: path, Text: fmt.Sprintf(format, args...)})
	}
	return false
}

// err returns the problems as an *Error, or nil.
func (r *report) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &Error{Problems: r.problems}
}
