package opsview

import "time"

// Key is a signing key without its private part.
type Key struct {
	KID         string     `db:"kid" json:"kid"`
	Alg         string     `db:"alg" json:"alg"`
	State       string     `db:"state" json:"state"` // next, signing, retiring, expired or tainted
	PublishAt   time.Time  `db:"publish_at" json:"publish_at"`
	SignFrom    time.Time  `db:"sign_from" json:"sign_from"`
	SignUntil   time.Time  `db:"sign_until" json:"sign_until"`
	VerifyUntil time.Time  `db:"verify_until" json:"verify_until"`
	TaintedAt   *time.Time `db:"tainted_at" json:"tainted_at"` // nil: it is not tainted
	SealedBy    string     `db:"sealed_by" json:"sealed_by"`
	CreatedAt   time.Time  `db:"created_at" json:"-"`
}

// Keys are read with the one first that signs last.
var Keys = View[Key, KeyFilter]{name: "keys", order: Order{"-sign_from", "kid"}}

// ByTurn is the order in which keys sign, the first one first.
var ByTurn = Order{"sign_from", "kid"}

// KeyFilter selects signing keys. Empty fields select all.
type KeyFilter struct {
	KID *string
	// Useful leaves out those that are expired, and those that were tainted more than a day ago.
	Useful    bool
	Untainted bool
}

func (f KeyFilter) selectRows(w *where) {
	addID(w, "kid", f.KID)
	if f.Useful {
		w.add("state NOT IN ('expired', 'tainted') OR tainted_at > now() - interval '1 day'")
	}
	if f.Untainted {
		w.add("state <> 'tainted'")
	}
}

// KeyEncryptionKey is a key-encryption key, and what it still seals. One that seals nothing can be retired.
type KeyEncryptionKey struct {
	Fingerprint string `db:"fingerprint" json:"fingerprint"`
	SigningKeys int64  `db:"signing_keys" json:"signing_keys"`
	NetcodeKeys int64  `db:"netcode_keys" json:"netcode_keys"`
	Credentials int64  `db:"credentials" json:"credentials"` // of deployments
	ProjectKeys int64  `db:"project_keys" json:"project_keys"`
}

// KeyEncryptionKeys are sorted.
var KeyEncryptionKeys = View[KeyEncryptionKey, Any]{name: "key_encryption_keys", order: Order{"fingerprint"}}
