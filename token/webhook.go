package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// webhookKeyPrefix marks a public key for webhooks, as the Standard Webhooks specification has it.
const webhookKeyPrefix = "whpk_"

// SignWebhook returns the webhook-signature header of a webhook with an id, after the Standard Webhooks specification:
// a signature of each key that is published at now, so that a receiver that knows any of them can verify. now is also
// the webhook-timestamp, in whole seconds. What is signed begins with the id and a dot; unlike that of a session token
// it has no header in JSON, so that neither can pass for the other. Errors: ErrStale, ErrNoKey.
func (r *Ring) SignWebhook(now time.Time, id string, body []byte) (string, error) {
	if now.Sub(r.loadedAt) > r.maxStale {
		return "", ErrStale
	}
	content := append([]byte(id+"."+strconv.FormatInt(now.Unix(), 10)+"."), body...)
	var signatures []string
	for _, k := range r.publishedKeys(now) {
		signatures = append(signatures, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(k.private, content)))
	}
	if len(signatures) == 0 {
		return "", ErrNoKey
	}
	return strings.Join(signatures, " "), nil
}

// WebhookKey is a public key that verifies webhooks.
type WebhookKey struct {
	KID         string    `json:"kid"`
	Key         string    `json:"key"` // whpk_ and the 32 bytes of the key in base64
	PublishAt   time.Time `json:"publish_at"`
	VerifyUntil time.Time `json:"verify_until"` // it signs nothing after this time
}

// WebhookKeys returns the keys of which [Ring.SignWebhook] makes signatures at now.
func (r *Ring) WebhookKeys(now time.Time) []WebhookKey {
	keys := []WebhookKey{}
	for _, k := range r.publishedKeys(now) {
		public := k.private.Public().(ed25519.PublicKey)
		keys = append(keys, WebhookKey{
			KID: k.key.Material.KID, Key: webhookKeyPrefix + base64.StdEncoding.EncodeToString(public),
			PublishAt: k.key.PublishAt.UTC(), VerifyUntil: k.key.VerifyUntil.UTC(),
		})
	}
	return keys
}

// WebhookKeySet returns the keys as the document to publish at now, and its strong entity tag, quoted.
func (r *Ring) WebhookKeySet(now time.Time) (document []byte, etag string, err error) {
	document, err = json.Marshal(map[string][]WebhookKey{"keys": r.WebhookKeys(now)})
	return document, entityTag(document), err
}
