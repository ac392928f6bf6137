package poolfile

import (
	"fmt"

	"github.com/lattice-director/director/db/provision"
)

// Parse reads a document of at most [MaxBytes]. Errors: *[Error].
func Parse(text []byte) (*File, error) {
	content, positions, err := decodeYAML(text)
	if err != nil {
		return nil, err
	}
	f := &File{positions: positions}
	c := converter{file: f}
	for i, a := range content.Apps {
		f.Apps = append(f.Apps, c.convertApp(fmt.Sprintf("apps[%d].", i), a))
	}
	for i, p := range content.Pools {
		f.Pools = append(f.Pools, c.convertPool(fmt.Sprintf("pools[%d].", i), p))
	}
	// Projects are checked by package declaration, with their defaults.
	for _, p := range content.Projects {
		f.Projects = append(f.Projects, Project{string(p.ID), string(p.Name), string(p.Region)})
	}
	// An empty list declares something: that there are none, for a prune.
	if !f.Declares("apps") && !f.Declares("pools") && !f.Declares("projects") {
		c.addProblemf("", "the document declares nothing: "+contentHint)
	}
	// Only if all values could be read: one that could not be read would be reported twice.
	if len(c.problems) == 0 {
		for _, p := range provision.CheckPools(f.Apps, f.Pools) {
			c.addProblemf(p.Path, "%s", p.Text)
		}
	}
	if len(c.problems) > 0 {
		return nil, &Error{Problems: c.problems}
	}
	return f, nil
}
