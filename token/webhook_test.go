package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// verifyWebhook verifies as a receiver does, by the Standard Webhooks specification: one signature of a key it knows is
// enough.
func verifyWebhook(t *testing.T, key, id string, at int64, header, body string) bool {
	t.Helper()
	encoded, ok := strings.CutPrefix(key, "whpk_")
	require.True(t, ok)
	public := must.Get(base64.StdEncoding.DecodeString(encoded))(t)
	require.Len(t, public, ed25519.PublicKeySize)
	for signature := range strings.SplitSeq(header, " ") {
		version, text, found := strings.Cut(signature, ",")
		require.True(t, found)
		require.Equal(t, "v1a", version)
		bytes := must.Get(base64.StdEncoding.DecodeString(text))(t)
		if ed25519.Verify(public, fmt.Appendf(nil, "%s.%d.%s", id, at, body), bytes) {
			return true
		}
	}
	return false
}

// A webhook has a signature of each published key, so that one of the keys of the published set verifies it whenever a
// receiver has fetched that, and no other key does.
func TestWebhooksAreSignedByEachPublishedKey(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 900_000_000)
	sealer := newSealer(t)
	key := func(publish, until time.Duration, tainted bool) Key {
		m, err := sealer.Mint(AlgEdDSA)
		require.NoError(t, err)
		return Key{Material: m, PublishAt: now.Add(publish), SignFrom: now.Add(publish), SignUntil: now.Add(until), VerifyUntil: now.Add(until), Tainted: tainted}
	}
	retiring, signing, next := key(-time.Hour, time.Second, false), key(-time.Minute, time.Hour, false), key(-time.Second, 2*time.Hour, false)
	expired, later, tainted := key(-time.Hour, -time.Second, false), key(time.Second, time.Hour, false), key(-time.Hour, time.Hour, true)
	r, err := NewRing([]Key{retiring, signing, next, expired, later, tainted}, sealer, now, time.Minute)
	require.NoError(t, err)

	header, err := r.SignWebhook(now, "evt_1", []byte(`{"type":"a"}`))
	require.NoError(t, err)
	require.Len(t, strings.Fields(header), 3)
	keys := r.WebhookKeys(now)
	require.Len(t, keys, 3)
	var kids []string
	for _, k := range keys {
		kids = append(kids, k.KID)
		require.True(t, verifyWebhook(t, k.Key, "evt_1", now.Unix(), header, `{"type":"a"}`))
		require.False(t, verifyWebhook(t, k.Key, "evt_2", now.Unix(), header, `{"type":"a"}`), "another id")
		require.False(t, verifyWebhook(t, k.Key, "evt_1", now.Unix()+1, header, `{"type":"a"}`), "another time")
		require.False(t, verifyWebhook(t, k.Key, "evt_1", now.Unix(), header, `{"type":"b"}`), "another body")
	}
	require.ElementsMatch(t, []string{retiring.Material.KID, signing.Material.KID, next.Material.KID}, kids)

	document, etag, err := r.WebhookKeySet(now)
	require.NoError(t, err)
	require.NotEmpty(t, etag)
	var set struct{ Keys []WebhookKey }
	require.NoError(t, json.Unmarshal(document, &set))
	require.Equal(t, keys, set.Keys)

	_, err = r.SignWebhook(now.Add(2*time.Minute), "evt_1", nil)
	require.ErrorIs(t, err, ErrStale)
	empty, err := NewRing([]Key{tainted, expired}, sealer, now, time.Minute)
	require.NoError(t, err)
	_, err = empty.SignWebhook(now, "evt_1", nil)
	require.ErrorIs(t, err, ErrNoKey)
}
