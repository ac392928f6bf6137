package projects

import (
	"context"
	"strconv"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/server/rest"
)

func (f *face) answerHealth(context.Context, rest.In[rest.None]) (reply, error) {
	return reply{200, struct {
		OK bool `json:"ok"`
	}{true}}, nil
}

// counters are the counters of GET /metrics. Those of requests are this process's, the others are counted from rows.
type counters struct {
	Requests int64 `json:"requests_total"`
	Projects int64 `json:"projects_created"`
	Keys     int64 `json:"keys_created"`
	Revoked  int64 `json:"keys_revoked"`
	Rotated  int64 `json:"keys_rotated"`
	Minted   int64 `json:"tokens_minted"`
	Denied   int64 `json:"tokens_denied"`
}

func (f *face) showCounters(ctx context.Context, _ rest.In[rest.None]) (reply, error) {
	rows, err := f.options.Store.CountProjects(ctx)
	if err != nil {
		return reply{}, err
	}
	return reply{200, struct {
		Started  string   `json:"started_at"`
		Uptime   int64    `json:"uptime_seconds"`
		Counters counters `json:"counters"`
	}{
		f.startedAt.UTC().Format("2006-01-02T15:04:05.000Z"), int64(time.Since(f.startedAt).Seconds()),
		counters{f.requestCount.Load(), rows.Projects, rows.Keys, rows.Revoked, rows.Rotated, rows.Tokens,
			f.deniedCount.Load()},
	}}, nil
}

type newProject struct {
	Name any `json:"name"`
}

type projectJSON struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	CreatedAt string `json:"created_at"`
}

func jsonOf(p query.Project) projectJSON { return projectJSON{p.ID, p.Name, postgresTime(p.CreatedAt)} }

func (f *face) createProject(ctx context.Context, in rest.In[newProject]) (reply, error) {
	// A project stays in its region, so it must be made in the cell that serves the region.
	if err := f.options.Store.CheckHere(f.options.Region); err != nil {
		return reply{}, err
	}
	made, err := f.options.Store.CreateProject(ctx,
		db.NewProject{Name: textOf(in.Body.Name), Region: f.options.Region, Actor: rest.Caller(ctx)})
	return reply{201, jsonOf(made)}, err
}

func (f *face) listProjects(ctx context.Context, in rest.In[rest.None]) (reply, error) {
	after, limit, err := pageOf(in)
	if err != nil {
		return reply{}, err
	}
	found, err := f.options.Store.Projects(ctx, after, limit)
	list := make([]projectJSON, len(found))
	for i, p := range found {
		list[i] = jsonOf(p)
	}
	return reply{200, list}, err
}

// pageOf reads ?after= and ?limit=. Without them a list begins with the newest row, and has as many as a page may have.
func pageOf(in rest.In[rest.None]) (after string, limit int, err error) {
	limit = db.MaxProjectPage
	// Nexis has no pages: its clients send neither parameter.
	if text := in.Query("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > db.MaxProjectPage {
			return "", 0, invalidError("limit", "limit must be 1 to "+strconv.Itoa(db.MaxProjectPage))
		}
	}
	return in.Query("after"), limit, nil
}
