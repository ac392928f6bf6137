package profile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/lattice-director/director/internal/base/document"
)

// Error lists what is wrong with a document: 1 to 16 problems, in the order of their lines.
type Error = document.Error

// Problem is one thing that is wrong with a document, and what is allowed instead.
type Problem = document.Problem

// maxProblems bounds an Error: a document with more problems was not meant as a profile.
const maxProblems = 16

// report collects problems.
type report struct {
	problems  []Problem
	isStored  bool // a release has accepted the document: it is spared the checks of later releases
	ruleDepth int  // of or, and, not around the rule that is being checked
}

// addAt adds a problem, unless there are maxProblems. It returns false, so that checks can end with it.
func (r *report) addAt(line, column int, path, format string, args ...any) bool {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{Line: line, Column: column, Path: path,
			Text: fmt.Sprintf(format, args...)})
	}
	return false
}

// addError adds the problems of a document that cannot be read.
func (r *report) addError(err error) {
	if refused, ok := errors.AsType[*Error](err); ok {
		r.problems = append(r.problems, refused.Problems...)
	}
}

// problemsError returns the problems as an *Error, or nil.
func (r *report) problemsError() error {
	if len(r.problems) == 0 {
		return nil
	}
	sortProblems(r.problems)
	return &Error{Problems: r.problems}
}

// sortProblems sorts problems by their place. Those of one place stay in the order of the checks.
func sortProblems(all []Problem) {
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
