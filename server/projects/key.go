package projects

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// newKey is a request for a key. The fields have any type, since Nexis converts what clients send: see textOf and
// scopesOf.
type newKey struct {
	Name   any `json:"name"`
	Scopes any `json:"scopes"`
}

// keyJSON is a key. It has its secret only in the answer that creates it.
type keyJSON struct {
	ID          string   `json:"id"`
	Project     string   `json:"project_id"`
	Name        string   `json:"name"`
	Secret      string   `json:"secret,omitempty"`
	Scopes      []string `json:"scopes"`
	RevokedAt   *string  `json:"revoked_at"`
	RotatedFrom *string  `json:"rotated_from"`
	CreatedAt   string   `json:"created_at"`
}

func jsonOfKey(k query.ProjectKey, secret string) keyJSON {
	j := keyJSON{ID: k.ID, Project: k.Project, Name: k.Name, Secret: secret, Scopes: k.Scopes,
		RotatedFrom: k.RotatedFrom, CreatedAt: postgresTime(k.CreatedAt)}
	if k.RevokedAt != nil {
		revoked := postgresTime(*k.RevokedAt)
		j.RevokedAt = &revoked
	}
	return j
}

// createKey makes a key, whose scopes are those of the request, each once.
func (f *face) createKey(ctx context.Context, in rest.In[newKey]) (reply, error) {
	scopes := scopesOf(in.Body.Scopes)
	if len(scopes) == 0 {
		// Nexis' default: the key mints tokens and does nothing else.
		scopes = []string{db.ScopeMint}
	}
	secret, made, err := f.options.Store.CreateProjectKey(ctx, db.NewProjectKey{
		ProjectID: in.Param("id"), Name: cmp.Or(textOf(in.Body.Name), "default"), Scopes: scopes,
		Actor: rest.Caller(ctx),
		Seal:  f.options.Secrets.Sealer.NewProjectSecret,
	})
	// No later answer has the secret: the row holds it sealed.
	return reply{201, jsonOfKey(made, secret)}, err
}

func (f *face) listKeys(ctx context.Context, in rest.In[rest.None]) (reply, error) {
	after, limit, err := pageOf(in)
	if err != nil {
		return reply{}, err
	}
	// An unknown project has an empty list, as in Nexis.
	found, err := f.options.Store.ProjectKeys(ctx, in.Param("id"), after, limit)
	list := make([]keyJSON, len(found))
	for i, k := range found {
		list[i] = jsonOfKey(k, "")
	}
	return reply{200, list}, err
}

func (f *face) revokeKey(ctx context.Context, in rest.In[rest.None]) (reply, error) {
	key, err := f.options.Store.RevokeProjectKey(ctx, in.Param("id"), in.Param("keyId"), rest.Caller(ctx))
	return reply{200, jsonOfKey(key, "")}, err
}

type rotation struct {
	Grace any `json:"grace_seconds"`
}

// rotateKey replaces a key by a new one. The old one mints no tokens any more; those that it has minted are accepted
// for the grace.
func (f *face) rotateKey(ctx context.Context, in rest.In[rotation]) (reply, error) {
	grace, isNumber := in.Body.Grace.(float64)
	// A wrong grace is refused, where a wrong ttl becomes the default: the default grace, 0, ends the old key at once.
	if in.Body.Grace != nil && !isNumber || grace < 0 || grace > db.MaxProjectGrace.Seconds() {
		return reply{}, invalidError("grace_seconds", "grace_seconds must be 0 to 2592000")
	}
	secret, made, err := f.options.Store.RotateProjectKey(ctx, db.KeyRotation{
		ProjectID: in.Param("id"), ID: in.Param("keyId"), GraceTime: time.Duration(math.Floor(grace)) * time.Second,
		Actor: rest.Caller(ctx),
		Seal:  f.options.Secrets.Sealer.NewProjectSecret,
	})
	return reply{201, jsonOfKey(made, secret)}, err
}

type keyStatus struct {
	Project string   `json:"project_id"`
	Key     string   `json:"key_id"`
	Exists  bool     `json:"exists"`
	Revoked bool     `json:"revoked"` // its tokens are refused
	Scopes  []string `json:"scopes"`
}

// keyStatus answers servers that verify tokens by themselves whether the key of a token still counts.
func (f *face) keyStatus(ctx context.Context, in rest.In[rest.None]) (reply, error) {
	s := keyStatus{Project: textOf(in.Query("project_id")), Key: textOf(in.Query("key_id")), Scopes: []string{}}
	if s.Project == "" || s.Key == "" {
		return reply{}, invalidError("", idsRequired)
	}
	if err := f.options.Store.CheckProjectHere(ctx, s.Project); err != nil {
		return reply{}, err
	}
	key, retired, err := f.options.Store.ProjectKey(ctx, s.Project, s.Key)
	switch {
	// A key that is not there is no error: the field exists of the answer says so.
	case fault.Is(err, fault.NotFound):
		return reply{200, s}, nil
	case err != nil:
		return reply{}, err
	}
	s.Exists, s.Revoked, s.Scopes = true, retired, key.Scopes
	return reply{200, s}, nil
}

const idsRequired = "project_id and key_id are required"
