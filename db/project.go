package db

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
)

const (
	// MaxProjectPage bounds a page of projects and a page of keys.
	MaxProjectPage = 1000
	// maxProjectName bounds the name of a project and that of a key, in characters.
	maxProjectName = 200
)

// NewProject describes a project to create, or one of a [Declaration], which may exist.
type NewProject struct {
	ID     string // see lobby.ValidID; "": a new one
	Name   string // 1 to 200 characters
	Region string
	Actor  string
}

// CreateProject creates a project. Errors: Invalid (name, id), Conflict (project_exists), Unavailable.
func (s *Store) CreateProject(ctx context.Context, n NewProject) (query.Project, error) {
	if n.ID == "" {
		n.ID = uuid.NewString()
	}
	if err := n.Check(); err != nil {
		return query.Project{}, err
	}
	var made query.Project
	err := s.frame.InTx(ctx, func(q *query.Queries) (err error) {
		made, err = n.create(ctx, q)
		return err
	})
	return made, frame.Classify(err)
}

// Check refuses a project that cannot be created. Errors: Invalid (name, id).
func (n NewProject) Check() error {
	if !lobby.ValidID(n.ID) {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "id",
			Detail: "id must have 1 to 128 bytes without spaces and control characters"}
	}
	return checkProjectName(n.Name)
}

func (n NewProject) create(ctx context.Context, q *query.Queries) (made query.Project, err error) {
	made = query.Project{ID: n.ID, Name: n.Name, Region: n.Region}
	if made.CreatedAt, err = q.CreateProject(ctx,
		query.CreateProjectParams{ID: n.ID, Name: n.Name, Region: n.Region}); err != nil {
		return made, projectConflict(err, n.ID)
	}
	return made, logProject(ctx, q, n.Region, "project.created", n.Actor,
		map[string]string{"project": n.ID, "name": n.Name})
}

// Projects returns up to limit projects, at most MaxProjectPage, the newest first. after is the id of the last project
// of the previous page; "" begins. Errors: Unavailable.
func (s *Store) Projects(ctx context.Context, after string, limit int) ([]query.Project, error) {
	if !isStorable(after) {
		return nil, nil
	}
	list, err := s.q.Projects(ctx, query.ProjectsParams{After: after, Batch: int32(min(limit, MaxProjectPage))})
	return list, frame.Classify(err)
}

// ProjectRegion returns the region of a project. It is cached, since it never changes. Errors: NotFound
// (project_unknown), Elsewhere, Unavailable.
func (s *Store) ProjectRegion(ctx context.Context, id string) (string, error) {
	if !lobby.ValidID(id) {
		return "", projectUnknown() // not cached, since it may be long
	}
	region, err := s.projectCaches.regionsByProject.get(id, func() (string, error) {
		found, err := s.q.Project(ctx, id)
		if errors.Is(err, pgx.ErrNoRows) {
			return "", projectUnknown()
		}
		return found.Region, frame.Classify(err)
	})
	if err != nil {
		return "", err
	}
	return region, s.CheckHere(region)
}

// CheckProjectHere refuses a project whose region another cell serves. It reads nothing where no cells are set. A
// project that does not exist, or cannot be read, is not refused: the call that follows finds that. Errors: Elsewhere.
func (s *Store) CheckProjectHere(ctx context.Context, id string) error {
	if s.otherCells.Load() == nil {
		return nil
	}
	if _, err := s.ProjectRegion(ctx, id); fault.Is(err, fault.Elsewhere) {
		return err
	}
	return nil
}

func projectUnknown() error { return fault.New(fault.NotFound, "project_unknown", "project not found") }

// ProjectCounts has the numbers of projects, of keys, and of the tokens that were minted.
type ProjectCounts = query.ProjectCountsRow

// CountProjects counts projects, keys, and the tokens that were minted, in all regions. Errors: Unavailable.
func (s *Store) CountProjects(ctx context.Context) (ProjectCounts, error) {
	counts, err := s.q.ProjectCounts(ctx)
	return counts, frame.Classify(err)
}

func checkProjectName(name string) error {
	if strings.TrimSpace(name) == "" {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "name", Detail: "name is required"}
	}
	if utf8.RuneCountInString(name) > maxProjectName || !isStorable(name) {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "name",
			Detail: "name must have at most 200 characters, and none of them U+0000"}
	}
	return nil
}

func projectConflict(err error, id string) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.ConstraintName == "projects_pkey" {
		return fault.New(fault.Conflict, "project_exists", "there is a project with the id %q", id)
	}
	return err
}

// logProject records an event of the realtime lobby, whose detail has the facts.
func logProject(ctx context.Context, q *query.Queries, region, kind, actor string, facts map[string]string) error {
	detail, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	return q.LogProject(ctx, query.LogProjectParams{Region: region, Kind: kind, Actor: actor, Detail: detail})
}
