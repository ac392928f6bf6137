package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/lattice-director/director/db/query"
)

// kekUse is what a key-encryption key is needed for: credentials of game servers, and others, which workers seal again
// with the newest. Processes are those that report their keys; of them Lacking do not have it, and First seal with it.
type kekUse query.DoctorKEKsRow

func (d Doctor) checkKEKs(ctx context.Context) (Finding, error) {
	uses, err := d.newQueries().DoctorKEKs(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeKEKs(convertRows[kekUse](uses, func(r query.DoctorKEKsRow) kekUse { return kekUse(r) })), nil
}

// judgeKEKs warns before an old key is dropped, for as long as game servers authenticate by it: they cannot get a
// credential of another one.
func judgeKEKs(uses []kekUse) Finding {
	if len(uses) == 0 || uses[0].Processes == 0 {
		return goodFinding("nothing is known of the keys that processes have, or nothing needs one")
	}
	// Judged first: what a process cannot open now fails calls now.
	for _, u := range uses {
		if len(u.Lacking) > 0 {
			return failureFinding("put it back as the last of DIRECTOR_KEY_ENCRYPTION_KEY, everywhere",
				"%d of %d processes lack the key-encryption key %s, by which %s: %s",
				len(u.Lacking), u.Processes, u.Fingerprint, u.neededKeys(), strings.Join(u.Lacking, ", "))
		}
	}
	// Other keys do not count: workers seal them again with the newest one.
	for _, u := range uses {
		if u.Credentials > 0 && u.First == 0 {
			return warningFinding("keep it as the last of DIRECTOR_KEY_ENCRYPTION_KEY until this is gone; "+
				"to hurry, end these servers: director pools roll, director deployments stop",
				"the old key-encryption key %s must not be dropped yet: by it, %s", u.Fingerprint, u.neededKeys())
		}
	}
	return goodFinding("all processes have the %d keys that are needed", len(uses))
}

func (u kekUse) neededKeys() string {
	var needs []string
	if u.Credentials > 0 {
		needs = append(needs, fmt.Sprintf("%d game servers authenticate", u.Credentials))
	}
	if u.Others > 0 {
		needs = append(needs, fmt.Sprintf("%d keys are sealed", u.Others))
	}
	return strings.Join(needs, " and ")
}
