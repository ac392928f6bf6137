// Package document reads the YAML of documents that people write, within limits, and holds their problems with their
// positions. Profiles and pool files share it.
package document

import (
	"fmt"
	"strings"
)

// Error lists what is wrong with a document.
type Error struct {
	Problems []Problem // 1 to 16
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
	return fmt.Sprintf("line %d, column %d: %s", p.Line, p.Column, p.pathAndText())
}

// InFile formats the problem as "ranked.yaml:4:12: teams[0].players: …", which editors understand.
func (p Problem) InFile(file string) string {
	return fmt.Sprintf("%s:%d:%d: %s", file, p.Line, p.Column, p.pathAndText())
}

func (p Problem) pathAndText() string {
	if p.Path == "" {
		return p.Text
	}
	return p.Path + ": " + p.Text
}
