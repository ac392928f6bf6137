package poolfile

import (
	"errors"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/internal/base/fault"
)

// MaxBytes bounds a document.
const MaxBytes = 256 << 10

// File is a document that was read.
type File struct {
	Apps     []provision.AppVersion
	Pools    []provision.Pool
	Projects []Project

	positions document.Positions
}

// Project is a project of the realtime lobby.
type Project struct {
	ID     string
	Name   string // "": the id
	Region string // "": the usual one
}

// Declares reports whether the document has a list: "apps", "pools" or "projects", which may be empty.
func (f *File) Declares(list string) bool { return f.positions.Has(list) }

// Error lists what is wrong with a document: 1 to 16 problems.
type Error = document.Error

// Problem is one thing that is wrong with a document.
type Problem = document.Problem

// Locate adds line and column to an error that names a value of the document. Other errors stay as they are.
func (f *File) Locate(err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Field == "" {
		return err
	}
	return &Error{Problems: []Problem{f.ProblemAt(refused.Field, refused.Detail)}}
}

// ProblemAt returns a problem of a value, with its position.
func (f *File) ProblemAt(path, text string) Problem { return f.positions.ProblemAt(path, text) }
