package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// maxListedProjects bounds the projects that are named because no file declares them.
const maxListedProjects = 10000

func (d *Declaration) declareProjects(ctx context.Context, q *query.Queries) (done []ProjectOutcome, err error) {
	if len(d.Projects) == 0 && !d.Prune.Projects {
		return nil, nil
	}
	// So that two declarations of the same new project come one after the other.
	if err := q.LockDeclarations(ctx); err != nil {
		return nil, err
	}
	actor := d.Author
	// Events name the login of the database if the author is not known.
	if actor == "" {
		if actor, err = q.Login(ctx); err != nil {
			return nil, err
		}
	}
	declaredIDs := map[string]bool{}
	for i, p := range d.Projects {
		p.Actor = actor
		one, err := declareProject(ctx, q, p)
		if err != nil {
			return nil, atIndex("projects", i, err)
		}
		declaredIDs[p.ID] = true
		done = append(done, one)
	}
	if !d.Prune.Projects {
		return done, nil
	}
	kept, err := undeclaredProjects(ctx, q, declaredIDs)
	return append(done, kept...), err
}

// declareProject creates a project, or renames it. The region of a project does not change, since its rooms, sessions
// and keys are there.
func declareProject(ctx context.Context, q *query.Queries, n NewProject) (ProjectOutcome, error) {
	done := ProjectOutcome{ID: n.ID, Name: n.Name, Region: n.Region}
	stored, err := q.ProjectForChange(ctx, n.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		done.Change = "created"
		_, err = n.create(ctx, q)
		return done, err
	}
	if err != nil {
		return done, err
	}
	done.FormerName = stored.Name
	switch {
	case stored.Region != n.Region:
		e := fault.New(fault.Conflict, "project_region", "project %q is in region %q, which does not change: "+
			"%q is not allowed", n.ID, stored.Region, n.Region)
		e.Field = "region"
		return done, e
	case stored.Name != n.Name:
		done.Change = "changed"
		return done, n.rename(ctx, q, stored.Name)
	}
	done.Change = "unchanged"
	return done, nil
}

// rename gives the project that is stored under the id the name of n.
func (n NewProject) rename(ctx context.Context, q *query.Queries, formerName string) error {
	if err := q.RenameProject(ctx, query.RenameProjectParams{ID: n.ID, Name: n.Name}); err != nil {
		return err
	}
	return logProject(ctx, q, n.Region, "project.renamed", n.Actor,
		map[string]string{"project": n.ID, "name": n.Name, "before": formerName})
}

// undeclaredProjects returns the projects that nothing declares, which are kept.
func undeclaredProjects(ctx context.Context, q *query.Queries,
	declaredIDs map[string]bool) (kept []ProjectOutcome, err error) {
	all, err := q.ListProjectNames(ctx, maxListedProjects)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if !declaredIDs[p.ID] {
			kept = append(kept, ProjectOutcome{ID: p.ID, Name: p.Name, FormerName: p.Name, Region: p.Region,
				Change: "kept",
				Reason: "the director deletes no project: its keys, rooms and sessions would go with it"})
		}
	}
	return kept, nil
}
