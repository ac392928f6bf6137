package doctor

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/timetext"
)

// keyTurn is a signing key with the seconds from now until it begins and ends to sign.
type keyTurn struct {
	KID, State  string
	From, Until float64
}

func (d Doctor) checkKeys(ctx context.Context) (Finding, error) {
	// The times of keys are the database's: this machine's clock may be off.
	now, err := d.Store.DatabaseNow(ctx)
	if err != nil {
		return Finding{}, err
	}
	keys, err := opsview.Keys.Read(ctx, d.Store.Pool(), opsview.KeyFilter{Useful: true},
		opsview.Page{Order: opsview.ByTurn})
	if err != nil {
		return Finding{}, err
	}
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
