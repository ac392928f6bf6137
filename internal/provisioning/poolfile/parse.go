package poolfile

import (
	"fmt"

	"github.com/lattice-director/director/db/provision"
)

// Parse reads a document of at most [MaxBytes]. Errors: *[Error].
func Parse(text []byte) (*File, error) {
	read, at, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	f := &File{positions: at}
	c := converter{file: f}
	for i, a := range read.Apps {
		f.Apps = append(f.Apps, c.convertApp(fmt.Sprintf("apps[%d].", i), a))
	}
	for i, p := range read.Pools {
		f.Pools = append(f.Pools, c.convertPool(fmt.Sprintf("pools[%d].", i), p))
	}
	for _, p := range read.Projects {
		f.Projects = append(f.Projects, Project{string(p.ID), string(p.Name), string(p.Region)})
	}
	// An empty list declares something: that there are none, for a prune.
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
