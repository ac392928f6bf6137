package db

import (
	"fmt"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
)

// Declaration is what an operator's files declare together: profiles, app versions, pools and projects.
type Declaration struct {
	Universe string // of the profiles and their tickets
	Author   string // "": the database login
	Reason   string // at most 500 characters; may be ""

	Profiles    []DeclaredProfile
	AppVersions []provision.AppVersion
	Pools       []provision.Pool
	Projects    []NewProject // with their ids; Actor is not read

	Prune  Prune
	DryRun bool // decides as otherwise, with all checks, and writes nothing
}

// DeclaredProfile is a document of a profile.
type DeclaredProfile struct {
	Document []byte
	AsShadow bool // the document becomes a shadow of the live version
	// ExpectedVersion is the live version that the author has seen; see ProfileEdit.
	ExpectedVersion *int
}

// Prune names the kinds of which everything that is neither declared nor used is removed: profiles are retired unless
// tickets wait for them or they are built in; pools and app versions are deleted unless they have servers. The director
// deletes no project; those that are not declared are in the outcome.
type Prune struct{ Profiles, Apps, Pools, Projects bool }

// DeclarationOutcome is what became of a declaration: of each kind what it declares, in its order, then what was pruned
// or kept.
type DeclarationOutcome struct {
	Profiles    []ProfileOutcome
	Provisioned provision.PoolChanges // app versions and pools
	Projects    []ProjectOutcome
}

// ProfileOutcome is what became of a profile.
type ProfileOutcome struct {
	Declared ProfileChange

	FormerDocument string // the document of the version that was live; "" if none was
	FormerVersion  int    // the version that was live; 0: none was
	Change         string // created, changed, unchanged, retired or kept
	Reason         string // why the profile was kept
}

// ProjectOutcome is what became of a project.
type ProjectOutcome struct {
	ID, Name, Region string
	FormerName       string // "": the project is new
	Change           string // created, changed, unchanged or kept
	Reason           string // why the project was kept
}

// hasPools reports whether there is something to decide about pools or app versions.
func (d *Declaration) hasPools() bool {
	return len(d.AppVersions)+len(d.Pools) > 0 || d.Prune.Apps || d.Prune.Pools
}

// atIndex prefixes the field of a refusal with the place of its value in the declaration.
func atIndex(list string, i int, err error) error {
	refused, isDecision := fault.AsDecision(err)
	// The value is not the cause of an error such as a database that does not answer.
	if !isDecision {
		return err
	}
	placed := *refused
	placed.Field = fmt.Sprintf("%s[%d]", list, i)
	if refused.Field != "" {
		placed.Field += "." + refused.Field
	}
	return &placed
}
