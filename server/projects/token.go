package projects

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

type newToken struct {
	Project  any `json:"project_id"`
	Key      any `json:"key_id"`
	TTL      any `json:"ttl_seconds"`
	Audience any `json:"audience"`
	Subject  any `json:"sub"`
}

type tokenJSON struct {
	Token  string          `json:"token"`
	Claims json.RawMessage `json:"claims"`
}

func (f *face) mintToken(ctx context.Context, in rest.In[newToken]) (reply, error) {
	minted, err := f.signToken(ctx, in.Body)
	// A token that could not be made, because of the database, was not denied.
	if err != nil && rest.ProblemOf(err).Status < 500 {
		f.deniedCount.Add(1)
	}
	return reply{200, minted}, err
}

// signToken checks a request and signs the token of its claims.
func (f *face) signToken(ctx context.Context, n newToken) (tokenJSON, error) {
	c := token.ProjectClaims{ProjectID: textOf(n.Project), KeyID: textOf(n.Key), Audience: textOf(n.Audience),
		Subject: textOf(n.Subject)}
	switch {
	case c.ProjectID == "" || c.KeyID == "":
		return tokenJSON{}, invalidError("", idsRequired)
	case len(c.Audience) > token.MaxSubjectBytes:
		return tokenJSON{}, invalidError("audience", "audience must have at most 255 bytes")
	// Without a subject, each session of the token is a player of its own.
	case n.Subject != nil && !token.ValidSubject(c.Subject):
		return tokenJSON{}, invalidError("sub", "sub must have 1 to 255 bytes without control characters")
	}
	if err := f.options.Store.CheckProjectHere(ctx, c.ProjectID); err != nil {
		return tokenJSON{}, err
	}
	// The count is raised before the token is made: it may be too high, but no token goes out uncounted.
	key, err := f.options.Store.CountMinted(ctx, c.ProjectID, c.KeyID)
	if err != nil {
		return tokenJSON{}, err
	}
	secret, err := f.options.Secrets.Signing(key.Project, key.ID, key.SealedSecret)
	if err != nil {
		return tokenJSON{}, err
	}
	// Lobbies judge tokens by the database's clock.
	c.IssuedAt = f.options.Store.Now()
	c.Expires = c.IssuedAt.Add(time.Duration(ttlOf(n.TTL)) * time.Second)
	return tokenJSON{token.MintProject(secret, c), c.JSON()}, nil
}
