package poolfile

import (
	"errors"
	"fmt"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/document"
	"github.com/lattice-director/director/internal/base/fault"
)

// MaxBytes bounds a document.
const MaxBytes = 256 << 10

// File is a document that was read.
type File struct {
	Apps  []provision.AppVersion
	Pools []provision.Pool

	positions positions
}

// Error lists what is wrong with a document: 1 to 16 problems.
type Error = document.Error

// Problem is one thing that is wrong with a document.
type Problem = document.Problem

// Parse reads a document of at most [MaxBytes]. Errors: *[Error].
func Parse(document []byte) (*File, error) {
	read, at, err := decode(document)
	if err != nil {
		return nil, err
	}
	f := &File{positions: at}
	c := converter{file: f}
	for i, a := range read.Apps {
		f.Apps = append(f.Apps, c.app(fmt.Sprintf("apps[%d].", i), a))
	}
	for i, p := range read.Pools {
		f.Pools = append(f.Pools, c.pool(fmt.Sprintf("pools[%d].", i), p))
	}
	if len(c.problems) == 0 && len(f.Apps)+len(f.Pools) == 0 {
		c.addf("", "the document declares nothing: it is a mapping with apps, pools or both")
	}
	if len(c.problems) == 0 { // a value that cannot be read would be reported twice
		for _, p := range provision.CheckPools(f.Apps, f.Pools) {
			c.addf(p.Path, "%s", p.Text)
		}
	}
	if len(c.problems) > 0 {
		return nil, &Error{Problems: c.problems}
	}
	return f, nil
}

// Locate adds line and column to an error of [db.Store.ApplyPools] that names a value of the document. Other errors
// stay as they are.
func (f *File) Locate(err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Field == "" {
		return err
	}
	return &Error{Problems: []Problem{f.problem(refused.Field, refused.Detail)}}
}

func (f *File) problem(path, text string) Problem {
	at := f.positions.positionOf(path)
	return Problem{Line: at.Line, Column: at.Column, Path: path, Text: text}
}
