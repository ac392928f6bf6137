package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lattice-director/director/internal/base/timetext"
)

// The checks of the director's own tables, through the views of schema ops.

// keyTurn is a signing key with the seconds from now until it begins and ends to sign.
type keyTurn struct {
	KID         string `db:"kid"`
	State       string
	From, Until float64
}

func (d Doctor) checkKeys(ctx context.Context) (Finding, error) {
	keys, err := rows[keyTurn](ctx, d, `SELECT kid, state, extract(epoch FROM sign_from - now())::float8 AS "from",
		extract(epoch FROM sign_until - now())::float8 AS until FROM ops.keys WHERE state IN ('signing', 'next') ORDER BY sign_from`)
	if err != nil {
		return Finding{}, err
	}
	return judgeKeys(keys), nil
}

func judgeKeys(keys []keyTurn) Finding {
	var signing, next *keyTurn
	for i, k := range keys {
		if k.State == "signing" {
			signing = &keys[i]
		} else if next == nil {
			next = &keys[i]
		}
	}
	switch {
	case signing == nil:
		return failure("director keys rotate", "no key signs: no player gets a session token")
	case next == nil:
		return failure("director keys rotate; then find out why no worker did", "no next key is published, and the current one expires in %s", since(signing.Until))
	case next.From > signing.Until+1:
		return failure("director keys rotate", "between %s and %s from now no key signs", since(signing.Until), since(next.From))
	}
	return good("one signs for %s more, and the next is published", timetext.Brief(time.Duration(signing.Until)*time.Second))
}

// invariantLine is a row of ops.invariants.
type invariantLine struct {
	Name       string
	Violations int
}

func (d Doctor) checkViolations(ctx context.Context) (Finding, error) {
	all, err := rows[invariantLine](ctx, d, "SELECT name, violations FROM ops.invariants ORDER BY name")
	if err != nil {
		return Finding{}, err
	}
	var names []string
	for _, i := range all {
		if i.Violations > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", i.Name, i.Violations))
		}
	}
	if names == nil {
		return good("all %d hold", len(all)), nil
	}
	return failure("director invariants, and again after ten seconds", "violated: %s", strings.Join(names, ", ")), nil
}

// partitionLine is a row of ops.partitions.
type partitionLine struct {
	Name  string
	Ahead int
	Stray int64 // bytes in the default partition
}

func (d Doctor) checkPartitions(ctx context.Context) (Finding, error) {
	tables, err := rows[partitionLine](ctx, d, `SELECT table_name::text AS name, days_ahead::int AS ahead, default_bytes AS stray
		FROM ops.partitions ORDER BY days_ahead, table_name`)
	if err != nil {
		return Finding{}, err
	}
	return judgePartitions(tables), nil
}

func judgePartitions(tables []partitionLine) Finding {
	const do = "start a worker, or look for \"failing\" of its loop history in its log"
	ahead := 1 << 30
	for _, t := range tables {
		switch {
		case t.Ahead < 0:
			return failure(do, "%s has no partition for today", t.Name)
		case t.Ahead < 2:
			return warning(do, "%s reaches only %d days ahead", t.Name, t.Ahead)
		case t.Stray > 0:
			return warning(do, "%s has %d bytes in its default partition", t.Name, t.Stray)
		}
		ahead = min(ahead, t.Ahead)
	}
	return good("they reach %d days ahead", ahead)
}
