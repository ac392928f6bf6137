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

// Parse reads a document of at most [MaxBytes]. Errors: *[Error].
func Parse(text []byte) (*File, error) {
	read, at, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	f := &File{positions: at}
	c := converter{targetFile: f}
	for i, a := range read.Apps {
		f.Apps = append(f.Apps, c.convertApp(fmt.Sprintf("apps[%d].", i), a))
	}
	for i, p := range read.Pools {
		f.Pools = append(f.Pools, c.convertPool(fmt.Sprintf("pools[%d].", i), p))
	}
	for _, p := range read.Projects {
		f.Projects = append(f.Projects, Project{string(p.ID), string(p.Name), string(p.Region)})
	}
	if !f.Declares("apps") && !f.Declares("pools") && !f.Declares("projects") {
		c.addProblemf("", "the document declares nothing: "+contentWords)
	}
	if len(c.problems) == 0 { // a value that cannot be read would be reported twice
		for _, p := range provision.CheckPools(f.Apps, f.Pools) {
			c.addProblemf(p.Path, "%s", p.Text)
		}
	}
	if len(c.problems) > 0 {
		return nil, &Error{Problems: c.problems}
	}
	return f, nil
}

// Locate adds line and column to an error that names a value of the document. Other errors stay as they are.
func (f *File) Locate(err error) error {
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Field == "" {
		return err
	}
	return &Error{Problems: []Problem{f.Problem(refused.Field, refused.Detail)}}
}

// Problem returns a problem of a value, with its position.
func (f *File) Problem(path, text string) Problem { return f.positions.Problem(path, text) }
