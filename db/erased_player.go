package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// erasurePass is one pass of an erasure over all tables. What is alive ends first, and leaves rows of history. Then
// everything goes that says something of the player today, which takes a fraction of a second. History comes last: of a
// player with very much of it, that takes longer. Each transaction is short and takes locks of one kind, in the order
// of those who use the tables.
type erasurePass struct {
	store       *Store
	row         query.GetErasureRow
	regions     []string
	changedRows int64 // and deleted ones
}

// erasedPlayer is a pass over what names one player.
type erasedPlayer struct {
	pass *erasurePass

	player   string
	partyKey uuid.UUID // the key of a party of this player alone
}

// eraseRows is a statement that erases rows, and returns how many.
type eraseRows func(q *query.Queries, ctx context.Context) (int64, error)

// historyHash returns the hash that stands for a player in the history of tickets, as ticketbody.Hashed makes it. It
// has no key, so whoever guesses the player can compute it: it is erased as well. History from before
// DIRECTOR_MATCH_HISTORY_ATTRIBUTES was changed may have it, whatever the setting is now.
func historyHash(player string) string {
	sum := sha256.Sum256([]byte(player))
	return hex.EncodeToString(sum[:8])
}

// jsonQuoted returns a text as it stands in stored JSON, without the escapes for HTML.
func jsonQuoted(text string) string {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	_ = out.Encode(text) // cannot fail for a string
	return string(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}))
}

// goQuoted returns a text as it stands in the details of errors, which quote with %q.
func goQuoted(text string) string { return strconv.Quote(text) }
