package doctor

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/timetext"
)

// The checks of the director's own tables, through the views of schema ops.

// keyTurn is a signing key with the seconds from now until it begins and ends to sign.
type keyTurn struct {
	KID, State  string
	From, Until float64
}

func (d Doctor) checkKeys(ctx context.Context) (Finding, error) {
	// The times of keys are the database's: this machine's clock may be off.
	if err := d.Store.ReadClock(ctx); err != nil {
		return Finding{}, err
	}
	keys, err := opsview.Keys.Read(ctx, d.Store.Pool(), opsview.KeyFilter{Useful: true},
		opsview.Page{Order: opsview.ByTurn})
	if err != nil {
		return Finding{}, err
	}
	now := d.Store.Now()
	var turns []keyTurn
	for _, k := range keys {
		if k.State == "signing" || k.State == "next" {
			turns = append(turns, keyTurn{k.KID, k.State, k.SignFrom.Sub(now).Seconds(),
				k.SignUntil.Sub(now).Seconds()})
		}
	}
	return judgeKeys(turns), nil
}

func judgeKeys(keys []keyTurn) Finding {
	var signing, next *keyTurn
	for i, k := range keys {
		// The keys come in the order of their turns: the first one that does not sign yet is the next.
		if k.State == "signing" {
			signing = &keys[i]
		} else if next == nil {
			next = &keys[i]
		}
	}
	switch {
	case signing == nil:
		return failureFinding("director keys rotate", "no key signs: no player gets a session token")
	case next == nil:
		return failureFinding("director keys rotate; then find out why no worker did",
			"no next key is published, and the current one expires in %s", formatSeconds(signing.Until))
	case next.From > signing.Until+1:
		return failureFinding("director keys rotate", "between %s and %s from now no key signs",
			formatSeconds(signing.Until),
			formatSeconds(next.From))
	}
	return goodFinding("one signs for %s more, and the next is published",
		timetext.Brief(time.Duration(signing.Until)*time.Second))
}

func (d Doctor) checkViolations(ctx context.Context) (Finding, error) {
	all, err := opsview.Invariants.Read(ctx, d.Store.Pool(), opsview.Any{}, opsview.Page{})
	if err != nil {
		return Finding{}, err
	}
	var names []string
	for _, i := range all {
		if i.Violations > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", i.Name, i.Violations))
		}
	}
	// The number says that the view was read: none at all would look as good.
	if names == nil {
		return goodFinding("all %d hold", len(all)), nil
	}
	return failureFinding("director invariants, and again after ten seconds", "violated: %s",
		strings.Join(names, ", ")), nil
}

func (d Doctor) checkPartitions(ctx context.Context) (Finding, error) {
	tables, err := opsview.Partitions.Read(ctx, d.Store.Pool(), opsview.Any{}, opsview.Page{Order: opsview.EndingFirst})
	if err != nil {
		return Finding{}, err
	}
	return judgePartitions(tables), nil
}

// judgePartitions takes the tables whose partitions end first, first.
func judgePartitions(tables []opsview.Partition) Finding {
	const do = "start a worker, or look for \"failing\" of its loop history in its log"
	// The least of all tables: the first that ends is the first whose rows fall into the default partition.
	ahead := int32(math.MaxInt32)
	for _, t := range tables {
		switch {
		case t.DaysAhead < 0:
			return failureFinding(do, "%s has no partition for today", t.TableName)
		case t.DaysAhead < 2:
			return warningFinding(do, "%s reaches only %d days ahead", t.TableName, t.DaysAhead)
		case t.DefaultBytes > 0:
			return warningFinding(do, "%s has %d bytes in its default partition", t.TableName, t.DefaultBytes)
		}
		ahead = min(ahead, t.DaysAhead)
	}
	return goodFinding("they reach %d days ahead", ahead)
}
