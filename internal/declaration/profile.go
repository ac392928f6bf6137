package declaration

import (
	"errors"
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// Profile is a file with a profile.
type Profile struct {
	Source Source

	Profile  *profile.Profile  // nil if it has problems
	Problems []profile.Problem // what is wrong
	Warnings []profile.Problem // about a valid one
}

// ParseProfile parses a file as a profile. With requireFrom, an attribute without from is a problem.
func ParseProfile(source Source, requireFrom bool) Profile {
	p := Profile{Source: source}
	var err error
	p.Profile, err = profile.Parse(source.Text)
	if refused, ok := errors.AsType[*profile.Error](err); ok {
		p.Problems = refused.Problems
	}
	p.Warnings = profile.Warnings(source.Text)
	if requireFrom {
		p.requireFrom()
	}
	return p
}

func (p *Profile) requireFrom() {
	unsaid := profile.ClientsWord(p.Source.Text)
	if len(unsaid) == 0 {
		return
	}
	// What is a problem here is not reported as a warning as well.
	p.Profile, p.Problems = nil, append(p.Problems, unsaid...)
	p.Warnings = slices.DeleteFunc(p.Warnings, func(w profile.Problem) bool { return slices.Contains(unsaid, w) })
}
