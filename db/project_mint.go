package db

import (
	"context"
	"slices"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// CountMinted counts a token that is to be minted for a key, and returns the key. Calls that wait at the same time
// share a transaction. Errors: NotFound (key_unknown), Forbidden (key_revoked, key_scope: it lacks ScopeMint),
// Unavailable.
func (s *Store) CountMinted(ctx context.Context, project, id string) (query.ProjectKey, error) {
	name := projectKeyName{project, id}
	if !name.isValid() {
		return query.ProjectKey{}, projectKeyUnknown()
	}
	return s.batchGroups.mintingKeys.Do(ctx, "", name)
}

// countMintedBatch decides a batch of calls of CountMinted.
func (s *Store) countMintedBatch(ctx context.Context, _ string,
	calls []*batch.Call[projectKeyName, query.ProjectKey]) error {
	tokens := map[projectKeyName]int64{}
	for _, c := range calls {
		// Summed by key: an UPDATE changes a row once, however often its key is in the list.
		tokens[c.Req]++
	}
	p := query.CountMintedTokensParams{Scope: ScopeMint}
	for k, n := range tokens {
		p.Projects = append(p.Projects, k.projectID)
		p.Ids = append(p.Ids, k.id)
		p.Tokens = append(p.Tokens, n)
	}
	keys := make(map[projectKeyName]query.ProjectKey, len(tokens))
	count := func() error {
		return s.frame.InTx(ctx, func(q *query.Queries) error {
			rows, err := q.CountMintedTokens(ctx, p)
			for _, r := range rows {
				keys[projectKeyName{r.Project, r.ID}] = r
			}
			return err
		})
	}
	err := count()
	if fault.Is(frame.Classify(err), fault.Unavailable) {
		// Tried again, so that no token is refused because of a counter that is busy. Tokens whose transaction had an
		// unknown outcome may be counted twice.
		err = count()
	}
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(mayMint(keys[c.Req]))
	}
	return nil
}

// mayMint returns the key if it may mint tokens. The zero value stands for a key that does not exist. Errors: NotFound,
// Forbidden.
func mayMint(k query.ProjectKey) (query.ProjectKey, error) {
	switch {
	case k.ID == "":
		return query.ProjectKey{}, projectKeyUnknown()
	case k.RevokedAt != nil:
		return query.ProjectKey{}, fault.New(fault.Forbidden, "key_revoked", "key revoked")
	case !slices.Contains(k.Scopes, ScopeMint):
		return query.ProjectKey{}, fault.New(fault.Forbidden, "key_scope", "key missing token:mint scope")
	}
	return k, nil
}
