package doctor

import (
	"context"
	"fmt"
	"strings"
)

// kekUse is what a key-encryption key is needed for, and which of the processes that report their keys have it.
type kekUse struct {
	Fingerprint string
	Credentials int // game servers that authenticate by it
	Others      int // signing keys and netcode keys that it seals; workers seal them again with the newest
	Processes   int // that report their keys
	Lacking     []string
	First       int // processes that seal with it
}

const selectKEKUses = `WITH running AS (
    SELECT process COLLATE "default" AS process, key_encryption_keys AS keys FROM ops.process_reports
    WHERE age < interval '1 minute' AND cardinality(key_encryption_keys) > 0
)
SELECT k.fingerprint, k.credentials::int AS credentials, (k.signing_keys + k.netcode_keys)::int AS others, (SELECT count(*) FROM running)::int AS processes,
    ARRAY(SELECT r.process FROM running r WHERE NOT k.fingerprint = ANY (r.keys) ORDER BY 1 LIMIT 20)::text[] AS lacking,
    (SELECT count(*) FROM running r WHERE r.keys[1] = k.fingerprint)::int AS first
FROM ops.key_encryption_keys k ORDER BY k.credentials DESC, 1 LIMIT 20`

func (d Doctor) checkKEKs(ctx context.Context) (Finding, error) {
	uses, err := rows[kekUse](ctx, d, selectKEKUses)
	if err != nil {
		return Finding{}, err
	}
	return judgeKEKs(uses), nil
}

// judgeKEKs warns before an old key is dropped, for as long as game servers authenticate by it: they cannot get a credential of another one.
func judgeKEKs(uses []kekUse) Finding {
	if len(uses) == 0 || uses[0].Processes == 0 {
		return good("nothing is known of the keys that processes have, or nothing needs one")
	}
	for _, u := range uses {
		if len(u.Lacking) > 0 {
			return failure("put it back as the last of DIRECTOR_KEY_ENCRYPTION_KEY, everywhere", "%d of %d processes lack the key-encryption key %s, by which %s: %s",
				len(u.Lacking), u.Processes, u.Fingerprint, u.needs(), strings.Join(u.Lacking, ", "))
		}
	}
	for _, u := range uses {
		if u.Credentials > 0 && u.First == 0 {
			return warning("keep it as the last of DIRECTOR_KEY_ENCRYPTION_KEY until this is gone; to hurry, end these servers: director pools roll, director deployments stop",
				"the old key-encryption key %s must not be dropped yet: by it, %s", u.Fingerprint, u.needs())
		}
	}
	return good("all processes have the %d keys that are needed", len(uses))
}

func (u kekUse) needs() string {
	var needs []string
	if u.Credentials > 0 {
		needs = append(needs, fmt.Sprintf("%d game servers authenticate", u.Credentials))
	}
	if u.Others > 0 {
		needs = append(needs, fmt.Sprintf("%d keys are sealed", u.Others))
	}
	return strings.Join(needs, " and ")
}
